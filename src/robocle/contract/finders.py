"""The rules that finders keep."""

import numpy as np
from numpy.testing import assert_array_equal

from robocle.contract.checking import Given, built, require, rules_in
from robocle.finders import Finder, finder
from robocle.finders.boxes import chosen
from robocle.types import Pixels

LIGHTS = (0, 128, 255)


def _finder(given: Given[Finder]) -> Finder:
    """Return a finder. An instance is used as it is: most cannot be copied."""
    return built(given, finder) if isinstance(given, str | type) else given


def _pictures(found: Finder) -> list[Pixels]:
    """Return pictures of noise and of one colour."""
    shape = (found.input_size, found.input_size, 3)
    plain = [np.full(shape, light, np.uint8) for light in LIGHTS]
    return [np.random.default_rng(0).integers(0, 256, shape, np.uint8), *plain]


def a_finder_describes_itself(given: Given[Finder]) -> None:
    """A finder has an input size, and the same fingerprint at each load."""
    found = _finder(given)
    require(found.input_size > 0, f"a positive input size, not {found.input_size}")
    require(bool(found.fingerprint), "a fingerprint")
    require(found.fingerprint == _finder(given).fingerprint, "the same fingerprint at each load")


def a_finder_returns_boxes_for_any_picture(given: Given[Finder]) -> None:
    """Boxes are (n, 4), relative to the sides of the picture; n may be 0."""
    found = _finder(given)
    for picture in _pictures(found):
        corners = found.corners(picture)
        chosen(corners, (640, 480), 8)
        require(corners.ndim == 2 and corners.shape[1] == 4, f"boxes (n, 4), not {corners.shape}")


def the_same_picture_has_the_same_boxes(given: Given[Finder]) -> None:
    """Finders are deterministic and leave the given pixels as they are."""
    found = _finder(given)
    for picture, unchanged in zip(_pictures(found), _pictures(found), strict=True):
        assert_array_equal(found.corners(picture), found.corners(picture))
        assert_array_equal(picture, unchanged)


FINDER_CHECKS = rules_in(globals())
"""The rules, each a function of a spec, a class or an instance."""
