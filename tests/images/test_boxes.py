"""A box selects the same region of the upright picture, however the picture is stored."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from picture_files import ORIENTATIONS, encoded_with_orientation
from refusal import Refusal
from robocle.errors import ImageError
from robocle.images.reading import read, to_pixels

SIDE = 64
BOX = (200, 100, 240, 280)
"""Around the red ball of the photo."""


def cropped(picture: Image.Image) -> NDArray[np.uint8]:
    x, y, width, height = BOX
    return to_pixels(picture.crop((x, y, x + width, y + height)), SIDE)


def test_a_box_gives_the_pixels_of_the_cropped_picture(photo: NDArray[np.uint8]) -> None:
    boxes: list[Any] = [BOX, list(BOX), np.array(BOX, float)]
    for box in boxes:
        found = read(photo, SIDE, box)
        assert np.array_equal(found.pixels, cropped(Image.fromarray(photo)))
        assert found.size == (240, 280)
    assert read(photo, SIDE, (-50, -50, 100, 120)).size == (50, 70)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_box_is_given_in_the_upright_picture(orientation: int, photo: NDArray[np.uint8]) -> None:
    upright = Image.fromarray(photo)
    content = encoded_with_orientation(photo, orientation, format="PNG")
    with Image.open(BytesIO(content)) as image:
        assert ImageOps.exif_transpose(image).size == upright.size
    found = to_pixels(content, SIDE, BOX)
    # Halving starts at the stored corner, so rotated pictures differ a little at sharp edges.
    assert np.abs(found.astype(int) - cropped(upright)).mean() < 1


def test_a_jpeg_is_decoded_as_large_as_the_box_needs(photo_jpeg: Path) -> None:
    small_box = (300, 200, 40, 40)
    with Image.open(photo_jpeg) as image:
        image.load()
        exact = to_pixels(image, SIDE, small_box)
    found = to_pixels(photo_jpeg, SIDE, small_box)
    assert np.array_equal(found, exact)


@pytest.mark.parametrize(
    ("box", "why"),
    [
        ((0, 0, 10, 10), "covers 10x10 pixels"),
        ((700, 0, 100, 100), "covers 0x100 pixels"),
        ((0, 0, -20, 100), "covers 0x100 pixels"),
        ((0, 0, 100), "four numbers"),
        ("0,0,100,100", "four numbers"),
        (7, "four numbers"),
        ((0, 0, float("nan"), 100), "not finite"),
        (np.array([0, 5, 10, 10]), "the box (0, 5, 10, 10) covers"),
        ((0.5, 5, 10, 10), "the box (0.5, 5, 10, 10) covers"),
    ],
)
def test_an_unusable_box_is_refused_in_one_line(
    box: Any, why: str, photo: NDArray[np.uint8], refusal: Refusal
) -> None:
    assert why in refusal(ImageError, lambda: to_pixels(photo, SIDE, box))
