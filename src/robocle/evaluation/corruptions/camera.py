"""Camera faults: sensor noise in poor light, and the blur of a lens that is out of focus.

Each draws one standard deviation per picture, uniformly from `low` to `high`. For noise it is in
units of the backbone's normalised input, as in the paper; for blur it is in pixels.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from robocle.evaluation.corruptions.pixels import side_of
from robocle.spec import Described, require_between
from robocle.types import Pixels

RADIUS = 5  # of the blur kernel, in pixels: 11 x 11


class Noise(Described):
    """Additive Gaussian noise, clipped to the range of a pixel."""

    in_words: ClassVar[str] = "grainy"
    advice: ClassVar[str] = "also teach it in dim light, or add more light"
    checked: ClassVar[bool] = True

    def __init__(self, low: float = 0.1, high: float = 0.5, unit: float = 128.0) -> None:
        """Set the range of the standard deviation.

        Args:
            low: The smallest standard deviation, in units of the normalised input.
            high: The largest.
            unit: One unit of the backbone's normalised input, in pixel levels.
        """
        require_between("low", low, 0, 10)
        require_between("high", high, low, 10)
        require_between("unit", unit, 0, 255)
        self.low = low
        self.high = high
        self.unit = unit

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return noisy(pixels, self.unit * draw_deviation(rng, self.low, self.high), rng)


class Blur(Described):
    """Gaussian blur with an 11 x 11 kernel."""

    in_words: ClassVar[str] = "out of focus"
    advice: ClassVar[str] = "also teach it slightly out of focus, or clean the lens"
    checked: ClassVar[bool] = True

    def __init__(self, low: float = 0.5, high: float = 3.0) -> None:
        """Set the range of the standard deviation, in pixels."""
        require_between("low", low, 0.01, 10)
        require_between("high", high, low, 10)
        self.low = low
        self.high = high

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return blurred(pixels, draw_deviation(rng, self.low, self.high))


def draw_deviation(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a standard deviation uniformly from low to high."""
    return float(rng.uniform(low, high))


def noisy(pixels: Pixels, levels: float, rng: np.random.Generator) -> Pixels:
    """Return the picture with noise of this standard deviation, in pixel levels (0 to 255)."""
    side = side_of(pixels)
    values = rng.standard_normal((side, side, 3), dtype=np.float32)
    values *= np.float32(levels)
    values += pixels
    return _to_levels(values)


def blurred(pixels: Pixels, deviation: float) -> Pixels:
    """Return the picture blurred by a Gaussian of this standard deviation, in pixels.

    Edges are mirrored.
    """
    side_of(pixels)
    # The kernel is the outer product of a column and a row: 22 products per pixel, not 121.
    values = pixels.astype(np.float32)
    for axis in (0, 1):
        values = correlate1d(values, gaussian(deviation), axis, mode="mirror")
    return _to_levels(values)


def gaussian(deviation: float) -> NDArray[np.float64]:
    """Return the blur kernel along one axis; it sums to 1.

    Example:
        >>> gaussian(0.5).round(2).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.11, 0.79, 0.11, 0.0, 0.0, 0.0, 0.0]
    """
    weights = np.exp(-0.5 * (np.arange(-RADIUS, RADIUS + 1) / deviation) ** 2)
    kernel: NDArray[np.float64] = weights / weights.sum()
    return kernel


def _to_levels(values: NDArray[np.float32]) -> Pixels:
    """Round to whole pixel levels; the values are overwritten."""
    values += np.float32(0.5)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)
