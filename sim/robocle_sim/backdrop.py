"""Backdrops: the table or floor that an object stands on, and the wall behind it.

Both are infinite planes that are intersected with rays, so they need no mesh. They are chosen at
random, independently of the object, so a backdrop carries no information about the category.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats, unit
from robocle_sim.camera import Camera
from robocle_sim.colours import rgb
from robocle_sim.patterns import Pattern, blend, cloth, mottled, noise, plain

CALM = tuple(
    rgb(*c)
    for c in (
        (0.76, 0.73, 0.68), (0.70, 0.72, 0.74), (0.60, 0.56, 0.50), (0.72, 0.78, 0.80),
        (0.80, 0.74, 0.64), (0.52, 0.58, 0.60), (0.66, 0.70, 0.62), (0.78, 0.68, 0.66),
        (0.40, 0.42, 0.46), (0.84, 0.83, 0.80),
    )
)  # fmt: skip
WOODS = (
    (rgb(0.78, 0.62, 0.43), rgb(0.62, 0.45, 0.28)),
    (rgb(0.60, 0.42, 0.27), rgb(0.42, 0.28, 0.17)),
    (rgb(0.86, 0.76, 0.60), rgb(0.74, 0.62, 0.46)),
    (rgb(0.42, 0.31, 0.25), rgb(0.28, 0.20, 0.16)),
    (rgb(0.70, 0.66, 0.60), rgb(0.56, 0.52, 0.47)),
)


def calm(rng: Rng) -> Floats:
    """Draw a muted colour."""
    return CALM[int(rng.integers(len(CALM)))]


def planks(rng: Rng) -> Pattern:
    """Wooden boards, each with its own grain and tone."""
    light, dark = WOODS[int(rng.integers(len(WOODS)))]
    width = float(rng.uniform(0.35, 0.8))

    def colour(place: Floats, uv: Floats) -> Floats:
        board = np.floor(place[:, 1] / width)
        grain = np.stack([place[:, 0] * 1.5, place[:, 1] * 14, board * 7.3], axis=1)
        mixed = blend(light, dark, 0.7 * noise(grain) + 0.3 * noise(grain * 4))
        tone = 0.85 + 0.3 * noise(np.stack([board * 3.7, board * 0, board * 0], axis=1) + 0.5)
        seam = np.abs(place[:, 1] / width - board - 0.5) > 0.5 - 0.008 / width
        return mixed * np.where(seam, 0.45, tone)[:, None]

    return colour


def tiles(rng: Rng) -> Pattern:
    """Square tiles with grout, sometimes chequered."""
    one = calm(rng)
    two = calm(rng) if rng.random() < 0.4 else one
    grout, width = calm(rng) * 0.7, float(rng.uniform(0.35, 0.7))

    def colour(place: Floats, uv: Floats) -> Floats:
        x, y = place[:, 0] / width, place[:, 1] / width
        odd = (np.floor(x) + np.floor(y)) % 2 == 1
        edge = np.maximum(np.abs(x % 1 - 0.5), np.abs(y % 1 - 0.5)) > 0.48
        tile = np.where(odd[:, None], one, two) * (0.94 + 0.12 * noise(place * 2))[:, None]
        return np.where(edge[:, None], grout, tile)

    return colour


def gingham(rng: Rng) -> Pattern:
    """A checked tablecloth."""
    base, width = calm(rng), float(rng.uniform(0.12, 0.3))
    tint = base * rng.uniform(0.25, 0.8, size=3)

    def colour(place: Floats, uv: Floats) -> Floats:
        x, y = (place[:, :2] / width % 1 < 0.5).T
        return blend(base, tint, 0.5 * x + 0.5 * y) * (0.92 + 0.16 * noise(place * 60))[:, None]

    return colour


def paper_stripes(rng: Rng) -> Pattern:
    """Striped wallpaper, or a striped mat."""
    one = calm(rng)
    two, width = one * rng.uniform(0.6, 0.95, size=3), float(rng.uniform(0.15, 0.5))
    return lambda place, uv: np.where((place[:, :1] / width % 1 < 0.5), one, two)


def painted(rng: Rng) -> Pattern:
    """A surface of one colour."""
    return plain(calm(rng))


def stone(rng: Rng) -> Pattern:
    """Stone or plaster."""
    base = calm(rng)
    return mottled(base, base * float(rng.uniform(0.55, 0.8)), float(rng.uniform(0.15, 0.5)))


def woven(rng: Rng) -> Pattern:
    """Plain cloth or carpet."""
    return cloth(calm(rng), 0.022, 0.22)


Maker = Callable[[Rng], Pattern]
SURFACES: tuple[Maker, ...] = (planks, planks, tiles, gingham, painted, stone, woven, paper_stripes)
WALLS: tuple[Maker, ...] = (painted, painted, stone, paper_stripes, tiles)


def behind(
    camera: Camera, wall: float, wall_azimuth: float, directions: Floats
) -> tuple[Floats, Floats, Floats]:
    """Intersect rays with the floor and the wall.

    Args:
        camera: Where the rays start.
        wall: Distance of the wall from the origin.
        wall_azimuth: Azimuth of a camera that looks straight at the wall.
        directions: Directions of the rays, (n, 3).

    Returns:
        For each ray, the point that it hits, the normal at that point, and the coordinates of the
        point on its plane, all of shape (n, 3).
    """
    eye, (right, _, ahead) = camera.eye, replace(camera, azimuth=wall_azimuth).axes
    flat = unit(np.array([ahead[0], ahead[1], 0.0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        to_floor = np.where(directions[:, 2] < -1e-9, -eye[2] / directions[:, 2], np.inf)
        forward = directions[:, 0] * flat[0] + directions[:, 1] * flat[1]
        gap = wall - (eye[0] * flat[0] + eye[1] * flat[1])
        to_wall = np.where(forward > 1e-9, gap / forward, np.inf)
    on_wall = to_wall < to_floor
    place = eye + directions * np.minimum(np.minimum(to_floor, to_wall), 1e3)[:, None]
    normal = np.where(on_wall[:, None], -flat, np.array([0.0, 0.0, 1.0]))
    sideways = place[:, 0] * right[0] + place[:, 1] * right[1]
    upright = np.stack([sideways, place[:, 2], np.full(len(place), 9.0)], axis=1)
    return place, normal, np.where(on_wall[:, None], upright, place)
