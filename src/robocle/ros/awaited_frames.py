"""The next frames of a camera, for a request to teach them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from robocle.ros.encodings import RosPicture

MOST_FRAMES = 100
"""How many frames one request may ask for. They are kept in memory until all have come."""


class AwaitedFrames:
    """Requests for the next frames; the camera's callback offers each frame to all of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[tuple[int, list[RosPicture]]] = []

    @property
    def any(self) -> bool:
        """Whether somebody waits for frames."""
        return bool(self._requests)

    def offer(self, picture: RosPicture) -> None:
        """Add a frame to every request that needs more."""
        with self._changed:
            for count, pictures in self._requests:
                if len(pictures) < count:
                    pictures.append(picture)
            self._changed.notify_all()

    def collect(self, count: int, seconds: float, more: threading.Event) -> list[RosPicture]:
        """Wait for the next frames.

        Args:
            count: How many frames.
            seconds: How long to wait.
            more: Cleared when the camera stops, which ends the waiting.

        Returns:
            The frames; fewer if the others did not come in time.
        """
        end = time.monotonic() + seconds
        with self._request(count) as pictures, self._changed:
            while len(pictures) < count and more.is_set() and time.monotonic() < end:
                self._changed.wait(0.1)
            return list(pictures)

    @contextmanager
    def _request(self, count: int) -> Iterator[list[RosPicture]]:
        request: tuple[int, list[RosPicture]] = (count, [])
        with self._changed:
            self._requests.append(request)
        try:
            yield request[1]
        finally:
            with self._changed:
                self._requests = [each for each in self._requests if each is not request]
