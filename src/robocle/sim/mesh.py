"""Meshes: triangles with smooth normals, and the parts an object is made of.

Surfaces are built from grids of points; a hard edge is simply the border between two grids. Each
vertex keeps its `rest` position, the one it was modelled at, so a pattern painted in model space
stays on the object however the object is turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocle.sim.materials import Material

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Vector = Sequence[float] | Floats


@dataclass(frozen=True)
class Mesh:
    """Triangles; `uv` runs 0..1 around (u) and along (v) the grid a vertex comes from."""

    points: Floats
    faces: Ints
    normals: Floats
    uv: Floats
    rest: Floats


@dataclass(frozen=True)
class Part:
    """A mesh and what it is made of."""

    mesh: Mesh
    material: Material


Thing = list[Part]


def grid(points: Floats, wrap: bool = False) -> Mesh:
    """Join an (n, m, 3) grid of points into a smooth surface; `wrap` closes it along m."""
    if wrap:
        points = np.concatenate([points, points[:, :1]], axis=1)
    rows, columns = points.shape[:2]
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    upper, lower = corner + columns, corner + columns + 1
    faces = np.concatenate(
        [np.stack([corner, corner + 1, lower], 1), np.stack([corner, lower, upper], 1)]
    )
    u, v = np.meshgrid(np.linspace(0, 1, columns), _along(points))
    flat = points.reshape(-1, 3).astype(np.float64)
    normals = _weld(summed_normals(flat, faces).reshape(rows, columns, 3), points, wrap)
    return Mesh(
        flat, faces, unit(normals.reshape(-1, 3)), np.stack([u, v], -1).reshape(-1, 2), flat
    )


def _along(points: Floats) -> Floats:
    """Where each row lies along the grid, 0..1 by length."""
    step = points[1:] - points[:-1]
    length = np.cumsum([0.0, *np.sqrt((step * step).sum(axis=2)).mean(axis=1)])
    share: Floats = length / max(float(length[-1]), 1e-12)
    return share


def summed_normals(points: Floats, faces: Ints) -> Floats:
    """Sum, at each vertex, the area-weighted normals of the faces around it."""
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], across)
    return normals


def _weld(normals: Floats, points: Floats, wrap: bool) -> Floats:
    """Share normals across the seam of a closed grid and at rows shrunk to a point (poles)."""
    if wrap:
        seam = normals[:, 0] + normals[:, -1]
        normals[:, 0] = normals[:, -1] = seam
    for row in np.flatnonzero(np.ptp(points, axis=1).max(axis=1) < 1e-9):
        normals[row] = normals[row].sum(axis=0)
    return normals


def unit(vectors: Floats) -> Floats:
    """Scale vectors to length one; a zero vector stays zero."""
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    scaled: Floats = vectors / np.maximum(length, 1e-12)
    return scaled


def merge(meshes: Sequence[Mesh]) -> Mesh:
    """Put several meshes into one."""
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.points for mesh in meshes]),
        np.concatenate([m.faces + start for m, start in zip(meshes, starts, strict=False)]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.uv for mesh in meshes]),
        np.concatenate([mesh.rest for mesh in meshes]),
    )


def rotation(axis: Vector, degrees: float) -> Floats:
    """The matrix that turns column vectors about an axis through the origin."""
    x, y, z = unit(np.asarray(axis, dtype=np.float64))
    angle = np.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix: Floats = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return matrix


def shift(mesh: Mesh, offset: Vector) -> Mesh:
    """Move a mesh."""
    return replace(mesh, points=mesh.points + np.asarray(offset, dtype=np.float64))


def turn(mesh: Mesh, axis: Vector, degrees: float) -> Mesh:
    """Turn a mesh about an axis through the origin."""
    matrix = rotation(axis, degrees)
    return replace(mesh, points=_apply(mesh.points, matrix), normals=_apply(mesh.normals, matrix))


def stretch(mesh: Mesh, factors: Vector) -> Mesh:
    """Scale a mesh along x, y and z."""
    by = np.asarray(factors, dtype=np.float64)
    return replace(mesh, points=mesh.points * by, normals=unit(mesh.normals / by))


def _apply(vectors: Floats, matrix: Floats) -> Floats:
    """Multiply without BLAS, whose last bits differ between processors."""
    x, y, z = (vectors[:, k : k + 1] * matrix[:, k] for k in range(3))
    product: Floats = x + y + z
    return product


def turn_thing(thing: Thing, axis: Vector, degrees: float) -> Thing:
    """Turn every part of a thing about an axis through the origin."""
    return [replace(part, mesh=turn(part.mesh, axis, degrees)) for part in thing]


def shift_thing(thing: Thing, offset: Vector) -> Thing:
    """Move every part of a thing."""
    return [replace(part, mesh=shift(part.mesh, offset)) for part in thing]


def stretch_thing(thing: Thing, factor: float) -> Thing:
    """Scale every part of a thing."""
    return [replace(part, mesh=stretch(part.mesh, (factor,) * 3)) for part in thing]


def all_points(thing: Thing) -> Floats:
    """All vertices of a thing."""
    return np.concatenate([part.mesh.points for part in thing])


def settle(thing: Thing) -> Thing:
    """Put a thing on the table: lowest point at z = 0, centred on the origin."""
    points = all_points(thing)
    low, high = points.min(axis=0), points.max(axis=0)
    return shift_thing(thing, (-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2, -low[2]))


def normalise(thing: Thing) -> Thing:
    """Settle a thing and scale its largest extent to one."""
    size = float(np.ptp(all_points(thing), axis=0).max())
    return settle(stretch_thing(thing, 1 / size))
