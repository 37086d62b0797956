"""The rules that views keep."""

import numpy as np
from numpy.testing import assert_array_equal

from robocle.contract.checking import require
from robocle.images.views import views
from robocle.types import Pixels

SIDE = 64


def picture() -> Pixels:
    """Return square pixels."""
    return np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def views_are_pictures_of_the_same_size(spec: str) -> None:
    """Views of (side, side, 3) pixels are uint8 pixels (k, side, side, 3) with k at least 1."""
    made = views(spec)(picture())
    require(made.dtype == np.uint8, f"uint8 pixels, not {made.dtype}")
    require(made.shape[1:] == (SIDE, SIDE, 3), f"pictures of the same size, not {made.shape}")
    require(len(made) >= 1, "at least one view")


def the_picture_is_not_changed(spec: str) -> None:
    """Views leave the given pixels as they are."""
    given = picture()
    views(spec)(given)
    assert_array_equal(given, picture())


def the_same_picture_has_the_same_views(spec: str) -> None:
    """Views are deterministic."""
    assert_array_equal(views(spec)(picture()), views(spec)(picture()))


VIEW_CHECKS = (
    views_are_pictures_of_the_same_size,
    the_picture_is_not_changed,
    the_same_picture_has_the_same_views,
)
"""The rules, each a function of a spec."""
