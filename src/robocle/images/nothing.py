"""Pictures of nothing: walls, darkness, glare, noise, gradients, patterns, blobs out of focus.

A camera that no object is in front of sees such pictures. They are generated, always the same, and
are part of the world: what a backbone makes of them must not be taken for a taught object.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle._internal.randomness import keyed_rng
from robocle.types import Pixels

Floats = NDArray[np.float64]
Rng = np.random.Generator


def pictures_of_nothing(number: int, side: int = 224, first: int = 0) -> Iterator[Pixels]:
    """Yield pictures of nothing, one kind after another in turn.

    Args:
        number: How many.
        side: Their side in pixels.
        first: The number of the first one: others have other pictures.

    Example:
        >>> [picture.shape for picture in pictures_of_nothing(2, side=32)]
        [(32, 32, 3), (32, 32, 3)]
    """
    kinds = list(KINDS)
    for index in range(first, first + number):
        kind = kinds[index % len(kinds)]
        yield _pixels(KINDS[kind](keyed_rng(0, "nothing", kind, index), side))


def _pixels(levels: Floats) -> Pixels:
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8)


def _colour(rng: Rng, least: float = 40, most: float = 240) -> Floats:
    """Return a muted colour, as walls and furniture have."""
    colour: Floats = np.clip(rng.uniform(least, most) + rng.normal(0, 18, 3), 0, 255)
    return colour


def _ramp(rng: Rng, side: int) -> Floats:
    """Return a linear ramp from -0.5 to 0.5 in a random direction, (side, side, 1)."""
    angle = rng.uniform(0, 2 * np.pi)
    down, right = np.mgrid[0:side, 0:side] / (side - 1) - 0.5
    ramp = np.cos(angle) * right + np.sin(angle) * down
    return np.asarray(ramp[..., None] / (abs(np.cos(angle)) + abs(np.sin(angle))))


def _smooth(rng: Rng, side: int, cells: int, channels: int = 1) -> Floats:
    """Return smooth random values of unit size, with about `cells` blobs per side."""
    coarse = rng.normal(size=(channels, cells + 1, cells + 1)).astype(np.float32)
    layers = [
        Image.fromarray(each).resize((side, side), Image.Resampling.BICUBIC) for each in coarse
    ]
    return np.stack([np.asarray(each, np.float64) for each in layers], axis=2)


def _grain(rng: Rng, side: int, strength: float) -> Floats:
    """Return the noise of a sensor."""
    return rng.normal(0, strength, (side, side, 3))


def _wall(rng: Rng, side: int) -> Floats:
    plaster = _smooth(rng, side, int(rng.integers(2, side // 3))) * rng.uniform(0, 6)
    light = 1 + rng.uniform(0, 0.6) * _ramp(rng, side)
    return (_colour(rng) + plaster) * light + _grain(rng, side, rng.uniform(0, 4))


def _corner(rng: Rng, side: int) -> Floats:
    """A wall that meets the floor, or another wall."""
    edge = _ramp(rng, side) > rng.uniform(-0.3, 0.3)
    surfaces = np.where(edge, _colour(rng), _colour(rng))
    light = 1 + rng.uniform(0, 0.5) * _ramp(rng, side)
    return surfaces * light + _grain(rng, side, rng.uniform(0, 4))


def _darkness(rng: Rng, side: int) -> Floats:
    return _colour(rng, 0, 25) / 3 + _grain(rng, side, rng.uniform(0.5, 8))


def _glare(rng: Rng, side: int) -> Floats:
    lamp = 120 * _ramp(rng, side) + 30 * _smooth(rng, side, 2)
    return rng.uniform(235, 300) + lamp * rng.uniform(0, 1) + _grain(rng, side, 2)


def _noise(rng: Rng, side: int) -> Floats:
    coarse = _smooth(rng, side, int(rng.integers(8, side)), 3)
    return _colour(rng, 90, 170) + rng.uniform(20, 70) * (
        coarse if rng.random() < 0.5 else rng.normal(size=(side, side, 3))
    )


def _gradient(rng: Rng, side: int) -> Floats:
    one, other, ramp = _colour(rng, 0, 255), _colour(rng, 0, 255), _ramp(rng, side) + 0.5
    return one * ramp + other * (1 - ramp) + _grain(rng, side, rng.uniform(0, 3))


def _stripes(rng: Rng, side: int) -> Floats:
    """Stripes, checks or tiles of two colours."""
    waves = [np.sin(2 * np.pi * rng.uniform(2, 24) * _ramp(rng, side)) for _ in range(2)]
    pattern = waves[0] if rng.random() < 0.5 else waves[0] * waves[1]
    mixed = np.clip(0.5 + pattern * rng.uniform(0.5, 5), 0, 1)
    return _colour(rng) * mixed + _colour(rng) * (1 - mixed) + _grain(rng, side, 3)


def _wood(rng: Rng, side: int) -> Floats:
    """The grain of wood, or cloth: noise that is stretched in one direction."""
    long = _smooth(rng, side, int(rng.integers(20, 80)))[:, : max(2, side // 12)]
    rows = np.resize(np.repeat(long, 12, axis=1), (side, side, 1))
    veins = rows if rng.random() < 0.5 else rows.transpose(1, 0, 2)
    return _colour(rng) + rng.uniform(4, 20) * veins + _grain(rng, side, 3)


def _unfocused(rng: Rng, side: int) -> Floats:
    """Large blobs of colour: a room that is far out of focus, or a hand on the lens."""
    blobs = _smooth(rng, side, int(rng.integers(2, 6)), 3)
    return _colour(rng) + rng.uniform(15, 60) * blobs + _grain(rng, side, 2)


KINDS: Mapping[str, Callable[[Rng, int], Floats]] = {
    "wall": _wall,
    "corner": _corner,
    "darkness": _darkness,
    "glare": _glare,
    "noise": _noise,
    "gradient": _gradient,
    "stripes": _stripes,
    "wood": _wood,
    "unfocused": _unfocused,
}
