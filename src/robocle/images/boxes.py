"""Boxes: a region of a picture to use instead of the whole.

A box is (x, y, width, height) in pixels of the upright picture, x to the right and y down from its
top left corner, as detectors give it. A file may store the picture turned or mirrored and say so in
its EXIF orientation, so the box is first mapped to the picture as it is stored.
"""

import math
from collections.abc import Sequence

from robocle.errors import ImageError

Box = Sequence[float]
Region = tuple[float, float, float, float]
"""Left, top, right and bottom in the stored picture."""
Size = tuple[int, int]


def region_of(
    box: Box, stored: Size, orientation: int = 1, *, smallest: int = 1, name: str = "the picture"
) -> Region:
    """Return the region of a stored picture that a box of the upright picture covers.

    A box that reaches over the edge is cut off there.

    Args:
        box: (x, y, width, height) in pixels of the upright picture.
        stored: Width and height of the stored picture.
        orientation: The EXIF orientation, 1 to 8.
        smallest: How many pixels a side of the region must have.
        name: What to call the picture in an error.

    Raises:
        ImageError: The box is not four numbers, or covers too little of the picture.

    >>> region_of((10, 20, 30, 40), stored=(640, 480))
    (10.0, 20.0, 40.0, 60.0)
    """
    x, y, width, height = _numbers(box, name)
    upright_width, upright_height = stored if orientation < 5 else stored[::-1]
    left, right = _clipped(x, x + width, upright_width)
    top, bottom = _clipped(y, y + height, upright_height)
    if right - left < smallest or bottom - top < smallest:
        given = _written((x, y, width, height))
        raise ImageError(
            f"the box {given} covers {max(right - left, 0):g}x{max(bottom - top, 0):g} pixels "
            f"of {name}, which has {upright_width}x{upright_height}: give (x, y, width, height) "
            f"with at least {smallest} pixels per side inside the picture"
        )
    return _stored((left, top, right, bottom), stored, orientation)


def scaled(region: Region, before: Size, after: Size) -> Region:
    """Return the same region of a picture that was resized."""
    across, down = after[0] / before[0], after[1] / before[1]
    left, top, right, bottom = region
    return left * across, top * down, right * across, bottom * down


def whole_pixels(region: Region) -> tuple[int, int, int, int]:
    """Return the region rounded outwards to whole pixels.

    >>> whole_pixels((10.2, 20.0, 40.5, 60.0))
    (10, 20, 41, 60)
    """
    left, top, right, bottom = region
    return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)


def _numbers(box: Box, name: str) -> tuple[float, float, float, float]:
    try:
        x, y, width, height = (float(number) for number in box)
    except (TypeError, ValueError) as error:
        raise ImageError(
            f"a box of {name} is four numbers (x, y, width, height), not {box!r}"
        ) from error
    if not all(map(math.isfinite, (x, y, width, height))):
        raise ImageError(
            f"the box {_written((x, y, width, height))} of {name} has numbers that are not finite"
        )
    return x, y, width, height


def _written(box: Region) -> str:
    """Return a box as text, with whole numbers written as such and without the types of numpy."""
    return str(tuple(int(number) if number.is_integer() else number for number in box))


def _clipped(low: float, high: float, size: int) -> tuple[float, float]:
    return min(max(low, 0.0), float(size)), min(max(high, 0.0), float(size))


def _stored(upright: Region, stored: Size, orientation: int) -> Region:
    """Undo an EXIF orientation: transposed ones swap the axes, others may mirror each axis."""
    left, top, right, bottom = upright
    if orientation >= 5:
        left, top, right, bottom = top, left, bottom, right
    width, height = stored
    if orientation in (2, 3, 7, 8):
        left, right = width - right, width - left
    if orientation in (3, 4, 6, 7):
        top, bottom = height - bottom, height - top
    return left, top, right, bottom
