"""Patterns: stripes, checks, dots, labels, wood, speckle.

A pattern is a function (rest, uv) -> colours. It is called with the rest positions and the uv
coordinates of all visible points of one piece and returns their linear colours. It is evaluated
per point, so prints and wood grain stay sharp at any picture size.

Noise comes from a hash of lattice points instead of a random generator. It therefore needs no
state and looks the same from every side.
"""

from collections.abc import Callable, Sequence

import numpy as np

from robocle_sim.arrays import Floats, Ints
from robocle_sim.colours import rgb

Pattern = Callable[[Floats, Floats], Floats]


def plain(colour: Sequence[float] | Floats) -> Pattern:
    """One (linear) colour everywhere."""
    fixed = np.asarray(colour, dtype=np.float64)
    return lambda rest, uv: np.broadcast_to(fixed, rest.shape)


def lattice_hash(x: Ints, y: Ints, z: Ints) -> Floats:
    """Return a fixed pseudo-random number from 0 to 1 for every lattice point."""
    with np.errstate(over="ignore"):
        h = (x * 374761393 + y * 668265263 + z * 2147483647).astype(np.uint32)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(1274126177)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(2246822519)
    return (h ^ (h >> np.uint32(15))).astype(np.float64) / 4294967295.0


def noise(place: Floats) -> Floats:
    """Return smooth noise from 0 to 1, with features about one unit wide, at each position."""
    cell = np.floor(place)
    t = place - cell
    t = t * t * (3 - 2 * t)
    x, y, z = (cell[:, axis].astype(np.int64) for axis in range(3))
    planes = []
    for dz in (0, 1):
        rows = []
        for dy in (0, 1):
            near, far = lattice_hash(x, y + dy, z + dz), lattice_hash(x + 1, y + dy, z + dz)
            rows.append(near + (far - near) * t[:, 0])
        planes.append(rows[0] + (rows[1] - rows[0]) * t[:, 1])
    return planes[0] + (planes[1] - planes[0]) * t[:, 2]


def blend(low: Floats, high: Floats, share: Floats) -> Floats:
    """Mix two colours (or colour arrays); `share` is that of the second at each point."""
    return low + (high - low) * np.clip(share, 0.0, 1.0)[:, None]


def bands(axis: int, edges: tuple[float, ...], base: Floats, band: Floats) -> Pattern:
    """Bands along an axis of rest space; `edges` lists the start and the end of each band."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        inside = np.searchsorted(np.asarray(edges), rest[:, axis]) % 2 == 1
        return np.where(inside[:, None], band, base)

    return colour


def stripes(
    count: float, base: Floats, stripe: Floats, along: int = 1, share: float = 0.5
) -> Pattern:
    """Stripes over the surface.

    Args:
        count: Number of stripes.
        base: Colour between the stripes.
        stripe: Colour of the stripes.
        along: 0 to repeat them along u, 1 to repeat them along v.
        share: Width of a stripe relative to the distance between stripes.
    """
    return lambda rest, uv: np.where((uv[:, along] * count % 1 < share)[:, None], stripe, base)


def checks(across: float, along: float, one: Floats, two: Floats) -> Pattern:
    """A chequered surface with the given numbers of fields along u and v."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        odd = (np.floor(uv[:, 0] * across) + np.floor(uv[:, 1] * along)) % 2 == 1
        return np.where(odd[:, None], one, two)

    return colour


def dots(across: float, along: float, base: Floats, dot: Floats, radius: float = 0.3) -> Pattern:
    """Dots in staggered rows; `radius` is relative to the distance between dots."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        row = np.floor(uv[:, 1] * along)
        x = (uv[:, 0] * across + 0.5 * (row % 2)) % 1 - 0.5
        y = uv[:, 1] * along - row - 0.5
        return np.where((x * x + y * y < radius * radius)[:, None], dot, base)

    return colour


def label(
    u: tuple[float, float], v: tuple[float, float], base: Pattern, paper: Floats, ink: Floats
) -> Pattern:
    """A printed label within a range of u and v: a frame, a large mark and lines of small print."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        x = (uv[:, 0] - u[0]) / (u[1] - u[0])
        y = (uv[:, 1] - v[0]) / (v[1] - v[0])
        inside = (x > 0) & (x < 1) & (y > 0) & (y < 1)
        mark = (np.abs(x - 0.5) / 0.28) ** 2 + (np.abs(y - 0.64) / 0.20) ** 2 < 1
        lines = (y > 0.08) & (y < 0.36) & (x > 0.15) & (x < 0.85) & (y * 14 % 1 < 0.5)
        frame = (y > 0.93) | (y < 0.04)
        printed = np.where((mark | lines | frame)[:, None], ink, paper)
        return np.where(inside[:, None], printed, base(rest, uv))

    return colour


def speckled(base: Floats, spot: Floats, size: float, share: float = 0.35) -> Pattern:
    """Irregular spots about `size` wide that cover about `share` of the surface."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        field = noise(rest / size)
        return blend(base, spot, (field - (1 - share)) * 6)

    return colour


def mottled(base: Floats, other: Floats, size: float) -> Pattern:
    """A soft transition between two colours, with features about `size` wide."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        return blend(base, other, 0.6 * noise(rest / size) + 0.4 * noise(rest / size * 2.7))

    return colour


def cloth(base: Floats, size: float, depth: float = 0.56) -> Pattern:
    """Cloth or fur: the brightness varies by `depth` in a grain about `size` wide."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        grain = 1 + depth * (noise(rest / size) - 0.5)
        return base * grain[:, None]

    return colour


def wood(light: Floats, dark: Floats, axis: int = 0, size: float = 0.05) -> Pattern:
    """Wood whose grain runs along an axis of rest space."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        place = rest / size
        place[:, axis] *= 0.12
        rings = noise(place) * 5 % 1
        fibre = noise(place * 5.1)
        return blend(light, dark, 0.55 * rings + 0.3 * fibre)

    return colour


BEECH = wood(rgb(0.80, 0.62, 0.40), rgb(0.62, 0.44, 0.26))
PINE = wood(rgb(0.84, 0.70, 0.50), rgb(0.70, 0.54, 0.35))
WALNUT = wood(rgb(0.50, 0.33, 0.21), rgb(0.32, 0.20, 0.13))
