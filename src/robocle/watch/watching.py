"""From the frames of a camera to one steady observation per second."""

import time
from collections.abc import Callable, Iterator

from robocle.cameras import Camera, Frame
from robocle.errors import CameraError
from robocle.recognition.temporal_filter import Announcement, TemporalFilter
from robocle.types import Prediction
from robocle.watch.observation import Observation

STALE = 3.0
"""Seconds without a frame after which the camera shows nothing."""
NO_FRAME = "the camera sends no picture"

Recognise = Callable[[Frame], Prediction]


def observations(
    camera: Camera,
    recognise: Recognise,
    steady: TemporalFilter,
    every: float = 1.0,
) -> Iterator[Observation]:
    """Yield what a camera sees, at regular intervals, until a video ends.

    Every frame that there is time for is recognised, always the newest; the filter makes one
    announcement of them.

    Args:
        camera: The camera.
        recognise: What returns the prediction for a frame.
        steady: The temporal filter.
        every: Seconds between two observations.

    Raises:
        CameraError: The camera failed.
        ImageError: A frame cannot be used.
    """
    eye = _Eye(camera, recognise, steady)
    try:
        while True:
            until = time.monotonic() + every
            while (left := until - time.monotonic()) > 0:
                eye.look(left)
            yield eye.observation()
    except CameraError as error:
        if not error.ended:
            raise
        yield eye.observation()


class _Eye:
    """What was announced for the frames so far."""

    def __init__(self, camera: Camera, recognise: Recognise, steady: TemporalFilter) -> None:
        self._camera, self._recognise, self._steady = camera, recognise, steady
        self._number = -1
        self._seen = time.monotonic()
        self._announcement: Announcement | None = None

    def look(self, timeout: float) -> None:
        """Recognise the next frame, if there is one in time."""
        frame = self._camera.newest(self._number, timeout)
        if frame is not None:
            self._number, self._seen = frame.number, time.monotonic()
            self._announcement = self._steady.update(self._recognise(frame))
        elif time.monotonic() - self._seen > STALE:
            self._steady.reset()
            self._announcement = None

    def observation(self) -> Observation:
        """Return what is announced now."""
        if self._announcement is None:
            return Observation(time.time(), "nothing", None, nothing=NO_FRAME)
        return Observation.of(self._announcement, time.time())
