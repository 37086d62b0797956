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


def test_the_centre_is_enlarged_beside_the_whole(
    picture: Pixels,
) -> None:
    whole, centre = views("centre:share=0.5")(picture)
    assert np.array_equal(whole, picture)
    # A third of the whole is two thirds of its half.
    assert (centre == 255).mean() == pytest.approx(4 / 9, abs=0.05)
    assert (centre[[0, -1]] == 0).all()


def test_a_share_of_one_shows_the_picture_twice(
    picture: Pixels,
) -> None:
    whole, centre = views("centre:share=1")(picture)
    assert np.array_equal(whole, centre)


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(SpecError, match="share=0"):
        views("centre:share=0")


@pytest.mark.parametrize("name", VIEWS.names())
def test_every_view_keeps_the_pictures_size(name: str, picture: Pixels) -> None:
    found = views(name)(picture)
    assert found.shape[1:] == picture.shape
    assert found.dtype == np.uint8
    assert VIEWS.describe(views(VIEWS.describe(views(name)))) == VIEWS.describe(views(name))
