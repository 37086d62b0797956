"""Frames that wait: the next ones for a request to teach, and images for the boxes in them.

A detector needs time, so its boxes come after their image; sometimes they come before. A few images
wait for their boxes, and the newest boxes for their image. Both have the same stamp.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from robocle.ros.encodings import RosPicture

MOST_FRAMES = 100
"""How many frames one request may ask for. They are kept in memory until all have come."""
WAITING = 30
"""How many images wait for their boxes: one second of a usual camera."""

Then = Callable[[list[RosPicture]], None]
Image = TypeVar("Image")
Boxes = TypeVar("Boxes")


@dataclass(eq=False)
class _Request:
    count: int
    end: float
    then: Then
    pictures: list[RosPicture] = field(default_factory=list)


class AwaitedFrames:
    """Requests for the next frames. All methods are called by one thread.

    Example:
        >>> frames = AwaitedFrames()
        >>> frames.request(2, seconds=30, then=print)
        >>> frames.offer(b"1"), frames.offer(b"2")
        [b'1', b'2']
        (None, None)
    """

    def __init__(self) -> None:
        self._requests: list[_Request] = []

    def request(self, count: int, seconds: float, then: Then) -> None:
        """Ask for the next frames.

        Args:
            count: How many.
            seconds: How long to wait for them.
            then: Called with the frames; with fewer if the others do not come in time.
        """
        self._requests.append(_Request(count, time.monotonic() + seconds, then))

    def offer(self, picture: RosPicture) -> None:
        """Add a frame to every request."""
        for request in self._requests:
            request.pictures.append(picture)
        self._finish(lambda request: len(request.pictures) >= request.count)

    def expire(self) -> None:
        """End the requests that have waited long enough."""
        now = time.monotonic()
        self._finish(lambda request: now >= request.end)

    def cancel(self) -> None:
        """End all requests, because no more frames will come."""
        self._finish(lambda _: True)

    def __bool__(self) -> bool:
        return bool(self._requests)

    def _finish(self, is_over: Callable[[_Request], bool]) -> None:
        over = [request for request in self._requests if is_over(request)]
        self._requests = [request for request in self._requests if request not in over]
        for request in over:
            request.then(request.pictures)


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
