"""Shapes: meshes that are turned on a lathe, swept along a path, lofted, extruded or moulded.

Every function returns a smooth `Mesh` in the units of its arguments. A hard edge is the border of
two profiles, or of a surface and its end caps.
"""

import numpy as np

from robocle_sim.arrays import Floats, Ints, Vector, unit
from robocle_sim.mesh import Mesh, grid, merge
from robocle_sim.outlines import Points, arc, outward_normals, signed_area, triangulate


def lathe(*profiles: Points, sides: int = 48) -> Mesh:
    """Build a body by rotating profiles about the z axis.

    Args:
        *profiles: Lines of points (radius, height). The edge between two profiles is hard.
        sides: Number of vertices around the axis.

    Returns:
        The mesh.

    Example:
        >>> lathe([(1, 0), (1, 2)], sides=8).points.max(axis=0).round(6).tolist()
        [1.0, 1.0, 2.0]
    """
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    meshes = []
    for profile in profiles:
        p = np.asarray(profile, dtype=np.float64)
        x, y = p[:, :1] * np.cos(angle), p[:, :1] * np.sin(angle)
        z = np.broadcast_to(p[:, 1:2], x.shape)
        meshes.append(grid(np.stack([x, y, z], axis=-1), wrap=True))
    return merge(meshes)


def disc(radius: float, height: float, sides: int = 48) -> Mesh:
    """Build a flat horizontal disc."""
    return lathe([(0, height), (radius / 2, height), (radius, height)], sides=sides)


def cylinder(radius: float, low: float, high: float, bevel: float = 0.0, sides: int = 40) -> Mesh:
    """Build an upright cylinder between two heights, with flat ends and bevelled edges."""
    b = max(bevel, 1e-4)
    edge = arc(b, 0, 90, 4)
    top = [(radius - b + x, high - b + y) for x, y in edge]
    bottom = [(radius - b + x, low + b - y) for x, y in edge[::-1]]
    side = [*bottom, *top]
    caps = [(0.0, low), (radius - b, low)], [(radius - b, high), (0.0, high)]
    return lathe(side, *caps, sides=sides)


def frames(path: Floats, closed: bool = False) -> tuple[Floats, Floats]:
    """Return two directions perpendicular to a path at each of its points, without twist."""
    ahead = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    if not closed:
        ahead[0], ahead[-1] = path[1] - path[0], path[-1] - path[-2]
    ahead = unit(ahead)
    side = np.cross(ahead[0], (0.0, 0.0, 1.0))
    if float(np.abs(side).max()) < 1e-3:
        side = np.array([1.0, 0.0, 0.0])
    sides = []
    for direction in ahead:
        side = unit(side - direction * (side * direction).sum())
        sides.append(side)
    first = np.array(sides)
    return first, np.cross(ahead, first)


def tube(
    path: Points, radius: float | Vector, sides: int = 14, flat: float = 1.0, closed: bool = False
) -> Mesh:
    """Build a rod along a path, with rounded ends unless it is closed.

    Args:
        path: Points (x, y, z).
        radius: One radius, or one per point.
        sides: Number of vertices around the rod.
        flat: Height of the cross-section relative to its width.
        closed: Whether the path returns to its start.

    Returns:
        The mesh.
    """
    p = np.asarray(path, dtype=np.float64)
    r = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(p),))
    if not closed:
        p, r = _round_ends(p, r)
    across, up = frames(p, closed)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)[:, None]
    ring = np.cos(angle) * across[:, None] + flat * np.sin(angle) * up[:, None]
    rings = p[:, None] + r[:, None, None] * ring
    if closed:
        rings = np.concatenate([rings, rings[:1]])
    return grid(rings, wrap=True)


def _round_ends(path: Floats, radius: Floats) -> tuple[Floats, Floats]:
    first, last = unit(path[0] - path[1]), unit(path[-1] - path[-2])
    angle = np.radians([90, 60, 30])
    out, thin = np.sin(angle)[:, None], np.cos(angle)
    before, after = path[0] + first * out * radius[0], path[-1] + last * out[::-1] * radius[-1]
    return (
        np.concatenate([before, path, after]),
        np.concatenate([thin * radius[0], radius, thin[::-1] * radius[-1]]),
    )


def loft(sections: Floats) -> Mesh:
    """Build a body with flat ends.

    Args:
        sections: Closed cross-sections along the body, (n, m, 3).

    Returns:
        The mesh.
    """
    body = grid(sections, wrap=True)
    ends = []
    for ring in (sections[0], sections[-1]):
        centre = np.broadcast_to(ring.mean(axis=0), ring.shape)
        ends.append(grid(np.stack([centre, ring]), wrap=True))
    return merge([body, *ends])


def box(size: Vector, radius: float = 0.02) -> Mesh:
    """Build a box, centred on the origin.

    Args:
        size: Extents along x, y and z.
        radius: Of the rounded edges.

    Returns:
        The mesh.

    Example:
        >>> box((2, 4, 6)).points.max(axis=0).round(6).tolist()
        [1.0, 2.0, 3.0]
    """
    half = np.asarray(size, dtype=np.float64) / 2
    r = min(radius, float(half.min()) * 0.98)
    return merge([_box_side(half, r, axis, sign) for axis in range(3) for sign in (-1.0, 1.0)])


def _box_side(half: Floats, r: float, axis: int, sign: float) -> Mesh:
    one, two = (axis + 1) % 3, (axis + 2) % 3
    ticks = [
        np.concatenate(
            [np.linspace(-half[k], r - half[k], 4), np.linspace(half[k] - r, half[k], 4)]
        )
        for k in (one, two)
    ]
    place = np.zeros((8, 8, 3))
    place[..., one], place[..., two] = np.meshgrid(ticks[0], ticks[1])
    place[..., axis] = sign * half[axis]
    inner = np.clip(place, r - half, half - r)
    outward = unit(place - inner)
    points = inner + r * outward
    mesh = grid(points)
    uv = (points[..., [one, two]] / half[[one, two]] + 1) / 2
    return Mesh(mesh.points, mesh.faces, outward.reshape(-1, 3), uv.reshape(-1, 2), mesh.rest)


def ellipsoid(radii: Vector, sides: int = 32) -> Mesh:
    """Build an ellipsoid with the given radii along x, y and z."""
    x, y, z = (float(radius) for radius in radii)
    p = arc(1.0, -90, 90, max(sides * 2 // 3, 8))
    p[0, 0] = p[-1, 0] = 0.0
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angle) * x, np.sin(angle) * y, np.zeros_like(angle)], axis=1)
    up = np.zeros((len(p), 1, 3))
    up[:, 0, 2] = p[:, 1] * z
    return grid(p[:, :1, None] * ring + up, wrap=True)


def extrude(outline: Points, thickness: float, bevel: float = 0.0) -> Mesh:
    """Extrude an outline from z = 0 upwards.

    Args:
        outline: Closed outline of points (x, y), in either direction.
        thickness: Height of the body.
        bevel: Size of the bevelled edges.

    Returns:
        The mesh.
    """
    p = np.asarray(outline, dtype=np.float64)
    if signed_area(p) < 0:
        p = p[::-1]
    inset = p - bevel * outward_normals(p)
    levels = [(inset, 0.0), (p, bevel), (p, thickness - bevel), (inset, thickness)]
    rings = np.stack([np.column_stack([q, np.full(len(q), z)]) for q, z in levels])
    faces = triangulate(inset)
    side = merge([grid(rings[k : k + 2], wrap=True) for k in range(3)])
    return merge([side, _flat(inset, 0.0, faces), _flat(inset, thickness, faces)])


def _flat(outline: Floats, height: float, faces: Ints) -> Mesh:
    points = np.column_stack([outline, np.full(len(outline), height)])
    normals = np.broadcast_to((0.0, 0.0, 1.0), points.shape).copy()
    span = np.maximum(np.ptp(outline, axis=0), 1e-9)
    return Mesh(points, faces, normals, (outline - outline.min(axis=0)) / span, points)
