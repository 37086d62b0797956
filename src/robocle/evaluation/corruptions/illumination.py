"""Illumination: random brightness, contrast, saturation and hue, applied in a random order.

This follows torchvision's ColorJitter: the first three use PIL, hue is computed in floating point.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PIL import Image, ImageEnhance

from robocle.evaluation.corruptions.hue import hue_turned
from robocle.evaluation.corruptions.pixels import side_of
from robocle.spec import Described, require_between
from robocle.types import Pixels


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


def _brightened(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(factor)


def _contrasted(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Contrast(image).enhance(factor)


def _saturated(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Color(image).enhance(factor)


def _hue_turned(image: Image.Image, share: float) -> Image.Image:
    return Image.fromarray(hue_turned(np.asarray(image), share))


STEPS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "brightness": _brightened,
    "contrast": _contrasted,
    "saturation": _saturated,
    "hue": _hue_turned,
}
