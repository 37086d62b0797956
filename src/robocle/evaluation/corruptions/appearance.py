"""Appearance: light, sensor noise and blur, which change the values of pixels.

Illumination follows torchvision's ColorJitter: brightness, contrast and saturation use PIL. Hue is
rotated in float32 without an HSV picture: PIL's has only 256 hues and takes three times as long.

Noise and blur draw one standard deviation per picture, uniformly from `low` to `high`. For noise it
is in units of the backbone's normalised input, as in the paper; for blur it is in pixels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance
from scipy.ndimage import gaussian_filter

from robocle.evaluation.corruptions import side_of
from robocle.spec import Described, require_between
from robocle.types import Pixels

RADIUS = 5  # of the blur kernel, in pixels: 11 x 11


@dataclass(frozen=True, slots=True)
class Light:
    """How a picture is lit; the defaults change nothing."""

    brightness: float = 1.0
    """A factor: 0 is black."""
    contrast: float = 1.0
    """A factor on the difference from the picture's mean grey."""
    saturation: float = 1.0
    """A factor on the difference from each pixel's own grey."""
    hue: float = 0.0
    """A fraction of the colour circle."""
    order: tuple[str, ...] = ("brightness", "contrast", "saturation", "hue")


class Illumination(Described):
    """Colour jitter: brightness, contrast, saturation and hue, in a random order."""

    in_words: ClassVar[str] = "in different lighting"
    advice: ClassVar[str] = "also teach it by the window, under a lamp and in the shade"
    checked: ClassVar[bool] = True

    def __init__(self, strength: float = 1.0) -> None:
        """Set how far the light may change: 1 is the paper's range, 0 changes nothing."""
        require_between("strength", strength, 0, 2)
        self.strength = strength

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return lit(pixels, draw_light(rng, self.strength))


def draw_light(rng: np.random.Generator, strength: float = 1.0) -> Light:
    """Draw from the paper's ranges, whose distance from neutral is multiplied by the strength."""
    return Light(
        brightness=1 + strength * rng.uniform(-0.5, 0.5),
        contrast=1 + strength * rng.uniform(-0.5, 0.0),
        saturation=1 + strength * rng.uniform(-0.5, 0.5),
        hue=strength * rng.uniform(-0.1, 0.1),
        order=tuple(rng.permutation(tuple(STEPS)).tolist()),
    )


def lit(pixels: Pixels, light: Light) -> Pixels:
    """Return the picture in this light."""
    side_of(pixels)
    image = Image.fromarray(pixels)
    for step in light.order:
        image = STEPS[step](image, getattr(light, step))
    return np.asarray(image)


STEPS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "brightness": lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    "contrast": lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    "saturation": lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    "hue": lambda image, share: Image.fromarray(hue_turned(np.asarray(image), share)),
}


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
    values = pixels.astype(np.float32)
    return _to_levels(gaussian_filter(values, deviation, radius=RADIUS, mode="mirror", axes=(0, 1)))


def _to_levels(values: NDArray[np.float32]) -> Pixels:
    """Round to whole pixel levels; the values are overwritten."""
    values += np.float32(0.5)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)
