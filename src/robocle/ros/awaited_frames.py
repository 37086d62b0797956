"""The next frames of a camera, for a request to teach them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from robocle.ros.encodings import RosPicture

MOST_FRAMES = 100
"""How many frames one request may ask for. They are kept in memory until all have come."""

Then = Callable[[list[RosPicture]], None]


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
