"""Materials: the pattern of a surface and how the surface reflects light."""

from dataclasses import dataclass

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import rgb
from robocle_sim.patterns import Pattern, plain


@dataclass(frozen=True)
class Material:
    """A pattern and its optical properties.

    Attributes:
        colour: The pattern that colours the surface.
        roughness: From 0 (mirror-like) to 1 (matt).
        metallic: From 0 to 1; the colour of a metal tints its reflections.
        clear: The share of light that passes through. 0 means opaque.
        glow: The light that the surface emits, relative to its colour.
    """

    colour: Pattern
    roughness: float = 0.5
    metallic: float = 0.0
    clear: float = 0.0
    glow: float = 0.0


def glossy(colour: Pattern) -> Material:
    """Glazed ceramic, lacquer or hard plastic."""
    return Material(colour, roughness=0.22)


def satin(colour: Pattern) -> Material:
    """Ordinary plastic, paper or varnished wood."""
    return Material(colour, roughness=0.45)


def matt(colour: Pattern) -> Material:
    """Cloth, rubber or raw wood."""
    return Material(colour, roughness=0.9)


def metal(colour: Pattern, roughness: float = 0.25) -> Material:
    """Metal, whose colour tints its reflections."""
    return Material(colour, roughness=roughness, metallic=1.0)


STEEL = metal(plain(rgb(0.80, 0.81, 0.83)), 0.22)
BRASS = metal(plain(rgb(0.86, 0.70, 0.38)), 0.28)
COPPER = metal(plain(rgb(0.85, 0.54, 0.40)), 0.28)
IRON = metal(plain(rgb(0.38, 0.38, 0.40)), 0.45)


def any_metal(rng: Rng) -> Material:
    """Draw a metal; steel is twice as likely as the others."""
    return (STEEL, STEEL, BRASS, COPPER, IRON)[int(rng.integers(5))]


def glass(tint: Floats) -> Material:
    """Clear tinted glass."""
    return Material(plain(tint), roughness=0.05, clear=0.82)
