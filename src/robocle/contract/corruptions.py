"""The rules that every corruption keeps."""

import numpy as np
from numpy.testing import assert_array_equal

from robocle.contract.checking import require, require_raises
from robocle.errors import ImageError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.types import Pixels

SIDE = 224


def texture(side: int = SIDE) -> Pixels:
    """Return square pixels with all levels."""
    return np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)


def applied(spec: str, pixels: Pixels, key: str = "mug/0.jpg") -> Pixels:
    """Return the corrupted pixels, drawn for one picture's key."""
    return corruption(spec)(pixels, corruption_rng(0, key, spec))


def pixels_stay_square_rgb_bytes(spec: str) -> None:
    """The result has the shape and type of the given pixels."""
    for side in (16, 224, 225):
        result = applied(spec, texture(side))
        require(result.shape == (side, side, 3), f"({side}, {side}, 3), not {result.shape}")
        require(result.dtype == np.uint8, f"uint8 pixels, not {result.dtype}")


def the_given_pixels_are_not_changed(spec: str) -> None:
    """A corruption works on a copy."""
    pixels = texture()
    applied(spec, pixels)
    assert_array_equal(pixels, texture())


def read_only_pixels_are_accepted(spec: str) -> None:
    """Pixels that may not be written are corrupted like any others."""
    pixels = texture()
    pixels.flags.writeable = False
    assert_array_equal(applied(spec, pixels), applied(spec, texture()))


def the_memory_layout_does_not_matter(spec: str) -> None:
    """Pixels with colour planes first or last in memory have the same result."""
    pixels = texture()
    planes_first = np.ascontiguousarray(pixels.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert_array_equal(applied(spec, planes_first), applied(spec, pixels))


def the_result_depends_on_the_generator_alone(spec: str) -> None:
    """Equal generators give equal pixels, in whatever order pictures are corrupted."""
    keys = [f"mug/{i}.jpg" for i in range(5)]
    corrupt = corruption(spec)
    forwards = {key: corrupt(texture(), corruption_rng(0, key, spec)) for key in keys}
    for key in keys[::-1]:
        assert_array_equal(corrupt(texture(), corruption_rng(0, key, spec)), forwards[key])
        assert_array_equal(applied(spec, texture(), key), forwards[key])


def its_description_builds_it_again(spec: str) -> None:
    """The spec that the table writes out gives the same pixels."""
    described = CORRUPTIONS.describe(corruption(spec))
    assert_array_equal(applied(described, texture()), applied(spec, texture()))


def it_has_words_for_the_robustness_check(spec: str) -> None:
    """`checked`, `in_words` and `advice` say whether it is tried, what it is, and what helps."""
    made = corruption(spec)
    require(isinstance(made.checked, bool), f"True or False as checked, not {made.checked}")
    require(bool(made.in_words), "a text in_words")
    require(bool(made.advice), "a text advice")


def other_arrays_are_refused(spec: str) -> None:
    """Anything but one picture as square uint8 RGB pixels raises ImageError."""
    for shape, dtype in (
        ((2, 32, 32, 3), np.uint8),
        ((32, 48, 3), np.uint8),
        ((32, 32), np.uint8),
        ((32, 32, 4), np.uint8),
        ((32, 32, 3), np.float32),
    ):
        wrong = np.zeros(shape, dtype)
        require_raises(ImageError, f"{wrong.dtype} pixels of shape {shape}", applied, spec, wrong)


CORRUPTION_CHECKS = (
    pixels_stay_square_rgb_bytes,
    the_given_pixels_are_not_changed,
    read_only_pixels_are_accepted,
    the_memory_layout_does_not_matter,
    the_result_depends_on_the_generator_alone,
    its_description_builds_it_again,
    it_has_words_for_the_robustness_check,
    other_arrays_are_refused,
)
"""The rules, each a function of a spec."""
