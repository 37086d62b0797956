"""Camera faults: noise of the sensor in poor light, blur of a lens out of focus.

Each draws one deviation a picture, uniformly from `low` to `high`: the noise's in units of a
backbone's normalised input, as in the paper, the blur's in pixels.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from robocle.evaluation.corruptions.pixels import side_of
from robocle.spec import require_between
from robocle.types import Pixels

REACH = 5  # of the blur to either side of a pixel: a kernel of 11 x 11


class Noise:
    """Additive Gaussian noise, clipped to what a pixel can hold."""

    def __init__(self, low: float = 0.1, high: float = 0.5, unit: float = 128.0) -> None:
        require_between("low", low, 0, 10)
        require_between("high", high, low, 10)
        require_between("unit", unit, 0, 255)
        self.low = low
        self.high = high
        self.unit = unit

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return noisy(pixels, self.unit * draw_deviation(rng, self.low, self.high), rng)


class Blur:
    """Gaussian blur with an 11 x 11 kernel."""

    def __init__(self, low: float = 0.5, high: float = 3.0) -> None:
        require_between("low", low, 0.01, 10)
        require_between("high", high, low, 10)
        self.low = low
        self.high = high

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return blurred(pixels, draw_deviation(rng, self.low, self.high))


def draw_deviation(rng: np.random.Generator, low: float, high: float) -> float:
    """Uniform from low to high."""
    return float(rng.uniform(low, high))


def noisy(pixels: Pixels, levels: float, rng: np.random.Generator) -> Pixels:
    """The picture with noise of this deviation, in levels of 0..255."""
    side = side_of(pixels)
    values = rng.standard_normal((side, side, 3), dtype=np.float32)
    values *= np.float32(levels)
    values += pixels
    return _to_levels(values)


def blurred(pixels: Pixels, deviation: float) -> Pixels:
    """The picture under a Gaussian of this deviation, in pixels; its edges are mirrored."""
    side_of(pixels)
    # The 11 x 11 kernel is the outer product of a column and a row: 22 products, not 121.
    values = pixels.astype(np.float32)
    for axis in (0, 1):
        values = correlate1d(values, gaussian(deviation), axis, mode="mirror")
    return _to_levels(values)


def gaussian(deviation: float) -> NDArray[np.float64]:
    """The kernel along one axis; it sums to 1.

    >>> gaussian(0.5).round(2).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.11, 0.79, 0.11, 0.0, 0.0, 0.0, 0.0]
    """
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / deviation) ** 2)
    kernel: NDArray[np.float64] = weights / weights.sum()
    return kernel


def _to_levels(values: NDArray[np.float32]) -> Pixels:
    """The nearest whole levels, as a sensor has them; the values are used up."""
    values += np.float32(0.5)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)
