"""Arrays as pictures: 8 or 16 bit integers, or floating point from 0 to 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.errors import ImageError

MIN_SIDE = 16
"""Pixels per side that a picture must have."""


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
    return Image.fromarray(np.ascontiguousarray(_eight_bit(values)))


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


def _eight_bit(values: NDArray[Any]) -> NDArray[np.uint8]:
    if values.dtype == np.uint16:
        return eight_bit(values, "the array")
    return values if values.dtype == np.uint8 else _from_floats(values)


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
