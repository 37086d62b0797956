"""The two ends of the scale: nothing at all, and everything at once."""

import numpy as np

from robocle.evaluation.corruptions.camera import Noise
from robocle.evaluation.corruptions.geometry import Geometry
from robocle.evaluation.corruptions.illumination import Illumination
from robocle.evaluation.corruptions.pixels import side_of
from robocle.spec import require_between
from robocle.types import Pixels


class Clean:
    """The picture as it is."""

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        side_of(pixels)
        return pixels


class All:
    """Illumination, then geometry, then noise."""

    def __init__(self, strength: float = 1.0, unit: float = 128.0) -> None:
        require_between("strength", strength, 0, 2)
        self.strength = strength
        self.unit = unit
        noise = Noise()
        self._parts = (
            Illumination(strength),
            Geometry(strength),
            Noise(low=strength * noise.low, high=strength * noise.high, unit=unit),
        )

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        for part in self._parts:
            pixels = part(pixels, rng)
        return pixels
