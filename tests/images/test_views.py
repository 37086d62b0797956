"""Views of a picture."""

import numpy as np
import pytest

from refusal import Refusal
from robocle.errors import SpecError
from robocle.images.views import views
from robocle.types import Pixels


@pytest.fixture
def picture() -> Pixels:
    pixels = np.zeros((96, 96, 3), np.uint8)
    pixels[32:64, 32:64] = 255  # the middle third
    return pixels


def test_centre_looks_at_the_enlarged_centre(picture: Pixels) -> None:
    whole, centre = views("centre:shares=1/0.5")(picture)
    assert np.array_equal(whole, picture)
    # A third of the whole side is two thirds of half the side.
    assert (centre == 255).mean() == pytest.approx(4 / 9, abs=0.05)
    assert (centre[[0, -1]] == 0).all()


def test_every_share_is_one_look(picture: Pixels) -> None:
    (near,) = views("centre:shares=0.5")(picture)
    looks = views("centre:shares=0.5/1/0.5")(picture)
    assert np.array_equal(looks, [near, picture, near])


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ("0", "shares=0.0 is out of range: give 0.1 to 1"),
        ("0.5/1.2", "shares=1.2 is out of range: give 0.1 to 1"),
        ("nan", "shares=nan is out of range: give 0.1 to 1"),
        ("0.5/", "cannot parse shares=0.5/: give numbers, as in 0.9/0.6"),
        ("/".join("1" * 17), "the number of shares=17 is out of range: give 1 to 16"),
    ],
)
def test_shares_that_cannot_be_used_are_refused(shares: str, reason: str, refusal: Refusal) -> None:
    assert refusal(SpecError, lambda: views(f"centre:shares={shares}")) == reason
