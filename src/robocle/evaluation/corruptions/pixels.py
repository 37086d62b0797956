"""Checks of the pixels that corruptions take."""

import numpy as np

from robocle.errors import ImageError
from robocle.types import Pixels


def side_of(pixels: Pixels) -> int:
    """Return the side of one square picture.

    Raises:
        ImageError: The array is not one square picture of uint8 RGB pixels.

    Example:
        >>> side_of(np.zeros((224, 224, 3), np.uint8))
        224
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape != (len(pixels),) * 2 + (3,):
        raise ImageError(
            "a corruption takes one picture as square uint8 RGB pixels, not a "
            f"{pixels.dtype} array of shape {pixels.shape}: make them with robocle.images.to_pixels"
        )
    return len(pixels)
