"""Views: pictures made of one picture.

The learner embeds all views of a taught picture and learns the mean of their embeddings as one
sample. A picture to recognise has views of its own, mostly fewer: each takes the time of one run of
the backbone.
"""

from typing import Protocol

import numpy as np
from PIL import Image

from robocle.errors import SpecError
from robocle.registry import Registry
from robocle.spec import Described, require_between
from robocle.types import Pixels

MOST_LOOKS = 16


class Views(Protocol):
    """The interface of a way to make views."""

    def __call__(self, pixels: Pixels) -> Pixels:
        """Return the views of a picture.

        Args:
            pixels: The picture, (side, side, 3).

        Returns:
            The views, (k, side, side, 3).
        """


VIEWS: Registry[Views] = Registry(
    "view", {"plain": "robocle.images.views:Plain", "centre": "robocle.images.views:Centre"}
)


def views(spec: str) -> Views:
    """Build views from their spec.

    Args:
        spec: A name of VIEWS with options, such as "centre:shares=0.9/0.6".

    Returns:
        A function from a picture to its views.

    Raises:
        SpecError: The name or an option is unknown, or a value is not allowed.

    Example:
        >>> views("centre:shares=0.9/0.6")
        Centre(shares='0.9/0.6')
    """
    return VIEWS.build(spec)


class Plain(Described):
    """The picture itself as the only view, as in the paper.

    Example:
        >>> Plain()(np.zeros((32, 32, 3), np.uint8)).shape
        (1, 32, 32, 3)
    """

    def __call__(self, pixels: Pixels) -> Pixels:
        return pixels[None]


class Centre(Described):
    """Looks at the centre, each nearer than the one before: people show an object in the middle.

    Args:
        shares: The side of what each look covers, relative to the side of the picture: numbers from
            0.1 to 1 (the whole picture), separated by slashes.

    Raises:
        SpecError: There are no shares, too many, or one is out of range.

    Example:
        >>> Centre(shares="0.9/0.6")(np.zeros((32, 32, 3), np.uint8)).shape
        (2, 32, 32, 3)
    """

    def __init__(self, shares: str = "1/0.8/0.67/0.5") -> None:
        self.shares = shares
        self.looks = _numbers(shares)

    def __call__(self, pixels: Pixels) -> Pixels:
        return np.stack([_look(pixels, share) for share in self.looks])


def first_share(views: Views) -> float:
    """Return the side of what the first view of a picture covers, relative to its side.

    >>> first_share(Centre("0.9/0.6")), first_share(Plain())
    (0.9, 1.0)
    """
    return views.looks[0] if isinstance(views, Centre) else 1.0


def _numbers(shares: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(number) for number in shares.split("/"))
    except ValueError:
        raise SpecError(f"cannot parse shares={shares}: give numbers, as in 0.9/0.6") from None
    require_between("the number of shares", len(numbers), 1, MOST_LOOKS)
    for number in numbers:
        require_between("shares", number, 0.1, 1)
    return numbers


def _look(pixels: Pixels, share: float) -> Pixels:
    if share == 1:
        return pixels
    side = len(pixels)
    margin = side * (1 - share) / 2
    box = (margin, margin, side - margin, side - margin)
    enlarged = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR, box)
    return np.asarray(enlarged)
