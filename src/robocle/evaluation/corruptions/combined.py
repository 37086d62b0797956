"""No corruption, and several corruptions at once."""

from typing import ClassVar

import numpy as np

from robocle.evaluation.corruptions import Corruption, side_of
from robocle.evaluation.corruptions.appearance import Blur, Illumination, Noise
from robocle.evaluation.corruptions.geometry import Geometry
from robocle.spec import Described, require_between
from robocle.types import Pixels


class Clean(Described):
    """The unchanged picture."""

    in_words: ClassVar[str] = "as it is"
    advice: ClassVar[str] = "teach two more pictures, with the object turned or moved"
    checked: ClassVar[bool] = False  # `robocle check` always tests clean pictures as the baseline

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        side_of(pixels)
        return pixels


class _Several(Described):
    """Corruptions one after another."""

    checked: ClassVar[bool] = False  # its components are tested one by one
    _components: tuple[Corruption, ...]

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        for corrupt in self._components:
            pixels = corrupt(pixels, rng)
        return pixels


class All(_Several):
    """Illumination, then geometry, then noise."""

    in_words: ClassVar[str] = "in different lighting, turned or moved, and grainy"
    advice: ClassVar[str] = "also teach it in other lighting, poses and places"

    def __init__(self, strength: float = 1.0, unit: float = 128.0) -> None:
        """Scale the components.

        Args:
            strength: Scales every range of the components: 1 is the paper's, 0 changes nothing.
            unit: One unit of the backbone's normalised input, in pixel levels.
        """
        require_between("strength", strength, 0, 2)
        self.strength = strength
        self.unit = unit
        noise = Noise()
        self._components = (
            Illumination(strength),
            Geometry(strength),
            Noise(low=strength * noise.low, high=strength * noise.high, unit=unit),
        )


class AllBlur(_Several):
    """Illumination, then geometry, then blur: `all` with the paper's noise read as blur."""

    in_words: ClassVar[str] = "in different lighting, turned or moved, and out of focus"
    advice: ClassVar[str] = All.advice

    def __init__(self, strength: float = 1.0, low: float = 0.1, high: float = 0.5) -> None:
        """Scale the components.

        Args:
            strength: Scales the ranges of illumination and geometry: 1 is the paper's.
            low: The smallest standard deviation of the blur, in pixels.
            high: The largest; the range is the paper's.
        """
        require_between("strength", strength, 0, 2)
        self.strength, self.low, self.high = strength, low, high
        self._components = (Illumination(strength), Geometry(strength), Blur(low, high))
