"""Finders: boxes around the objects of a picture, whichever they are.

A finder says where something is, never what: its classes, if it has any, are not used. The learner
says what is in each box. There is no finder by default, and none is shipped.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocle.errors import SpecError
from robocle.registry import Registry
from robocle.spec import parse_spec
from robocle.types import Pixels

Corners = NDArray[np.float64]
"""Left, top, right and bottom of each box, (n, 4), relative to the sides of the picture."""


class Finder(Protocol):
    """The plug-in contract: what robocle needs from a finder.

    A plug-in is any class with these members. Its package lists the class under the entry point
    group "robocle.finders", and its constructor arguments are the options of the spec.
    """

    @property
    def fingerprint(self) -> str:
        """A hash that differs between any two finders that find different boxes."""

    @property
    def input_size(self) -> int:
        """The side of the square input in pixels."""

    def corners(self, pixels: Pixels) -> Corners:
        """Find boxes.

        Args:
            pixels: A picture, stretched to uint8 RGB (input_size, input_size, 3).

        Returns:
            The boxes, the likeliest first, relative to the sides of the picture: 0 to 1. They may
            overlap and reach over the edge; `robocle.finders.boxes` chooses among them.
        """


FINDERS: Registry[Finder] = Registry(
    "finder",
    {
        "onnx": "robocle.finders.detector:Detector",
        "torchvision": "robocle.finders.adding:TorchvisionDetector",
    },
)


def finder(spec: str) -> Finder:
    """Load a finder.

    Args:
        spec: Its name and options, such as "onnx:picodet.onnx,threshold=0.2".

    Raises:
        SpecError: The name or an option is unknown.
        FinderError: The finder cannot be loaded.
    """
    name = parse_spec(spec).name
    if name.endswith(".onnx") and name not in FINDERS.names():
        raise SpecError(f"unknown finder {name!r}: write onnx:{spec}")
    return FINDERS.build(spec)
