"""Materials: what a surface is made of, and the colours things come in.

A colour is a pattern: a function (rest, uv) -> linear rgb, evaluated at every visible point, so
prints and wood grain stay sharp at any picture size. Colours are written as they look on a screen
(sRGB, 0..1) and turned into linear light by `rgb`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pattern = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Material:
    """A pattern and how it takes the light; `clear` is the share of light that passes through."""

    colour: Pattern
    roughness: float = 0.5
    metallic: float = 0.0
    clear: float = 0.0
    glow: float = 0.0


def rgb(*screen: float) -> Floats:
    """Turn a screen colour into linear light."""
    return np.asarray(screen, dtype=np.float64) ** 2.2


def plain(colour: Sequence[float] | Floats) -> Pattern:
    """One (linear) colour all over."""
    fixed = np.asarray(colour, dtype=np.float64)
    return lambda rest, uv: np.broadcast_to(fixed, rest.shape)


# Colours every category draws from, so that colour alone does not tell categories apart.
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


def paint(rng: np.random.Generator, *names: str) -> Floats:
    """Draw a paint, out of the named ones or out of all."""
    choices = names or tuple(PAINTS)
    return PAINTS[choices[int(rng.integers(len(choices)))]]


def other_paint(rng: np.random.Generator, than: Floats) -> Floats:
    """Draw a paint that stands out from another one."""
    far = [c for c in PAINTS.values() if float(np.abs(np.sqrt(c) - np.sqrt(than)).sum()) > 0.6]
    return far[int(rng.integers(len(far)))]


def glossy(colour: Pattern) -> Material:
    """Glazed ceramic, lacquer, hard plastic."""
    return Material(colour, roughness=0.22)


def satin(colour: Pattern) -> Material:
    """Ordinary plastic, paper, varnished wood."""
    return Material(colour, roughness=0.45)


def matt(colour: Pattern) -> Material:
    """Cloth, rubber, raw wood."""
    return Material(colour, roughness=0.9)


def metal(colour: Pattern, roughness: float = 0.25) -> Material:
    """Metal: the colour tints the reflection."""
    return Material(colour, roughness=roughness, metallic=1.0)


STEEL = metal(plain(rgb(0.80, 0.81, 0.83)), 0.22)
BRASS = metal(plain(rgb(0.86, 0.70, 0.38)), 0.28)
COPPER = metal(plain(rgb(0.85, 0.54, 0.40)), 0.28)
IRON = metal(plain(rgb(0.38, 0.38, 0.40)), 0.45)


def any_metal(rng: np.random.Generator) -> Material:
    """Draw a metal."""
    return (STEEL, STEEL, BRASS, COPPER, IRON)[int(rng.integers(5))]


def glass(tint: Floats) -> Material:
    """Clear, glossy, tinted."""
    return Material(plain(tint), roughness=0.05, clear=0.82)
