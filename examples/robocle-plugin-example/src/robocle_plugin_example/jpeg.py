"""Strong JPEG compression, as on a slow radio link."""

import io
from typing import ClassVar

import numpy as np
from PIL import Image

from robocle.evaluation.corruptions import side_of
from robocle.spec import Described, require_between
from robocle.types import Pixels


class JpegCompression(Described):
    """JPEG compression with a quality that is drawn between two bounds.

    Args:
        low: The lowest quality, from 1 to 95.
        high: The highest quality, from `low` to 95.

    Raises:
        SpecError: An option is out of range.

    Example:
        >>> pixels = np.zeros((32, 32, 3), np.uint8)
        >>> JpegCompression()(pixels, np.random.default_rng(0)).shape
        (32, 32, 3)
    """

    in_words: ClassVar[str] = "strongly compressed"
    advice: ClassVar[str] = "also teach compressed pictures, or send pictures of better quality"
    checked: ClassVar[bool] = True

    def __init__(self, low: int = 5, high: int = 20) -> None:
        require_between("low", low, 1, 95)
        require_between("high", high, low, 95)
        self.low = low
        self.high = high

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Return the pixels after compression."""
        side_of(pixels)
        quality = int(rng.integers(self.low, self.high + 1))
        file = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(pixels)).save(file, "JPEG", quality=quality)
        return np.array(Image.open(file))
