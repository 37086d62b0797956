"""Matching the boxes of a detector with the image that they belong to.

A detector needs time, so its boxes come after their image; sometimes they come before. A few images
wait for their boxes, and the newest boxes for their image. Both have the same stamp.
"""

import threading
from collections import deque
from typing import Generic, TypeVar

Image = TypeVar("Image")
Boxes = TypeVar("Boxes")

WAITING = 30
"""How many images wait for their boxes: one second of a usual camera."""


class StampMatcher(Generic[Image, Boxes]):
    """Pairs images and boxes by their stamps, from any thread.

    Args:
        tolerance: By how many nanoseconds two stamps may differ.
        waiting: How many images wait at most; the oldest is dropped.

    Example:
        >>> matcher = StampMatcher[str, str](tolerance=5)
        >>> matcher.image(100, "image"), matcher.boxes(103, "boxes")
        (None, 'image')
    """

    def __init__(self, tolerance: int = 0, waiting: int = WAITING) -> None:
        self._tolerance = tolerance
        self._images: deque[tuple[int, Image]] = deque(maxlen=waiting)
        self._boxes: tuple[int, Boxes] | None = None
        self._guard = threading.Lock()
        self.unmatched = 0
        """How many boxes came for which there was no image."""

    def image(self, stamp: int, image: Image) -> Boxes | None:
        """Add an image, and return its boxes if they came before."""
        with self._guard:
            if self._boxes is not None and self._fits(self._boxes[0], stamp):
                boxes = self._boxes[1]
                self._boxes = None
                return boxes
            self._images.append((stamp, image))
            return None

    def boxes(self, stamp: int, boxes: Boxes) -> Image | None:
        """Add boxes, and return their image if it came before. Older images are dropped."""
        with self._guard:
            fitting = [each for each in self._images if self._fits(each[0], stamp)]
            if not fitting:
                self.unmatched += self._boxes is not None
                self._boxes = (stamp, boxes)
                return None
            found = min(fitting, key=lambda each: abs(each[0] - stamp))
            while self._images and self._images[0][0] <= found[0]:
                self._images.popleft()
            return found[1]

    def _fits(self, one: int, other: int) -> bool:
        return abs(one - other) <= self._tolerance
