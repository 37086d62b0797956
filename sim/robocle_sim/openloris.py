"""The home recorded in the layout of OpenLORIS-Object: videos by factor, level and segment.

The files are `<split>/<factor>/segment<1..9>/<category>_<NN>/<frame>.jpg`. A recording is one
camera path around one object. As in the original, consecutive stretches of the path go to train,
test and validation in turn. The splits therefore have similar frames, but never the same ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from robocle_sim.arrays import Floats, combine, dot
from robocle_sim.camera import Camera
from robocle_sim.conditions import FACTORS, Settings, clean
from robocle_sim.folder import QUALITY, RenderedPicture, only_seed, write_pictures
from robocle_sim.home import categories
from robocle_sim.mesh import SceneObject
from robocle_sim.scene import Scene, draw
from robocle_sim.stage import PlannedPicture, frame, stage

RENDERED_AS = {  # the name of a factor in OpenLORIS, and in the home
    "clutter": "clutter",
    "illumination": "illumination",
    "occlusion": "occlusion",
    "pixel": "scale",
}
SEGMENTS = range(1, 10)
STRETCHES = ("train", "test", "train", "validation", "train")
FRAMES = 10
"""Frames per recording, if no other number is given."""


@dataclass(frozen=True)
class Recording:
    """A video to render: one camera path around one object, in one segment of a factor.

    Attributes:
        seed: The seed of the home.
        category: A category of `robocle_sim.home.categories()`.
        instance: Which object of the category, from 1.
        factor: A factor of OpenLORIS: clutter, illumination, occlusion or pixel.
        segment: From 1 to 9.
    """

    seed: int
    category: str
    instance: int
    factor: str
    segment: int

    @property
    def level(self) -> int:
        """How severe the factor is: segments 1 to 3 have level 1, 4 to 6 level 2, 7 to 9 level 3.

        >>> Recording(0, "mug", 1, "pixel", 4).level
        2
        """
        return (self.segment + 2) // 3

    @property
    def place(self) -> PlannedPicture:
        """The planned picture whose scene is recorded; its condition names the folder."""
        condition = f"{self.factor}/segment{self.segment}"
        return PlannedPicture(self.seed, self.category, self.instance, condition, self.level)


def openloris_plan(seed: int, instances: int = 3) -> list[Recording]:
    """List the recordings of a home.

    Args:
        seed: Which home; another seed has other objects.
        instances: The number of different objects per category.

    Returns:
        One recording per category, instance, factor and segment.

    Example:
        >>> len(openloris_plan(seed=0))
        3132
    """
    return [
        Recording(seed, category, instance, factor, segment)
        for category in categories()
        for instance in range(1, instances + 1)
        for factor in RENDERED_AS
        for segment in SEGMENTS
    ]


def frame_path(recording: Recording, number: int, count: int) -> str:
    """Return the file of a frame, relative to the folder of the data set.

    Args:
        recording: The recording of the frame.
        number: Which frame, from 0.
        count: How many frames the recording has.

    Example:
        >>> frame_path(Recording(0, "toy_car", 2, "pixel", 4), 3, 10)
        'test/pixel/segment4/toy_car_02/000003.jpg'
    """
    split = STRETCHES[number * len(STRETCHES) // max(count, len(STRETCHES))]
    folder = f"{recording.place.condition}/{recording.category}_{recording.instance:02d}"
    return f"{split}/{folder}/{number:06d}.jpg"


def record(recording: Recording, count: int, size: int = 224) -> Iterator[Image.Image]:
    """Render `count` frames of a recording, evenly spaced along its camera path."""
    for scene in scenes(recording, count):
        yield draw(scene, size)


def scenes(recording: Recording, count: int) -> Iterator[Scene]:
    """Yield the scene of each frame: the camera and the occluder move, all else stands still."""
    settings = _settings(recording)
    still = stage(recording.place, settings)
    for number, moved in enumerate(_path(recording, settings, count)):
        camera = frame(still.object, moved)
        yield replace(
            still,
            camera=camera,
            occluder=_carried(still.occluder, still.camera, camera),
            grain_key=(*recording.place.key("grain"), number),
        )


def _settings(recording: Recording) -> Settings:
    """Draw the settings at the middle of a recording."""
    place = recording.place
    usual = clean(place.rng("view"), recording.category)
    return FACTORS[RENDERED_AS[recording.factor]](usual, recording.level, place.rng("factor"))


def _path(recording: Recording, middle: Settings, count: int) -> Iterator[Settings]:
    """Move around the object by 30 to 60 degrees, with small changes of height and distance."""
    rng = recording.place.rng("path")
    sweep = float(rng.choice([-1.0, 1.0])) * float(rng.uniform(30, 60))
    phases = rng.uniform(0, 2 * np.pi, size=4)
    for number in range(count):
        way = number / max(count - 1, 1)
        lift, near, right, down = (float(wave) for wave in np.sin(2 * np.pi * way + phases))
        yield replace(
            middle,
            azimuth=middle.azimuth + sweep * (way - 0.5),
            elevation=middle.elevation + 4 * lift,
            fill=middle.fill * (1 + 0.08 * near),
            aim=(middle.aim[0] + 0.02 * right, middle.aim[1] + 0.02 * down),
        )


def _carried(occluder: SceneObject, was: Camera, now: Camera) -> SceneObject:
    """Move an occluder along with the camera, so that it stays in place on the picture."""
    scale = now.distance / was.distance
    return [
        replace(
            piece,
            mesh=replace(
                piece.mesh,
                points=_turned((piece.mesh.points - was.eye) * scale, was, now) + now.eye,
                normals=_turned(piece.mesh.normals, was, now),
            ),
        )
        for piece in occluder
    ]


def _turned(vectors: Floats, was: Camera, now: Camera) -> Floats:
    """Return the vectors whose coordinates in the new camera's axes are those in the old one's."""
    return combine(np.stack([dot(vectors, axis) for axis in was.axes], axis=1), now.axes)


def _unchanged(recordings: Iterable[Recording]) -> Iterable[Recording]:
    return recordings


def render_openloris(
    folder: Path,
    recordings: Sequence[Recording],
    frames: int = FRAMES,
    size: int = 224,
    quality: int = QUALITY,
    progress: Callable[[Iterable[Recording]], Iterable[Recording]] = _unchanged,
) -> None:
    """Render recordings into a folder, with an index.json that describes their frames.

    Args:
        folder: Created if it does not exist.
        recordings: The videos to render, all of one seed.
        frames: The number of frames per recording.
        size: Width and height in pixels.
        quality: The JPEG quality.
        progress: Wraps the iteration over the recordings, for a progress bar.

    Raises:
        SpecError: The recordings have different seeds.
        DataError: A file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     video = Recording(0, "mug", 1, "pixel", 1)
        ...     render_openloris(Path(folder), [video], frames=2, size=32)
        ...     sorted(path.name for path in Path(folder).rglob("*.*"))
        ['000000.jpg', '000001.jpg', 'index.json']
    """
    seed = only_seed(recordings)
    pictures = (
        RenderedPicture(
            frame_path(recording, number, frames), recording.category, recording.level, image
        )
        for recording in progress(recordings)
        for number, image in enumerate(record(recording, frames, size))
    )
    write_pictures(folder, pictures, seed=seed, size=size, quality=quality)
