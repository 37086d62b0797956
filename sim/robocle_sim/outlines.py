"""Outlines: curves and closed outlines from which shapes are built, and their triangulation."""

from collections.abc import Sequence

import numpy as np

from robocle_sim.arrays import Floats, Ints, unit

Points = Sequence[Sequence[float]] | Floats


def curve(points: Points, count: int = 24) -> Floats:
    """Return points of a smooth (Catmull-Rom) curve.

    Args:
        points: Points in any number of dimensions that the curve passes through.
        count: How many points to return, evenly spaced between each two given points.

    Returns:
        The points, (count, dimensions).

    Example:
        >>> curve([(0, 0), (1, 1), (2, 0)], count=3).tolist()
        [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]
    """
    p = np.asarray(points, dtype=np.float64)
    p = np.concatenate([[2 * p[0] - p[1]], p, [2 * p[-1] - p[-2]]])
    place = np.linspace(0, len(p) - 3, count)
    start = np.minimum(place.astype(int), len(p) - 4)
    t = (place - start)[:, None]
    a, b, c, d = (p[start + k] for k in range(4))
    smooth: Floats = 0.5 * (
        2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
    )
    return smooth


def arc(radius: float, start: float, end: float, count: int = 24) -> Floats:
    """Return points (x, y) of a circle around the origin, between two angles in degrees.

    Example:
        >>> arc(2, 0, 90, count=2).round(6).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    angle = np.radians(np.linspace(start, end, count))
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def oval(width: float, height: float, power: float = 2.0, count: int = 32) -> Floats:
    """Return a closed outline (x, y) between an ellipse and a rectangle.

    Args:
        width: Extent along x.
        height: Extent along y.
        power: 2 for an ellipse; from 5 on the outline is nearly a rectangle.
        count: How many points to return.

    Returns:
        The outline, anticlockwise around the origin, (count, 2).

    Example:
        >>> oval(4, 2, count=4).round(6).tolist()
        [[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [-0.0, -1.0]]
    """
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    c, s = np.cos(angle), np.sin(angle)
    bent = (np.abs(c) ** power + np.abs(s) ** power) ** (-1 / power)
    return np.stack([c * bent * width / 2, s * bent * height / 2], axis=1)


def signed_area(outline: Floats) -> float:
    """Return the area inside an outline; it is positive if the outline runs anticlockwise.

    Example:
        >>> signed_area(np.array([(0, 0), (2, 0), (2, 1), (0, 1)]))
        2.0
    """
    after = np.roll(outline, -1, axis=0)
    return float((outline[:, 0] * after[:, 1] - after[:, 0] * outline[:, 1]).sum() / 2)


def outward_normals(outline: Floats) -> Floats:
    """Return the unit normal at each corner of an anticlockwise outline, pointing outwards."""
    edge = np.roll(outline, -1, axis=0) - outline
    normal = unit(np.column_stack([edge[:, 1], -edge[:, 0]]))
    return unit(normal + np.roll(normal, 1, axis=0))


def triangulate(outline: Floats) -> Ints:
    """Split a simple anticlockwise outline into triangles by ear clipping.

    Example:
        >>> triangulate(np.array([(0, 0), (2, 0), (2, 1), (0, 1)])).tolist()
        [[3, 0, 1], [1, 2, 3]]
    """
    left = list(range(len(outline)))
    faces: list[tuple[int, int, int]] = []
    while len(left) > 3:
        ear = next((k for k in range(len(left)) if _is_ear(outline, left, k)), 0)
        faces.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return np.array([*faces, tuple(left)], dtype=np.int64)


def _is_ear(outline: Floats, left: list[int], k: int) -> bool:
    a, b, c = outline[left[k - 1]], outline[left[k]], outline[left[(k + 1) % len(left)]]
    if _turn(a, b, c) <= 1e-12:
        return False
    skip = {left[k - 1], left[k], left[(k + 1) % len(left)]}
    rest = outline[[i for i in left if i not in skip]]
    inside = (_turn(a, b, rest) > 0) & (_turn(b, c, rest) > 0) & (_turn(c, a, rest) > 0)
    return not bool(inside.any())


def _turn(a: Floats, b: Floats, c: Floats) -> Floats:
    cross: Floats = (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
    return cross
