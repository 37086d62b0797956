"""From a decoded picture or an array to a square of RGB pixels, upright.

The picture is reduced by an integer factor to a size that is still larger than the square, then
resized bilinearly. A picture that is not RGB is converted strip by strip: the result is the same as
that of converting the whole picture first, but no second copy of it is made. An array has 8 or 16
bit integers, or floating point from 0 to 1.
"""

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.errors import ImageError
from robocle.images.boxes import Region, whole_pixels
from robocle.types import Pixels

MIN_SIDE = 16
"""Pixels per side that a picture must have."""

ORIENTATION_TAG = 0x0112
STRIP_PIXELS = 1_000_000
SHOWN_SIDE = 112
_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
Corners = tuple[int, int, int, int]


def image_from_array(array: NDArray[Any]) -> Image.Image:
    """Return an array as an 8 bit picture.

    Args:
        array: (height, width), (height, width, 1), (height, width, 3) RGB or (height, width, 4)
            RGBA; uint8, uint16, or floating point from 0 to 1.

    Raises:
        ImageError: The shape, the type or a value is not that of a picture.
    """
    described = f"the {array.dtype} array of shape {array.shape}"
    values = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if not (values.ndim == 2 or (values.ndim == 3 and values.shape[2] in (3, 4))):
        raise ImageError(f"cannot use {described}: give height x width x 3, RGB{_hint(array)}")
    if values.dtype not in (np.uint8, np.uint16) and values.dtype.kind != "f":
        raise ImageError(
            f"cannot use {described}: give uint8 values from 0 to 255, for example with "
            "astype('uint8'), or floats from 0 to 1"
        )
    if min(values.shape[:2]) < MIN_SIDE:
        raise ImageError(f"cannot use {described}: give at least {MIN_SIDE}x{MIN_SIDE} pixels")
    if values.dtype == np.uint16:
        values = eight_bit(values, "the array")
    elif values.dtype != np.uint8:
        values = _from_floats(values)
    return Image.fromarray(np.ascontiguousarray(values))


def eight_bit(values: NDArray[np.integer], name: str) -> NDArray[np.uint8]:
    """Return 16 bit values as 8 bit ones.

    Raises:
        ImageError: A value is outside 0..65535.
    """
    if values.min() < 0 or values.max() > 0xFFFF:
        raise ImageError(f"{name} has pixel values outside 0..65535: save it with 8 or 16 bits")
    return (values >> 8).astype(np.uint8)


def _hint(array: NDArray[Any]) -> str:
    if array.ndim == 3 and array.shape[0] in (1, 3, 4):
        return "; if the channels come first, give array.transpose(1, 2, 0)"
    return "; give the pictures of a batch one by one" if array.ndim == 4 else ""


def _from_floats(values: NDArray[np.floating]) -> NDArray[np.uint8]:
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and high <= 1):  # NaN fails both comparisons
        raise ImageError(
            f"cannot use a {values.dtype} array with values from {low:g} to {high:g}: "
            "divide by the largest possible value, such as 255, so that they are from 0 to 1, or "
            "give uint8"
        )
    levels = values * values.dtype.type(255)
    np.rint(levels, out=levels)
    return levels.astype(np.uint8)


def orientation(image: Image.Image) -> int:
    """Return the EXIF orientation of a picture, 1 to 8."""
    found = image.getexif().get(ORIENTATION_TAG, 1)
    return int(found) if found in _TRANSPOSITIONS else 1


def upright_square(
    image: Image.Image, side: int, name: str, region: Region | None = None
) -> Pixels:
    """Return a picture, or a region of it, as (side, side, 3) uint8 RGB, upright.

    Args:
        image: The picture as it is stored.
        side: The side of the square, in pixels.
        name: What to call the picture in an error.
        region: The region to use, in pixels of the stored picture.

    Raises:
        ImageError: The pixels have values that cannot be used.
    """
    turn = _TRANSPOSITIONS.get(orientation(image))
    width, height = image.size
    left, top, right, bottom = whole_pixels(region or (0, 0, width, height))
    small = _resized(image, side, (left, top, min(right, width), min(bottom, height)), name)
    # Rotated after resizing: for a square the result is the same, at a hundredth of the cost.
    return np.asarray(small if turn is None else small.transpose(turn))


def _resized(image: Image.Image, side: int, corners: Corners, name: str) -> Image.Image:
    """Do what `Image.resize` does with a reducing_gap of 1, strip by strip if need be."""
    left, top, right, bottom = corners
    width, height = right - left, bottom - top
    factors = max(width // side, 1), max(height // side, 1)
    if image.mode == "RGB" and "transparency" not in image.info:
        reduced = image.reduce(factors, corners)
    else:
        reduced = _reduced_by_strips(image, factors, corners, name)
    used = (0, 0, width / factors[0], height / factors[1])
    return reduced.resize((side, side), Image.Resampling.BILINEAR, used)


def _reduced_by_strips(
    image: Image.Image, factors: tuple[int, int], corners: Corners, name: str
) -> Image.Image:
    left, top, right, bottom = corners
    across, down = factors
    size = math.ceil((right - left) / across), math.ceil((bottom - top) / down)
    reduced = Image.new("RGB", size)
    rows = down * max(STRIP_PIXELS // ((right - left) * down), 1)
    for start in range(top, bottom, rows):
        strip = image.crop((left, start, right, min(start + rows, bottom)))
        reduced.paste(_to_rgb(strip, name).reduce(factors), (0, (start - top) // down))
    return reduced


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode.startswith("I"):
        return Image.fromarray(eight_bit(np.asarray(image), name)).convert("RGB")
    if image.mode == "F":
        raise ImageError(f"{name} has floating-point pixels: save it with 8 or 16 bits")
    if image.has_transparency_data:
        # Transparent areas become white, whatever colour is stored under them.
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert("RGB")


def jpeg_address(content: bytes) -> str:
    """Return the bytes of a JPEG as an address for a page that stands alone."""
    return "data:image/jpeg;base64," + base64.b64encode(content).decode()


def thumbnail(pixels: Pixels) -> str:
    """Return a small copy of a picture, as an address for a page that stands alone."""
    small = Image.fromarray(pixels).resize((SHOWN_SIDE, SHOWN_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return jpeg_address(buffer.getvalue())
