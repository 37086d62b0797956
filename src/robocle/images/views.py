"""Views: pictures made of one picture that is taught.

The learner embeds all views of a taught picture and learns the mean of their embeddings as one
sample. Views take time when a picture is taught and have no other cost. A picture that is to be
recognised is embedded once, without views.
"""

from typing import Protocol

import numpy as np
from PIL import Image

from robocle.registry import Registry
from robocle.spec import Described, require_between
from robocle.types import Pixels


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
        spec: A name of VIEWS with options, such as "centre:share=0.7".

    Returns:
        A function from a picture to its views.

    Raises:
        SpecError: The name or an option is unknown, or a value is not allowed.

    Example:
        >>> views("centre:share=0.7")
        Centre(share=0.7)
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
    """The picture and its enlarged centre, because people show an object in the middle.

    Args:
        share: The side of the centre relative to the side of the picture, from 0.1 to 1.

    Raises:
        SpecError: The share is out of range.

    Example:
        >>> Centre(share=0.5)(np.zeros((32, 32, 3), np.uint8)).shape
        (2, 32, 32, 3)
    """

    def __init__(self, share: float = 0.67) -> None:
        require_between("share", share, 0.1, 1)
        self.share = share

    def __call__(self, pixels: Pixels) -> Pixels:
        side = len(pixels)
        margin = side * (1 - self.share) / 2
        box = (margin, margin, side - margin, side - margin)
        centre = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR, box)
        return np.stack([pixels, np.asarray(centre)])
