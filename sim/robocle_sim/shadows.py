"""Shadows: which points a distant light reaches.

A shadow map is a grid of heights as seen from the light. It is filled by splatting points that are
spread over the surfaces instead of drawing triangles. One map takes about a millisecond, so a
picture can use dozens of light directions.
"""

from dataclasses import dataclass

import numpy as np

from robocle_sim.arrays import Floats, Ints, Singles, unit
from robocle_sim.mesh import Mesh

MAP = 144  # cells per side of a shadow map

Columns = tuple[Singles, Singles, Singles]


def across(direction: Floats) -> tuple[Floats, Floats]:
    """Return two unit vectors perpendicular to a direction."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(direction[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    one = unit(np.cross(direction, helper))
    return one, np.cross(direction, one)


def spread_points(mesh: Mesh, spacing: float) -> Floats:
    """Return points on all faces, about `spacing` apart, from a low-discrepancy sequence."""
    a, b, c = (mesh.points[mesh.faces[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    area = np.sqrt((normal * normal).sum(axis=1)) / 2
    count = np.minimum(np.ceil(area / (spacing * spacing)), 40_000).astype(np.int64)
    face = np.repeat(np.arange(len(area)), count)
    k = np.arange(len(face))
    u, v = (k * 0.7548776662466927) % 1, (k * 0.5698402909980532) % 1
    fold = u + v > 1
    u, v = np.where(fold, 1 - u, u), np.where(fold, 1 - v, v)
    return a[face] + u[:, None] * (b - a)[face] + v[:, None] * (c - a)[face]


@dataclass(frozen=True)
class Casters:
    """The surfaces that cast shadows, as points relative to the centre of a bounding sphere."""

    offsets: Columns
    centre: Floats
    radius: float

    @property
    def cell(self) -> float:
        """Side length of one cell of the shadow map."""
        return 2 * self.radius / (MAP - 4)


def casters(mesh: Mesh) -> Casters:
    """Spread points over a mesh, densely enough for the shadow map."""
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    centre = (low + high) / 2
    offset = mesh.points - centre
    radius = float(np.sqrt((offset * offset).sum(axis=1).max()))
    return Casters(columns(spread_points(mesh, 2 * radius / MAP * 0.7) - centre), centre, radius)


def columns(vectors: Floats) -> Columns:
    """Split vectors into contiguous float32 columns x, y and z.

    They make `along` fast, and sums and products of float32 are still the same on every processor.
    """
    x, y, z = np.ascontiguousarray(vectors.T, dtype=np.float32)
    return x, y, z


def along(vectors: Columns, direction: Floats) -> Singles:
    """Return the dot product of each vector with one direction."""
    x, y, z = (float(value) for value in direction)
    product: Singles = vectors[0] * x + vectors[1] * y + vectors[2] * z
    return product


def shadow_map(cast: Casters, direction: Floats) -> Singles:
    """Return the height of the topmost point in each cell, as seen from the light."""
    one, two = across(direction)
    cell = _cells(cast, along(cast.offsets, one), along(cast.offsets, two))
    heights = np.full(MAP * MAP, -np.inf, dtype=np.float32)
    np.maximum.at(heights, cell, along(cast.offsets, direction))
    return heights


def _cells(cast: Casters, one: Singles, two: Singles) -> Ints:
    limit = MAP - 1.0
    column = np.minimum(np.maximum(one * (1 / cast.cell) + MAP / 2, 0), limit).astype(np.int32)
    row = np.minimum(np.maximum(two * (1 / cast.cell) + MAP / 2, 0), limit).astype(np.int32)
    cells: Ints = column.astype(np.int64) * MAP + row
    return cells


def lit(cast: Casters, heights: Singles, direction: Floats, offsets: Columns) -> Floats:
    """Return 1 for points that the light reaches and 0 for points in shadow."""
    one, two = across(direction)
    cell = _cells(cast, along(offsets, one), along(offsets, two))
    return (heights[cell] <= along(offsets, direction) + 1.2 * cast.cell).astype(np.float64)
