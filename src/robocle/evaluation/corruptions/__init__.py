"""Corruptions: the simulated conditions that an object may be seen in.

    rng = corruption_rng(seed=0, image_key="mug_01/0.jpg", corruption_name="geom")
    corruption("geom:strength=0.5")(pixels, rng)

A corruption is a function (pixels, rng) -> pixels. The caller owns the generator, so two learners
tested with the same seed see the same pixels. A new corruption is one class and one line in
`CORRUPTIONS`: experiments can then use it, and so can `robocle check`.
"""

from typing import ClassVar, Protocol

import numpy as np

from robocle._internal.randomness import Key, keyed_rng
from robocle.errors import ImageError
from robocle.registry import Registry
from robocle.spec import Option, parse_spec
from robocle.types import Pixels

__all__ = ["CORRUPTIONS", "Corruption", "corruption", "corruption_rng", "side_of"]


class Corruption(Protocol):
    """The interface of a corruption."""

    in_words: ClassVar[str]
    """The condition in words, as `robocle check` shows it: "in different lighting"."""
    advice: ClassVar[str]
    """What to do about an object that is not recognised in this condition."""
    checked: ClassVar[bool]
    """Whether `robocle check` tests it."""

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Return a corrupted copy of one square picture (side, side, 3)."""


CORRUPTIONS: Registry[Corruption] = Registry(
    "corruption",
    {
        "clean": "robocle.evaluation.corruptions.combined:Clean",
        "illum": "robocle.evaluation.corruptions.appearance:Illumination",
        "geom": "robocle.evaluation.corruptions.geometry:Geometry",
        "noise": "robocle.evaluation.corruptions.appearance:Noise",
        "blur": "robocle.evaluation.corruptions.appearance:Blur",
        "all": "robocle.evaluation.corruptions.combined:All",
        "all_blur": "robocle.evaluation.corruptions.combined:AllBlur",
    },
)


def corruption(spec: str, **context: Option) -> Corruption:
    """Return the corruption that a spec describes.

    Args:
        spec: The name and options of the corruption, such as "noise:low=0.1,high=0.3".
        context: Values for options that the spec does not set, such as `unit`: one unit of the
            backbone's normalised input, in pixel levels.

    Raises:
        SpecError: The spec names an unknown corruption or option.

    Example:
        >>> corruption("geom:strength=0.5")
        Geometry(strength=0.5, shear_unit='degrees')
    """
    return CORRUPTIONS.build(spec, **context)


def corruption_rng(seed: int, image_key: Key, corruption_name: str) -> np.random.Generator:
    """Return the random generator for a seed, a picture and a corruption.

    The options of a spec are not part of the key. At a greater strength, a picture is therefore
    changed in the same way, only further.

    Args:
        seed: The seed of all draws of an evaluation.
        image_key: Identifies the picture, such as its path or the hash of its content.
        corruption_name: The name or the spec of the corruption.

    Example:
        >>> full, half = (corruption_rng(0, "mug_01/0.jpg", f"geom:strength={s}") for s in (1, 0.5))
        >>> float(full.random()) == float(half.random())
        True
    """
    return keyed_rng(seed, "corruption", parse_spec(corruption_name).name, image_key)


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
