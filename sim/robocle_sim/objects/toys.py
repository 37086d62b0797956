"""Toys: ball, toy car, teddy bear."""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats, unit
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import STEEL, Material, glossy, matt, satin
from robocle_sim.mesh import Mesh, Piece, SceneObject, merge, shift, turn
from robocle_sim.outlines import curve, oval
from robocle_sim.patterns import Pattern, cloth, plain
from robocle_sim.shapes import box, cylinder, ellipsoid, loft, tube


def _icosahedron() -> Floats:
    g = (1 + 5**0.5) / 2
    corners = [(0, a, b * g) for a in (-1, 1) for b in (-1, 1)]
    return unit(np.array([np.roll(c, k) for c in corners for k in range(3)], dtype=np.float64))


def _football(base: Floats, ink: Floats) -> Pattern:
    """Twelve dark patches, and seams between the light ones."""
    centres = _icosahedron()

    def colour(rest: Floats, uv: Floats) -> Floats:
        d = unit(rest)
        near = np.sort(np.stack([(d * c).sum(axis=1) for c in centres]), axis=0)
        patch = near[-1] > 0.93
        seam = (near[-1] - near[-2] < 0.012) & (near[-1] < 0.93)
        return np.where((patch | seam)[:, None], ink, base)

    return colour


def _beach(one: Floats, two: Floats, count: int) -> Pattern:
    def colour(rest: Floats, uv: Floats) -> Floats:
        cap = np.abs(rest[:, 2]) > 0.485
        gore = (uv[:, 0] * count % 1 < 0.5) & ~cap
        return np.where(gore[:, None], one, two)

    return colour


def _seamed(base: Floats, ink: Floats) -> Pattern:
    """The four seams of a basketball, on a grained skin."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        x, y, z = rest.T / 0.5
        curved = np.abs(np.abs(x) - 0.45 - 0.35 * z * z) < 0.025
        seam = (np.abs(y) < 0.025) | (np.abs(z) < 0.025) | curved
        return np.where(seam[:, None], ink, base)

    return colour


def ball(rng: Rng) -> SceneObject:
    """A football, beach ball or basketball."""
    base = paint(rng)
    ink = other_paint(rng, base)
    count = int(rng.integers(3, 6))
    kinds = (
        _football(base, ink),
        _beach(base, ink, count),
        _seamed(base, ink * 0.3),
        _football(base, ink),
    )
    pattern = kinds[int(rng.integers(len(kinds)))]
    mesh = ellipsoid((0.5, 0.5, 0.5), sides=60)
    tilted = turn(
        turn(mesh, (0, 0, 1), float(rng.uniform(0, 360))), (1, 0.4, 0), float(rng.uniform(15, 60))
    )
    return [Piece(tilted, satin(pattern))]


def toy_car(rng: Rng) -> SceneObject:
    """A toy car with a body, a cabin with windows, wheels and lamps."""
    base = paint(rng)
    body_skin = glossy(plain(base))
    roof = glossy(plain(base if rng.random() < 0.5 else paint(rng)))
    length, high = rng.uniform(1.3, 1.6), rng.uniform(0.24, 0.32)
    body = _car_slab(
        [(1.0, 0.12), (1.03, 0.2), (1.0, 0.12 + high), (0.93, 0.15 + high)], length, 0.68, 0.0
    )
    back = rng.uniform(0.0, 0.16)
    shoulder, top = 0.13 + high, 0.13 + high + rng.uniform(0.22, 0.32)
    windows = _car_slab([(1.0, shoulder), (0.76, top - 0.03)], length * 0.62, 0.62, back)
    top_slab = _car_slab(
        [(0.78, top - 0.035), (0.76, top), (0.66, top + 0.03)], length * 0.62, 0.62, back
    )
    post = _car_slab([(1.0, shoulder), (0.76, top - 0.03)], 0.07, 0.635, back)
    wheel = turn(cylinder(0.17, -0.07, 0.07, 0.03, sides=30), (1, 0, 0), 90)
    hub = turn(cylinder(0.09, -0.08, 0.08, 0.01, sides=24), (1, 0, 0), 90)
    spots = [(x * length * 0.31, y, 0.17) for x in (-1, 1) for y in (-0.31, 0.31)]
    lamps = [
        shift(ellipsoid((0.04, 0.07, 0.05), 16), (-length / 2 + 0.0, y, 0.3)) for y in (-0.22, 0.22)
    ]
    tails = [shift(box((0.04, 0.12, 0.07), 0.01), (length / 2, y, 0.3)) for y in (-0.23, 0.23)]
    bumper = [shift(box((0.07, 0.7, 0.07), 0.03), (s * length / 2, 0, 0.17)) for s in (-1, 1)]
    return [
        Piece(body, body_skin),
        Piece(windows, Material(plain(rgb(0.14, 0.18, 0.22)), roughness=0.08)),
        Piece(top_slab, roof), Piece(post, roof),
        Piece(merge([shift(wheel, s) for s in spots]), matt(plain(rgb(0.12, 0.12, 0.13)))),
        Piece(merge([shift(hub, s) for s in spots]), STEEL),
        Piece(merge(lamps), glossy(plain(rgb(0.98, 0.95, 0.8)))),
        Piece(merge(tails), glossy(plain(rgb(0.75, 0.08, 0.08)))),
        Piece(merge(bumper), satin(plain(rgb(0.25, 0.25, 0.27)))),
    ]  # fmt: skip


def _car_slab(levels: list[tuple[float, float]], length: float, width: float, back: float) -> Mesh:
    """A body of stacked rounded rectangles, each given by (scale, height)."""
    ring = oval(length, width, power=5, count=48)
    rings = [
        np.column_stack([ring * (s, 0.3 + 0.7 * s) + (back, 0), np.full(48, z)]) for s, z in levels
    ]
    return loft(np.stack(rings))


def teddy(rng: Rng) -> SceneObject:
    """A sitting teddy bear facing -y."""
    fur = paint(rng, "brown", "cream", "grey", "pink", "sky", "white", "orange", "charcoal", "mint")
    pale = fur * 0.5 + 0.35
    coat, belly = matt(cloth(fur, 0.022)), matt(cloth(pale, 0.022))
    dark = glossy(plain(rgb(0.07, 0.06, 0.06)))
    head, ear = rng.uniform(0.25, 0.31), rng.uniform(0.085, 0.12)
    top = 0.72 + rng.uniform(0, 0.05)
    pieces = [
        Piece(shift(ellipsoid((0.29, 0.25, 0.36)), (0, 0, 0.34)), coat),
        Piece(shift(ellipsoid((0.19, 0.1, 0.24)), (0, -0.18, 0.34)), belly),
        Piece(shift(ellipsoid((head, head * 0.9, head * 0.92)), (0, -0.03, top + 0.12)), coat),
        Piece(shift(ellipsoid((0.13, 0.12, 0.1)), (0, -0.24, top + 0.05)), belly),
        Piece(shift(ellipsoid((0.045, 0.03, 0.032), 16), (0, -0.355, top + 0.085)), dark),
    ]
    for side in (-1.0, 1.0):
        ear_place = (side * head * 0.76, 0.0, top + 0.14 + head * 0.66)
        pieces.append(Piece(shift(ellipsoid((ear, ear * 0.5, ear), 24), ear_place), coat))
        inner = (ear_place[0], -0.035, ear_place[2])
        pieces.append(Piece(shift(ellipsoid((ear * 0.6, ear * 0.3, ear * 0.6), 20), inner), belly))
        eye = (side * 0.1, -0.03 - head * 0.78, top + 0.17)
        pieces.append(Piece(shift(ellipsoid((0.03, 0.022, 0.034), 14), eye), dark))
        arm = tube(
            curve(
                [(side * 0.22, 0, 0.56), (side * 0.38, -0.1, 0.44), (side * 0.4, -0.2, 0.32)], 14
            ),
            np.linspace(0.09, 0.1, 14),
        )
        leg = tube(
            curve(
                [
                    (side * 0.16, -0.08, 0.13),
                    (side * 0.26, -0.32, 0.12),
                    (side * 0.29, -0.46, 0.13),
                ],
                12,
            ),
            0.12,
        )
        sole = shift(ellipsoid((0.09, 0.03, 0.09), 20), (side * 0.295, -0.565, 0.13))
        pieces += [Piece(arm, coat), Piece(leg, coat), Piece(sole, belly)]
    if rng.random() < 0.6:
        bow = paint(rng, "red", "blue", "green", "purple", "yellow")
        knot = [
            shift(ellipsoid((0.09, 0.035, 0.055), 16), (s * 0.09, -0.25, top - 0.1))
            for s in (-1, 1)
        ]
        pieces.append(Piece(merge(knot), satin(plain(bow))))
    return pieces
