"""Frames that wait: for a request to teach, for the boxes in them, and for the slow work.

A detector needs time, so its boxes come after their image; sometimes they come before. A few images
wait for their boxes, and the newest boxes for their image. Both have the same stamp.

One thread does the slow work, always with the newest image. The thread that talks to ROS only hands
over work, so it stays responsive. An image that has not been taken yet is replaced by the next one:
nothing can queue up. Jobs, such as lessons, go first.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from robocle.ros.encodings import RosPicture

log = logging.getLogger("robocle")

MOST_FRAMES = 100
"""How many frames one request may ask for. They are kept in memory until all have come."""
WAITING = 30
"""How many images wait for their boxes: one second of a usual camera."""

Then = Callable[[list[RosPicture], str], None]
"""Takes the frames, and why there are no more; empty if all have come."""
Image = TypeVar("Image")
Boxes = TypeVar("Boxes")
Item = TypeVar("Item")


@dataclass(eq=False)
class _Request:
    count: int
    seconds: float
    then: Then
    pictures: list[RosPicture] = field(default_factory=list)


class AwaitedFrames:
    """Requests for the next frames, one after another: no frame is for two of them.

    All methods are called by one thread.

    Example:
        >>> frames = AwaitedFrames()
        >>> frames.request(2, seconds=30, then=lambda frames, why: print(frames, why or "done"))
        >>> frames.offer(b"1"), frames.offer(b"2")
        [b'1', b'2'] done
        (None, None)
    """

    def __init__(self) -> None:
        self._requests: deque[_Request] = deque()
        self._end = 0.0

    def request(self, count: int, seconds: float, then: Then) -> None:
        """Ask for the next frames, after all requests before.

        Args:
            count: How many.
            seconds: How long to wait for them, once it is their turn.
            then: Called with the frames; with fewer and the reason if the others do not come.
        """
        self._requests.append(_Request(count, seconds, then))
        if len(self._requests) == 1:
            self._begin()

    def offer(self, picture: RosPicture) -> None:
        """Add a frame to the first request."""
        if self._requests:
            first = self._requests[0]
            first.pictures.append(picture)
            if len(first.pictures) >= first.count:
                self._end_first("")

    def expire(self) -> None:
        """End the first request if it has waited long enough."""
        if self._requests and time.monotonic() >= self._end:
            seconds = self._requests[0].seconds
            self._end_first(f"the others did not come within {seconds:g} s, check the camera")

    def cancel(self, why: str) -> None:
        """End all requests, because no more frames will come."""
        while self._requests:
            self._end_first(why)

    def __bool__(self) -> bool:
        return bool(self._requests)

    def _begin(self) -> None:
        if self._requests:
            self._end = time.monotonic() + self._requests[0].seconds

    def _end_first(self, why: str) -> None:
        first = self._requests.popleft()
        self._begin()
        first.then(first.pictures, why)


class StampMatcher(Generic[Image, Boxes]):
    """Pairs images and boxes by their stamps. All methods are called by one thread.

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
        self.unmatched = 0
        """How many boxes came for which there was no image."""

    def image(self, stamp: int, image: Image) -> Boxes | None:
        """Add an image, and return its boxes if they came before."""
        if self._boxes is not None and self._fits(self._boxes[0], stamp):
            boxes = self._boxes[1]
            self._boxes = None
            return boxes
        self._images.append((stamp, image))
        return None

    def boxes(self, stamp: int, boxes: Boxes) -> Image | None:
        """Add boxes, and return their image if it came before. Older images are dropped."""
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


class Worker(Generic[Item]):
    """A thread that handles the newest item, and jobs before it.

    Args:
        handle: What to do with an item. An exception is logged, and the thread goes on.
    """

    def __init__(self, handle: Callable[[Item], None]) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._newest: list[Item] = []
        self._jobs: deque[Callable[[], None]] = deque()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="robocle", daemon=True)
        self._thread.start()

    def show(self, item: Item) -> None:
        """Hand over an item. One that has not been taken yet is dropped."""
        with self._changed:
            self._newest = [item]
            self._changed.notify()

    def do(self, job: Callable[[], None]) -> None:
        """Hand over a job."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def stop(self) -> None:
        """Finish the jobs, drop the item, and end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                log.exception("an unexpected error; going on with the next image")

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._newest or self._stopped)
            if self._jobs:
                return self._jobs.popleft()
            if self._stopped:
                return None
            item = self._newest.pop()
            return lambda: self._handle(item)
