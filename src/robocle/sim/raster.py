"""The rasteriser: which triangle is seen at which pixel.

All (triangle, pixel) candidates are laid out in one array and tested at once. Here, as in all of
the renderer, pixels are made with + - * / sqrt and comparisons, which round alike on every
processor; powers, exponentials and sines are taken in double precision only, where a differing
last bit is lost when the picture is rounded to 8 bits. That is why pictures are the same byte for
byte on another machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robocle.sim.camera import Camera, project
from robocle.sim.mesh import Floats, Ints, Mesh, unit

NEAR = 0.05


@dataclass(frozen=True)
class Seen:
    """The pixels a mesh covers: flat pixel index, face, and corner weights (in world space)."""

    pixel: Ints
    face: Ints
    weights: Floats
    depth: Floats


def rasterise(mesh: Mesh, camera: Camera, size: int) -> Seen:
    """Find the nearest face at each pixel of a square picture."""
    x, y, depth = project(camera, mesh.points, size)
    kept = np.flatnonzero((depth[mesh.faces] > NEAR).all(axis=1))
    faces = mesh.faces[kept]
    face, column, row = _candidates(x[faces], y[faces], size)
    one, two = _weight_planes(x[faces], y[faces])
    first = one[0][face] * column + one[1][face] * row + one[2][face]
    second = two[0][face] * column + two[1][face] * row + two[2][face]
    third = 1 - first - second
    inside = np.flatnonzero((first >= 0) & (second >= 0) & (third >= 0))
    face, pixel = face[inside], row[inside] * size + column[inside]
    flat = np.stack([first[inside], second[inside], third[inside]], axis=1)
    return _nearest(pixel, kept[face], flat / depth[faces[face]], size)


def _nearest(pixel: Ints, face: Ints, corner: Floats, size: int) -> Seen:
    """Keep, of all faces at a pixel, the nearest; `corner` holds weights over depth."""
    nearness = corner.sum(axis=1)
    nearest = np.zeros(size * size)
    np.maximum.at(nearest, pixel, nearness)
    winner = np.full(size * size, -1)
    candidates = np.flatnonzero(nearness >= nearest[pixel])
    winner[pixel[candidates]] = candidates
    won = winner[winner >= 0]
    return Seen(pixel[won], face[won], corner[won] / nearness[won, None], 1 / nearness[won])


def _candidates(x: Floats, y: Floats, size: int) -> tuple[Ints, Ints, Ints]:
    """All pixels within the bounding box of each triangle."""
    left, right = _span(x, size)
    top, bottom = _span(y, size)
    wide, high = np.maximum(right - left + 1, 0), np.maximum(bottom - top + 1, 0)
    count = wide * high
    face = np.repeat(np.arange(len(x)), count)
    within = np.arange(len(face)) - np.repeat(np.cumsum(count) - count, count)
    down = within // np.maximum(wide, 1)[face]
    return face, left[face] + within - down * wide[face], top[face] + down


def _span(values: Floats, size: int) -> tuple[Ints, Ints]:
    low = np.ceil(np.clip(values.min(axis=1), -1, size + 1) - 0.5).astype(np.int64)
    high = np.floor(np.clip(values.max(axis=1), -1, size + 1) - 0.5).astype(np.int64)
    return np.maximum(low, 0), np.minimum(high, size - 1)


def _weight_planes(x: Floats, y: Floats) -> list[tuple[Floats, Floats, Floats]]:
    """For corners 0 and 1, the plane (a, b, c) of the weight: a * column + b * row + c."""
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
    area = np.where(np.abs(area) < 1e-12, np.nan, area)
    planes = []
    for one, two in ((1, 2), (2, 0)):
        a = (y[:, one] - y[:, two]) / area
        b = (x[:, two] - x[:, one]) / area
        c = (x[:, one] * y[:, two] - x[:, two] * y[:, one]) / area
        planes.append((a, b, c + (a + b) * 0.5))
    return planes


def interpolate(seen: Seen, mesh: Mesh, values: Floats) -> Floats:
    """Carry a per-vertex quantity to the pixels."""
    corners = mesh.faces[seen.face]
    w = seen.weights
    mixed: Floats = (
        values[corners[:, 0]] * w[:, :1]
        + values[corners[:, 1]] * w[:, 1:2]
        + values[corners[:, 2]] * w[:, 2:]
    )
    return mixed


def facing_normals(seen: Seen, mesh: Mesh, places: Floats, eye: Floats) -> Floats:
    """Unit normals at the pixels, turned towards the eye."""
    normals = unit(interpolate(seen, mesh, mesh.normals))
    away = ((places - eye) * normals).sum(axis=1) > 0
    return np.where(away[:, None], -normals, normals)
