"""The home recorded as OpenLORIS-Object is: videos by factor, level and segment.

`<split>/<factor>/segment<1..9>/<category>_<NN>/<frame>.jpg`. A recording is one camera path around
one thing; as in the original, its stretches go to train, test and validation in turn, so a split's
frames are near each other and near those of another split, yet never the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from robocle.sim.camera import Camera, dot
from robocle.sim.conditions import FACTORS, Settings, clean
from robocle.sim.home import QUALITY, categories, only_seed, write_index, write_picture
from robocle.sim.mesh import Floats, Thing
from robocle.sim.scene import Scene, draw
from robocle.sim.stage import Shot, frame, stage

RENDERED_AS = {  # OpenLORIS's name of a factor, and ours
    "clutter": "clutter",
    "illumination": "illumination",
    "occlusion": "occlusion",
    "pixel": "scale",
}
SEGMENTS = range(1, 10)
STRETCHES = ("train", "test", "train", "validation", "train")
FRAMES = 10


@dataclass(frozen=True)
class Recording:
    """A camera path around an instance of a category, in one segment of a factor."""

    seed: int
    category: str
    instance: int
    factor: str
    segment: int

    @property
    def level(self) -> int:
        """How severe: segments 1 to 3 are level 1, 4 to 6 level 2, 7 to 9 level 3."""
        return (self.segment + 2) // 3

    @property
    def place(self) -> Shot:
        """What the things around are keyed by; its condition names the recording's folder."""
        condition = f"{self.factor}/segment{self.segment}"
        return Shot(self.seed, self.category, self.instance, condition, self.level)


def openloris_plan(seed: int, instances: int = 3) -> list[Recording]:
    """List the recordings of the home."""
    return [
        Recording(seed, category, instance, factor, segment)
        for category in categories()
        for instance in range(1, instances + 1)
        for factor in RENDERED_AS
        for segment in SEGMENTS
    ]


def frame_path(recording: Recording, number: int, count: int) -> str:
    """Where a frame of `count` is kept, relative to the set's folder.

    >>> frame_path(Recording(0, "toy_car", 2, "pixel", 4), 3, 10)
    'test/pixel/segment4/toy_car_02/000003.jpg'
    """
    split = STRETCHES[number * len(STRETCHES) // max(count, len(STRETCHES))]
    folder = f"{recording.place.condition}/{recording.category}_{recording.instance:02d}"
    return f"{split}/{folder}/{number:06d}.jpg"


def record(recording: Recording, count: int, size: int = 224) -> Iterator[Image.Image]:
    """Render the frames of a recording, evenly spaced along its path."""
    for scene in scenes(recording, count):
        yield draw(scene, size)


def scenes(recording: Recording, count: int) -> Iterator[Scene]:
    """The scene as each frame sees it: all stands still but the camera."""
    settings = _settings(recording)
    still = stage(recording.place, settings)
    for number, moved in enumerate(_path(recording, settings, count)):
        camera = frame(still.thing, moved)
        yield replace(
            still,
            camera=camera,
            front=_carried(still.front, still.camera, camera),
            grain_key=(*recording.place.key("grain"), number),
        )


def _settings(recording: Recording) -> Settings:
    """Draw the numbers of a recording's middle."""
    place = recording.place
    usual = clean(place.rng("view"), recording.category)
    return FACTORS[RENDERED_AS[recording.factor]](usual, recording.level, place.rng("factor"))


def _path(recording: Recording, middle: Settings, count: int) -> Iterator[Settings]:
    """Walk around the thing by 30 to 60 degrees, rising, sinking, nearing and swaying a little."""
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


def _carried(front: Thing, was: Camera, now: Camera) -> Thing:
    """What is near the camera goes along with it and stays where it is on the picture."""
    scale = now.distance / was.distance
    return [
        replace(
            part,
            mesh=replace(
                part.mesh,
                points=_turned((part.mesh.points - was.eye) * scale, was, now) + now.eye,
                normals=_turned(part.mesh.normals, was, now),
            ),
        )
        for part in front
    ]


def _turned(vectors: Floats, was: Camera, now: Camera) -> Floats:
    """The vectors that are in one camera's axes what these are in another's."""
    one, two, three = (
        dot(vectors, old)[:, None] * new for old, new in zip(was.axes, now.axes, strict=True)
    )
    return one + two + three


def _as_they_come(recordings: Iterable[Recording]) -> Iterable[Recording]:
    return recordings


def render_openloris(
    folder: Path,
    recordings: Sequence[Recording],
    frames: int = FRAMES,
    size: int = 224,
    quality: int = QUALITY,
    progress: Callable[[Iterable[Recording]], Iterable[Recording]] = _as_they_come,
) -> None:
    """Write the frames of the recordings under a folder, and an index.json that describes them."""
    seed = only_seed(recordings)
    hashes, levels = {}, {}
    for recording in progress(recordings):
        for number, picture in enumerate(record(recording, frames, size)):
            path = frame_path(recording, number, frames)
            hashes[path] = write_picture(folder, path, picture, quality)
            levels[path] = recording.level
    write_index(
        folder,
        seed=seed,
        size=size,
        quality=quality,
        categories={recording.category for recording in recordings},
        levels=levels,
        hashes=hashes,
    )
