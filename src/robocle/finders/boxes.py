"""Which boxes of a finder are looked at, and how boxes overlap."""

import math

import numpy as np

from robocle.errors import FinderError
from robocle.finders import Corners
from robocle.images.square import MIN_SIDE

Size = tuple[int, int]
PixelBox = tuple[float, float, float, float]
"""x, y, width and height in pixels of the upright picture."""

CONSIDERED = 300
"""The likeliest boxes of a finder that are considered at all."""
SAME_BOX = 0.6
"""Two boxes are about the same if their intersection is this fraction of their union."""
WHOLE = 0.85
"""A square that covers this fraction of the picture shows no more than the whole picture."""
SMALLEST = 0.04
"""The smallest side of a box, relative to the shorter side of the picture."""
MARGIN = 0.1
"""What is seen around a box, on each side, relative to its longer side."""


def chosen(corners: Corners, size: Size, most: int) -> list[PixelBox]:
    """Return the boxes to look at, the likeliest first.

    Boxes are cut off at the edge of the picture. Those that are not finite or tiny, whose square is
    about the whole picture, or that are about the same as a likelier one are left out.

    Args:
        corners: The boxes of a finder.
        size: Width and height of the picture.
        most: How many boxes to return, at most.

    Raises:
        FinderError: What the finder returned is no array of boxes.

    >>> found = np.array([[0.1, 0.2, 0.4, 1.2], [0.1, 0.2, 0.41, 1.0], [0.0, 0.0, 1.0, 0.5]])
    >>> chosen(found, (100, 50), most=8)
    [(10.0, 10.0, 30.0, 40.0)]
    """
    found = _boxes(corners)[:CONSIDERED]
    inside = np.clip(found[np.isfinite(found).all(axis=1)], 0, 1) * np.array([*size, *size])
    kept: list[PixelBox] = []
    for left, top, right, bottom in inside.tolist():
        box = (left, top, right - left, bottom - top)
        if len(kept) == most:
            break
        if _is_usable(box, size) and not any(overlap(box, other) > SAME_BOX for other in kept):
            kept.append(box)
    return kept


def looked_at(box: PixelBox, size: Size) -> PixelBox:
    """Return the square around a box that is embedded: an object keeps its shape, and has a margin.

    Where the picture ends, the square is moved; if it is larger than the picture, it is cut off.

    >>> looked_at((10, 10, 30, 40), (100, 50))
    (1.0, 2.0, 48.0, 48.0)
    """
    x, y, width, height = box
    side = max(width, height) * (1 + 2 * MARGIN)
    left, across = _placed(x + width / 2, side, size[0])
    top, down = _placed(y + height / 2, side, size[1])
    return left, top, across, down


def overlap(one: PixelBox, other: PixelBox) -> float:
    """Return the intersection over the union of two boxes; 0 if a box is empty or not finite.

    >>> overlap((0, 0, 10, 10), (5, 0, 10, 10)), overlap((0, 0, 0, 0), (0, 0, 0, 0))
    (0.3333333333333333, 0.0)
    """
    shared = _intersection(one, other)
    return shared / (area(one) + area(other) - shared) if shared > 0 else 0.0


def covered(one: PixelBox, other: PixelBox) -> float:
    """Return the fraction of the smaller of two boxes that the other one covers; 0 as above.

    >>> covered((0, 0, 10, 10), (5, 0, 10, 100))
    0.5
    """
    shared = _intersection(one, other)
    return shared / min(area(one), area(other)) if shared > 0 else 0.0


def _boxes(corners: Corners) -> Corners:
    try:
        found = np.asarray(corners, np.float64)
    except (TypeError, ValueError) as error:
        raise FinderError(f"the finder returned no boxes ({error}): check it") from error
    if found.size and (found.ndim != 2 or found.shape[1] != 4):
        raise FinderError(
            f"the finder returned an array of shape {found.shape}: boxes are (n, 4), with left, "
            "top, right and bottom"
        )
    return found.reshape(-1, 4)


def _is_usable(box: PixelBox, size: Size) -> bool:
    smallest = max(MIN_SIDE, SMALLEST * min(size))
    return min(box[2:]) >= smallest and area(looked_at(box, size)) < WHOLE * size[0] * size[1]


def _placed(middle: float, side: float, limit: int) -> tuple[float, float]:
    side = min(side, float(limit))
    return min(max(middle - side / 2, 0.0), limit - side), side


def area(box: PixelBox) -> float:
    """Return the area of a box in pixels."""
    return box[2] * box[3]


def _intersection(one: PixelBox, other: PixelBox) -> float:
    sides = (
        min(one[axis] + one[axis + 2], other[axis] + other[axis + 2]) - max(one[axis], other[axis])
        for axis in (0, 1)
    )
    return math.prod(max(side, 0.0) for side in sides)
