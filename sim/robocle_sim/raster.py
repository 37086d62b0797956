"""The rasteriser: which triangle is visible at which pixel.

All (triangle, pixel) candidates are laid out in one array and tested at once.

Pictures are equal byte for byte on every machine for two reasons. The whole renderer uses + - * /,
sqrt and comparisons where it can, and these round identically on every processor. Powers,
exponentials and sines are computed in double precision only, where a different last bit disappears
when the picture is rounded to 8 bits.
"""

from dataclasses import dataclass

import numpy as np

from robocle_sim.arrays import Floats, Ints, unit
from robocle_sim.camera import Camera, project
from robocle_sim.mesh import Mesh

NEAR = 0.05  # faces with a vertex closer to the camera than this are not drawn


@dataclass(frozen=True)
class Seen:
    """The pixels that a mesh covers, one row each.

    Attributes:
        pixel: Index into the flattened picture.
        face: The visible face.
        weights: Weights of the face's corners, in world space.
        depth: Distance along the camera's viewing axis.
    """

    pixel: Ints
    face: Ints
    weights: Floats
    depth: Floats


def rasterise(mesh: Mesh, camera: Camera, size: int) -> Seen:
    """Find the nearest face at each pixel of a square picture of `size` x `size` pixels."""
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
    """Keep the nearest of all faces at a pixel; `corner` holds weights divided by depth."""
    nearness = corner.sum(axis=1)
    nearest = np.zeros(size * size)
    np.maximum.at(nearest, pixel, nearness)
    winner = np.full(size * size, -1)
    candidates = np.flatnonzero(nearness >= nearest[pixel])
    winner[pixel[candidates]] = candidates
    won = winner[winner >= 0]
    return Seen(pixel[won], face[won], corner[won] / nearness[won, None], 1 / nearness[won])


def _candidates(x: Floats, y: Floats, size: int) -> tuple[Ints, Ints, Ints]:
    """Return face, column and row of all pixels within the bounding box of each triangle."""
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
    """Return the planes (a, b, c) of the weights a * column + b * row + c of corners 0 and 1."""
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
    """Interpolate values per vertex to values per pixel."""
    corners = mesh.faces[seen.face]
    w = seen.weights
    mixed: Floats = (
        values[corners[:, 0]] * w[:, :1]
        + values[corners[:, 1]] * w[:, 1:2]
        + values[corners[:, 2]] * w[:, 2:]
    )
    return mixed


def facing_normals(seen: Seen, mesh: Mesh, places: Floats, eye: Floats) -> Floats:
    """Return unit normals at the pixels, flipped towards the camera where necessary."""
    normals = unit(interpolate(seen, mesh, mesh.normals))
    away = ((places - eye) * normals).sum(axis=1) > 0
    return np.where(away[:, None], -normals, normals)
