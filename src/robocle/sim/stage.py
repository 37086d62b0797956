"""The stage: settings become a scene.

The camera is moved until the thing spans the wanted share of the frame, and an occluder is slid
in from the side until it hides the wanted share of the thing, both measured on the picture.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from robocle.randomness import Key, keyed_rng
from robocle.sim.backdrop import SURFACES, WALLS
from robocle.sim.camera import Camera, project
from robocle.sim.conditions import FACTORS, Settings, clean
from robocle.sim.mesh import Floats, Ints, Thing, all_points, merge, settle, shift_thing, turn_thing
from robocle.sim.objects import CATEGORIES, build
from robocle.sim.props import OCCLUDERS, scattered
from robocle.sim.raster import rasterise
from robocle.sim.scene import Scene

COARSE = 96
TOLERANCE = 0.05
REACH = np.linspace(-0.9, 1.3, 111)


@dataclass(frozen=True)
class Shot:
    """One picture: the `number`-th of an instance of a category under a condition."""

    seed: int
    category: str
    instance: int
    condition: str = "clean"
    level: int = 0
    number: int = 0

    @property
    def path(self) -> str:
        """Where the picture is kept, relative to the set's folder.

        >>> Shot(0, "mug", 1, "clean", 0, 4).path
        'clean/mug_01/4.jpg'
        """
        return f"{self.condition}/{self.category}_{self.instance:02d}/{self.number}.jpg"

    def key(self, purpose: str) -> tuple[Key, ...]:
        """What random values are keyed by; not by level, so levels differ in nothing else."""
        return purpose, self.category, self.instance, self.condition, self.number

    def rng(self, purpose: str) -> np.random.Generator:
        """The generator of this shot for one purpose."""
        return keyed_rng(self.seed, *self.key(purpose))


def settings_of(shot: Shot) -> Settings:
    """Draw the numbers of a shot."""
    usual = clean(shot.rng("view"), shot.category)
    if shot.condition == "clean":
        return usual
    return FACTORS[shot.condition](usual, shot.level, shot.rng("factor"))


def stage(shot: Shot, settings: Settings) -> Scene:
    """Set up the scene of a shot under given settings."""
    thing = _posed(build(shot.seed, shot.category, shot.instance), shot.category, settings)
    camera = frame(thing, settings)
    rng = shot.rng("backdrop")
    floor = SURFACES[int(rng.integers(len(SURFACES)))](rng)
    wall = WALLS[int(rng.integers(len(WALLS)))](rng)
    return Scene(
        thing,
        scattered(shot.rng("clutter"), settings.clutter, settings.azimuth),
        occluder(shot.rng("occluder"), thing, camera, settings.hidden),
        camera,
        settings.lighting,
        floor,
        wall,
        wall_distance=float(rng.uniform(1.1, 2.4)),
        wall_azimuth=settings.azimuth,
        exposure=settings.exposure,
        grain=settings.grain,
        seed=shot.seed,
        grain_key=shot.key("grain"),
    )


def _posed(thing: Thing, category: str, settings: Settings) -> Thing:
    facing = turn_thing(thing, (0, 0, 1), CATEGORIES[category].facing)
    return settle(turn_thing(facing, *settings.pose))


def frame(thing: Thing, settings: Settings) -> Camera:
    """Move the camera until the thing spans `fill` of the frame, `aim` off its centre."""
    points = all_points(thing)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    camera = Camera(settings.azimuth, settings.elevation, 3.0, _triple(middle))
    for _ in range(6):
        x, y, _depth = project(camera, points, 1)
        across, up, _ahead = camera.axes
        wide = 2 * camera.distance * np.tan(np.radians(camera.view / 2))
        right = ((x.min() + x.max()) / 2 - 0.5 - settings.aim[0]) * wide
        down = ((y.min() + y.max()) / 2 - 0.5 - settings.aim[1]) * wide
        target = np.asarray(camera.target) + right * across - down * up
        span = float(max(np.ptp(x), np.ptp(y)))
        camera = replace(
            camera, target=_triple(target), distance=camera.distance * span / settings.fill
        )
    return camera


def _triple(values: Floats) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def occluder(rng: np.random.Generator, thing: Thing, camera: Camera, hidden: float) -> Thing:
    """Something in front that hides a share of the thing; nothing for a share of 0."""
    if hidden <= 0:
        return []
    heading = float(rng.choice([0.0, 90.0, 180.0])) + float(rng.uniform(-15, 15))
    for make in rng.permutation(len(OCCLUDERS)):
        piece = turn_thing(OCCLUDERS[int(make)](rng), (0, 0, 1), heading)
        front = _slide_in(piece, heading, thing, camera, hidden)
        if abs(hidden_share(thing, front, camera) - hidden) < TOLERANCE:
            break  # a hand, say, is too narrow to hide 60 % of something wide
    return front


def _slide_in(piece: Thing, heading: float, thing: Thing, camera: Camera, hidden: float) -> Thing:
    """Slide a piece along its heading until it hides as much as wanted."""
    ahead = np.array([np.cos(np.radians(heading)), np.sin(np.radians(heading)), 0.0])

    def slid(step: int) -> Thing:
        return _in_front(shift_thing(piece, ahead * REACH[step]), camera)

    def hides(step: int) -> float:
        return hidden_share(thing, slid(step), camera)

    enough = bisect_left(range(len(REACH) - 1), hidden, key=hides)
    return slid(min(max(enough - 1, 0), enough, key=lambda step: abs(hides(step) - hidden)))


def _in_front(piece: Thing, camera: Camera) -> Thing:
    """Carry a piece from camera axes into the world, 0.6 of the way from eye to target."""
    right, up, ahead = camera.axes
    depth = 0.6 * camera.distance
    half_frame = depth * float(np.tan(np.radians(camera.view / 2)))
    centre = camera.eye + depth * ahead
    axes = np.stack([right, up, -ahead])
    moved = []
    for part in piece:
        p, n = part.mesh.points * half_frame, part.mesh.normals
        points = p[:, :1] * axes[0] + p[:, 1:2] * axes[1] + p[:, 2:] * axes[2] + centre
        normals = n[:, :1] * axes[0] + n[:, 1:2] * axes[1] + n[:, 2:] * axes[2]
        moved.append(replace(part, mesh=replace(part.mesh, points=points, normals=normals)))
    return moved


def hidden_share(thing: Thing, front: Thing, camera: Camera) -> float:
    """The share of the thing's pixels that lie behind something in front of it."""
    own = set_of_pixels(thing, camera)
    if not front:
        return 0.0
    return float(np.isin(own, set_of_pixels(front, camera)).mean())


def set_of_pixels(thing: Thing, camera: Camera) -> Ints:
    """The pixels (of a coarse picture) a thing covers."""
    return rasterise(merge([part.mesh for part in thing]), camera, COARSE).pixel
