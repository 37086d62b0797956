"""Views: what a learner looks at when it is taught a picture.

Views are pictures made of the one that is shown. Their vectors' mean is learnt, as one sample: they
cost time to look at and nothing else. A picture to be recognised is looked at once, as it is.
"""

from typing import Protocol

import numpy as np
from PIL import Image

from robocle.registry import Registry
from robocle.spec import require_between
from robocle.types import Pixels


class Views(Protocol):
    """A way to look at a picture that is taught."""

    def __call__(self, pixels: Pixels) -> Pixels:
        """The views (k, side, side, 3) of a picture (side, side, 3)."""


VIEWS: Registry[Views] = Registry(
    "view", {"plain": "robocle.images.views:Plain", "centre": "robocle.images.views:Centre"}
)


def views(spec: str) -> Views:
    """The views a spec describes, such as "centre:share=0.7"."""
    return VIEWS.build(spec)


class Plain:
    """The picture as it is: the paper's."""

    def __call__(self, pixels: Pixels) -> Pixels:
        return pixels[None]


class Centre:
    """The picture, and its centre enlarged: people show a thing in the middle."""

    def __init__(self, share: float = 0.67) -> None:
        require_between("share", share, 0.1, 1)
        self.share = share

    def __call__(self, pixels: Pixels) -> Pixels:
        side = len(pixels)
        margin = side * (1 - self.share) / 2
        box = (margin, margin, side - margin, side - margin)
        centre = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR, box)
        return np.stack([pixels, np.asarray(centre)])
