"""The conditions a thing is met in: as it is, and under each corruption, drawn anew several times.

A draw is keyed by the seed, the picture's content, its number and the corruption: a check can be
repeated to the pixel, and a picture that is moved or renamed is seen as before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from robocle.backbones import Backbone
from robocle.evaluation.corruptions import corruption, corruption_rng
from robocle.evaluation.embedding import content_hash
from robocle.images import to_pixels
from robocle.types import Pixels

CLEAN = "clean"
CHANGED = ("illum", "geom", "noise", "blur")
CONDITIONS = (CLEAN, *CHANGED)

IN_WORDS = {
    "clean": "as it is",
    "illum": "in other light",
    "geom": "turned or moved",
    "noise": "grainy",
    "blur": "out of focus",
}


@dataclass(frozen=True)
class Meeting:
    """One way a picture is met."""

    condition: str
    draw: int
    pixels: Pixels


@dataclass(frozen=True)
class Conditions:
    """Which draws are made, and how many of each corruption."""

    seed: int = 0
    draws: int = 3

    def meetings(self, picture: Path, backbone: Backbone) -> Iterator[Meeting]:
        """A picture as the backbone gets it, first as it is, then in every changed condition."""
        content = content_hash(picture)
        pixels = to_pixels(picture, backbone.input_size)
        yield Meeting(CLEAN, 0, pixels)
        for name in CHANGED:
            change = corruption(name, unit=backbone.pixel_unit)
            for draw in range(self.draws):
                rng = corruption_rng(self.seed, f"{content}/{draw}", name)
                yield Meeting(name, draw, change(pixels, rng))
