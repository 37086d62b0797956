"""Rooms: pictures of several objects of the home, with the box of each.

The objects stand apart from each other, in two rows, at the usual angle and in soft light. One may
hide a part of another: the boxes enclose what is visible.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from PIL import Image

from robocle._internal.randomness import Rng, keyed_rng
from robocle_sim.arrays import Ints
from robocle_sim.backdrop import SURFACES, WALLS
from robocle_sim.camera import Camera
from robocle_sim.conditions import clean
from robocle_sim.home import categories
from robocle_sim.mesh import SceneObject, merge, settle, shift_object, stretch_object, turn_object
from robocle_sim.objects import CATEGORIES, build
from robocle_sim.raster import rasterise
from robocle_sim.scene import Scene, draw
from robocle_sim.stage import frame

COLUMNS, ROWS = 3, 2
APART = 1.3
"""From the middle of one place to the next one; the largest object has the extent 1."""
FEWEST = 4
"""How many objects are in a room, at least."""


class Visible(NamedTuple):
    """An object in a room, and where it is seen."""

    category: str
    instance: int
    box: tuple[float, float, float, float]
    """x, y, width and height of what is visible, in pixels."""
    share: float
    """The share of its pixels that no other object hides."""


@dataclass(frozen=True)
class Room:
    """A room to render. It determines the pixels completely.

    Attributes:
        seed: The seed of the home.
        number: Which room of this home, from 0.
        instances: From how many objects per category the room's are chosen.
    """

    seed: int
    number: int
    instances: int = 1

    def render(self, size: int = 480) -> tuple[Image.Image, list[Visible]]:
        """Return the picture, and its objects.

        Args:
            size: Width and height in pixels.

        Example:
            >>> picture, objects = Room(0, 0).render(64)
            >>> picture.size, 4 <= len(objects) <= 6
            ((64, 64), True)
        """
        scene, standing = self._scene()
        return draw(scene, size), _visible(standing, scene.camera, size)

    def _scene(self) -> tuple[Scene, dict[tuple[str, int], SceneObject]]:
        rng = keyed_rng(self.seed, "room", self.number)
        light = clean(rng, "mug")
        settings = replace(light, elevation=float(rng.uniform(16, 38)), fill=0.92, aim=(0.0, 0.0))
        standing = self._standing(rng, settings.azimuth)
        pieces = [piece for each in standing.values() for piece in each]
        return Scene(
            pieces,
            [],
            [],
            frame(pieces, settings),
            settings.lighting,
            SURFACES[int(rng.integers(len(SURFACES)))](rng),
            WALLS[int(rng.integers(len(WALLS)))](rng),
            wall_distance=float(rng.uniform(2.0, 3.5)),
            wall_azimuth=settings.azimuth,
            exposure=settings.exposure,
            seed=self.seed,
        ), standing

    def _standing(self, rng: Rng, azimuth: float) -> dict[tuple[str, int], SceneObject]:
        """Return the objects by category and instance, each at a place of its own."""
        chosen = rng.permutation(categories()).tolist()
        places = rng.permutation(COLUMNS * ROWS)[: int(rng.integers(FEWEST, COLUMNS * ROWS + 1))]
        standing: dict[tuple[str, int], SceneObject] = {}
        for category, place in zip(chosen, places.tolist(), strict=False):
            instance = int(rng.integers(1, self.instances + 1))
            model = stretch_object(build(self.seed, category, instance), float(rng.uniform(0.7, 1)))
            facing = CATEGORIES[category].facing + azimuth + float(rng.uniform(-30, 30))
            turned = settle(turn_object(model, (0, 0, 1), facing))
            row, column = divmod(place, COLUMNS)
            across = column - (COLUMNS - 1) / 2 + 0.25 * (row - 0.5) * 2
            there = APART * np.array([across, float(row), 0.0])
            there[:2] += rng.uniform(-0.15, 0.15, 2)
            radians = np.radians(azimuth)
            cos, sin = float(np.cos(radians)), float(np.sin(radians))
            turned_there = cos * there[0] - sin * there[1], sin * there[0] + cos * there[1], 0.0
            standing[category, instance] = shift_object(turned, turned_there)
        return standing


def _visible(
    standing: dict[tuple[str, int], SceneObject], camera: Camera, size: int
) -> list[Visible]:
    meshes = [merge([piece.mesh for piece in each]) for each in standing.values()]
    owner = np.repeat(np.arange(len(meshes)), [len(mesh.faces) for mesh in meshes])
    seen = rasterise(merge(meshes), camera, size)
    found = []
    for number, ((category, instance), mesh) in enumerate(zip(standing, meshes, strict=True)):
        pixel = seen.pixel[owner[seen.face] == number]
        if len(pixel):
            share = len(pixel) / len(rasterise(mesh, camera, size).pixel)
            found.append(Visible(category, instance, _box(pixel, size), share))
    return found


def _box(pixel: Ints, size: int) -> tuple[float, float, float, float]:
    row, column = np.divmod(pixel, size)
    left, top = int(column.min()), int(row.min())
    width, height = int(column.max()) + 1 - left, int(row.max()) + 1 - top
    return float(left), float(top), float(width), float(height)
