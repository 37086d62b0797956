"""Meshes: triangles with smooth normals, and the pieces that an object is made of.

Surfaces are built from grids of points. A hard edge is the border between two grids. Each vertex
keeps its `rest` position, the one it was modelled at, so a pattern painted in model space stays on
the object however the object is turned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robocle_sim.arrays import Floats, Ints, Vector, combine, unit
from robocle_sim.materials import Material


@dataclass(frozen=True)
class Mesh:
    """Triangles, described by arrays with one row per vertex and one row per face.

    Attributes:
        points: Positions of the vertices, (vertices, 3).
        faces: The three vertices of each triangle, (faces, 3).
        normals: Unit normals at the vertices, (vertices, 3).
        uv: Coordinates from 0 to 1 around (u) and along (v) the grid of a vertex, (vertices, 2).
        rest: Positions of the vertices as they were modelled, (vertices, 3).
    """

    points: Floats
    faces: Ints
    normals: Floats
    uv: Floats
    rest: Floats


@dataclass(frozen=True)
class Piece:
    """A mesh and its material."""

    mesh: Mesh
    material: Material


SceneObject = list[Piece]
"""An object (or a group of objects) is the list of its pieces."""


def grid(points: Floats, wrap: bool = False) -> Mesh:
    """Build a smooth surface from a grid of points (n, m, 3); `wrap` closes it along m."""
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
    """Return the position of each row along the grid, from 0 to 1 by length."""
    step = points[1:] - points[:-1]
    length = np.cumsum([0.0, *np.sqrt((step * step).sum(axis=2)).mean(axis=1)])
    share: Floats = length / max(float(length[-1]), 1e-12)
    return share


def summed_normals(points: Floats, faces: Ints) -> Floats:
    """Sum the area-weighted normals of the faces around each vertex."""
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], across)
    return normals


def _weld(normals: Floats, points: Floats, wrap: bool) -> Floats:
    """Share normals across the seam of a closed grid and within rows that are one point (poles)."""
    if wrap:
        seam = normals[:, 0] + normals[:, -1]
        normals[:, 0] = normals[:, -1] = seam
    for row in np.flatnonzero(np.ptp(points, axis=1).max(axis=1) < 1e-9):
        normals[row] = normals[row].sum(axis=0)
    return normals


def merge(meshes: Sequence[Mesh]) -> Mesh:
    """Merge several meshes into one."""
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.points for mesh in meshes]),
        np.concatenate([m.faces + start for m, start in zip(meshes, starts, strict=False)]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.uv for mesh in meshes]),
        np.concatenate([mesh.rest for mesh in meshes]),
    )


def rotation(axis: Vector, degrees: float) -> Floats:
    """Return the matrix that rotates column vectors about an axis through the origin."""
    x, y, z = unit(np.asarray(axis, dtype=np.float64))
    angle = np.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix: Floats = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return matrix


def shift(mesh: Mesh, offset: Vector) -> Mesh:
    """Return a mesh moved by an offset."""
    return replace(mesh, points=mesh.points + np.asarray(offset, dtype=np.float64))


def turn(mesh: Mesh, axis: Vector, degrees: float) -> Mesh:
    """Return a mesh rotated about an axis through the origin."""
    columns = rotation(axis, degrees).T
    return replace(
        mesh, points=combine(mesh.points, columns), normals=combine(mesh.normals, columns)
    )


def stretch(mesh: Mesh, factors: Vector) -> Mesh:
    """Return a mesh scaled along x, y and z."""
    by = np.asarray(factors, dtype=np.float64)
    return replace(mesh, points=mesh.points * by, normals=unit(mesh.normals / by))


def turn_object(obj: SceneObject, axis: Vector, degrees: float) -> SceneObject:
    """Return an object rotated about an axis through the origin."""
    return [replace(piece, mesh=turn(piece.mesh, axis, degrees)) for piece in obj]


def shift_object(obj: SceneObject, offset: Vector) -> SceneObject:
    """Return an object moved by an offset."""
    return [replace(piece, mesh=shift(piece.mesh, offset)) for piece in obj]


def stretch_object(obj: SceneObject, factor: float) -> SceneObject:
    """Return an object scaled by one factor in all directions."""
    return [replace(piece, mesh=stretch(piece.mesh, (factor,) * 3)) for piece in obj]


def all_points(obj: SceneObject) -> Floats:
    """Return all vertices of an object."""
    return np.concatenate([piece.mesh.points for piece in obj])


def settle(obj: SceneObject) -> SceneObject:
    """Place an object on the table: lowest point at z = 0, centred above the origin."""
    points = all_points(obj)
    low, high = points.min(axis=0), points.max(axis=0)
    return shift_object(obj, (-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2, -low[2]))


def normalise(obj: SceneObject) -> SceneObject:
    """Place an object on the table and scale its largest extent to one."""
    size = float(np.ptp(all_points(obj), axis=0).max())
    return settle(stretch_object(obj, 1 / size))
