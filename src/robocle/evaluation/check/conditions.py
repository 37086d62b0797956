"""The conditions that pictures are tested in: clean, and each corruption drawn several times.

A draw is keyed by the seed, the content of the picture, the number of the draw and the corruption.
So a check can be repeated to the pixel, and it does not matter how a picture is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from robocle.backbones import Backbone
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.evaluation.embedding import content_hash
from robocle.images import to_pixels
from robocle.types import Pixels

CLEAN = "clean"
CORRUPTED = tuple(name for name in CORRUPTIONS.names() if corruption(name).checked)
CONDITIONS = (CLEAN, *CORRUPTED)
IN_WORDS = {name: corruption(name).in_words for name in CONDITIONS}


@dataclass(frozen=True)
class CorruptedPicture:
    """A picture in one condition, as the backbone gets it."""

    condition: str
    draw: int
    pixels: Pixels


@dataclass(frozen=True)
class Conditions:
    """How pictures are corrupted.

    Attributes:
        seed: Decides all draws.
        draws: How often each corruption is drawn per picture.
    """

    seed: int = 0
    draws: int = 3

    def apply(self, picture: Path | bytes, backbone: Backbone) -> Iterator[CorruptedPicture]:
        """Yield a picture clean and then under each draw of each corruption.

        Args:
            picture: The file, or its bytes.
            backbone: Decides the size of the pixels and the unit of the noise.

        Raises:
            ImageError: The picture cannot be read.
        """
        content = content_hash(picture)
        pixels = to_pixels(picture, backbone.input_size)
        yield CorruptedPicture(CLEAN, 0, pixels)
        for name in CORRUPTED:
            corrupt = corruption(name, unit=backbone.pixel_unit)
            for draw in range(self.draws):
                rng = corruption_rng(self.seed, f"{content}/{draw}", name)
                yield CorruptedPicture(name, draw, corrupt(pixels, rng))
