"""Colours of the rendered objects.

Colours are written as they look on a screen (sRGB, 0 to 1) and converted to linear light by `rgb`.
All categories draw from the same paints, so that colour alone does not tell categories apart.
"""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats


def rgb(*screen: float) -> Floats:
    """Convert a screen colour to linear light.

    >>> rgb(1.0, 0.5, 0.0).round(3).tolist()
    [1.0, 0.218, 0.0]
    """
    return np.asarray(screen, dtype=np.float64) ** 2.2


PAINTS: dict[str, Floats] = {
    "white": rgb(0.93, 0.92, 0.89),
    "cream": rgb(0.90, 0.84, 0.70),
    "grey": rgb(0.55, 0.56, 0.58),
    "charcoal": rgb(0.20, 0.21, 0.23),
    "red": rgb(0.78, 0.14, 0.13),
    "orange": rgb(0.90, 0.47, 0.13),
    "yellow": rgb(0.93, 0.78, 0.20),
    "green": rgb(0.22, 0.52, 0.27),
    "mint": rgb(0.56, 0.80, 0.69),
    "teal": rgb(0.08, 0.48, 0.52),
    "blue": rgb(0.15, 0.33, 0.68),
    "sky": rgb(0.48, 0.70, 0.87),
    "navy": rgb(0.12, 0.17, 0.36),
    "purple": rgb(0.45, 0.25, 0.56),
    "pink": rgb(0.90, 0.55, 0.62),
    "brown": rgb(0.42, 0.26, 0.16),
}


def paint(rng: Rng, *names: str) -> Floats:
    """Draw one of the named paints, or any paint if no names are given."""
    choices = names or tuple(PAINTS)
    return PAINTS[choices[int(rng.integers(len(choices)))]]


def other_paint(rng: Rng, than: Floats) -> Floats:
    """Draw a paint that contrasts with a given colour."""
    far = [c for c in PAINTS.values() if float(np.abs(np.sqrt(c) - np.sqrt(than)).sum()) > 0.6]
    return far[int(rng.integers(len(far)))]
