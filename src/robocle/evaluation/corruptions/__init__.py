"""Corruptions: the conditions an object may be met in.

    rng = corruption_rng(seed=0, image_key="mug_01/0.jpg", corruption_name="geom")
    corruption("geom:strength=0.5")(pixels, rng)

A corruption is called with the square pixels a backbone gets and a generator, and gives pixels of
the same kind. The caller owns the generator, so two learners tested with the same seed see the
same pixels.
"""

from typing import Protocol

import numpy as np

from robocle.randomness import Key, keyed_rng
from robocle.registry import Registry
from robocle.spec import Option, parse_spec
from robocle.types import Pixels

__all__ = ["CORRUPTIONS", "Corruption", "corruption", "corruption_rng"]


class Corruption(Protocol):
    """What the rest of robocle needs of a corruption."""

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels: ...


CORRUPTIONS: Registry[Corruption] = Registry(
    "corruption",
    {
        "clean": "robocle.evaluation.corruptions.combined:Clean",
        "illum": "robocle.evaluation.corruptions.illumination:Illumination",
        "geom": "robocle.evaluation.corruptions.geometry:Geometry",
        "noise": "robocle.evaluation.corruptions.camera:Noise",
        "blur": "robocle.evaluation.corruptions.camera:Blur",
        "all": "robocle.evaluation.corruptions.combined:All",
    },
)


def corruption(spec: str, **context: Option) -> Corruption:
    """The corruption a spec describes, such as "noise:low=0.1,high=0.3".

    The context fills what the spec leaves open: `unit`, the backbone's normalised unit in levels.
    """
    return CORRUPTIONS.build(spec, **context)


def corruption_rng(seed: int, image_key: Key, corruption_name: str) -> np.random.Generator:
    """The generator that belongs to this seed, this picture and this corruption.

    The options of a spec do not count: a picture is turned the same way at every strength, only
    further.

    >>> full, half = (corruption_rng(0, "mug_01/0.jpg", f"geom:strength={s}") for s in (1, 0.5))
    >>> float(full.random()) == float(half.random())
    True
    """
    return keyed_rng(seed, "corruption", parse_spec(corruption_name).name, image_key)
