"""Views of a taught picture."""

import numpy as np
import pytest

from robocle.errors import SpecError
from robocle.images.views import VIEWS, views
from robocle.types import Pixels


@pytest.fixture
def picture() -> Pixels:
    pixels = np.zeros((96, 96, 3), np.uint8)
    pixels[32:64, 32:64] = 255  # the middle third
    return pixels


def test_plain_is_the_picture_itself(picture: Pixels) -> None:
    assert views("plain")(picture).tolist() == [picture.tolist()]


def test_centre_returns_the_picture_and_its_enlarged_centre(picture: Pixels) -> None:
    whole, centre = views("centre:share=0.5")(picture)
    assert np.array_equal(whole, picture)
    # A third of the whole side is two thirds of half the side.
    assert (centre == 255).mean() == pytest.approx(4 / 9, abs=0.05)
    assert (centre[[0, -1]] == 0).all()


def test_a_share_of_one_returns_the_picture_twice(picture: Pixels) -> None:
    whole, centre = views("centre:share=1")(picture)
    assert np.array_equal(whole, centre)


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(SpecError, match="share=0"):
        views("centre:share=0")


def test_the_repr_shows_the_options() -> None:
    assert repr(views("centre:share=0.5")) == "Centre(share=0.5)"
    assert repr(views("plain")) == "Plain()"


@pytest.mark.parametrize("name", VIEWS.names())
def test_every_view_has_the_size_of_the_picture(name: str, picture: Pixels) -> None:
    found = views(name)(picture)
    assert found.shape[1:] == picture.shape
    assert found.dtype == np.uint8
    assert VIEWS.describe(views(VIEWS.describe(views(name)))) == VIEWS.describe(views(name))
