"""Cameras: frames from a webcam, a network camera or a video file, always the newest.

    with robocle.open_camera("rtsp://camera.local/stream") as camera:
        frame = camera.newest()

A thread reads the source and keeps one frame, so a slow reader sees the newest frame and no queue
grows. The source is read with OpenCV, which the extra `robocle[camera]` brings.
"""

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from robocle._internal.capture import SILENCE, CameraSource, Source, rate_of
from robocle.errors import CameraError

if TYPE_CHECKING:
    import cv2

log = logging.getLogger("robocle")

RETRY = 1.0
"""Seconds between two attempts to open a camera that failed."""


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """One frame of a camera."""

    pixels: NDArray[np.uint8]
    """(height, width, 3) RGB."""
    number: int
    """Counts the frames that the camera delivered, from 0."""
    time: float
    """When the frame was read, in seconds since 1970."""


class Camera:
    """A source of frames. `open_camera` returns one, with the same arguments."""

    def __init__(
        self,
        source: CameraSource,
        *,
        loop: bool = False,
        realtime: bool = True,
        reconnect: bool = False,
    ) -> None:
        self._source = Source.parse(source)
        self._loop = loop and self._source.is_file
        self._realtime = realtime or not self._source.is_file
        self._reconnect = reconnect and not self._source.is_file
        self._changed = threading.Condition()
        self._frame: Frame | None = None
        self._number = 0  # of the next frame
        self._taken = -1
        self._closed = False
        self._error: CameraError | None = None
        capture = self._source.open()
        self._thread = threading.Thread(target=self._read, args=(capture,), daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Camera {self._source.name}>"

    @property
    def is_file(self) -> bool:
        """Whether the source is a video file, which ends."""
        return self._source.is_file

    def newest(self, after: int = -1, timeout: float = 1.0) -> Frame | None:
        """Return the newest frame, or wait for one.

        Args:
            after: The number of the last frame that the caller has seen.
            timeout: How many seconds to wait for a frame with a larger number.

        Returns:
            The frame; None if there is no new one in time.

        Raises:
            CameraError: The source has ended or failed and has no further frame. Its attribute
                `ended` is true at the end of a video file.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._has(after) or self._error is not None, timeout)
            if self._has(after):
                assert self._frame is not None
                self._taken = self._frame.number
                self._changed.notify_all()
                return self._frame
            if self._error is not None:
                # A new one each time: an error that is raised again and again would grow.
                raise CameraError(str(self._error), ended=self._error.ended)
            return None

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Stop reading and release the source."""
        with self._changed:
            self._closed = True
            self._frame = None
            self._error = CameraError(f"the camera {self._source.name} is closed: open it again")
            self._changed.notify_all()
        self._thread.join(SILENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _has(self, after: int) -> bool:
        return self._frame is not None and self._frame.number > after

    def _read(self, capture: "cv2.VideoCapture") -> None:
        """Read frames until the source ends or the camera is closed."""
        try:
            while True:
                first = self._number
                try:
                    self._play(capture)
                except Exception as error:  # OpenCV's own, of a damaged stream
                    if not self._reconnect:
                        raise
                    log.warning("the camera %s failed: %s", self._source.name, error)
                if self._closed or not (self._reconnect or (self._loop and self._number > first)):
                    break
                capture.release()
                capture = self._opened_again() if self._reconnect else self._source.open()
            self._end(self._source.ended())
        except CameraError as error:
            self._end(error)
        except Exception as error:
            self._end(CameraError(f"the camera {self._source.name} failed: {error}"))
        finally:
            capture.release()

    def _opened_again(self) -> "cv2.VideoCapture":
        """Wait until a camera that failed answers again."""
        log.warning("the camera %s stopped sending: trying to open it again", self._source.name)
        with self._changed:
            self._frame = None  # it does not show what is there now
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._closed, RETRY):
                    raise self._source.ended()
            with suppress(CameraError):
                capture = self._source.open()
                log.warning("the camera %s sends again", self._source.name)
                return capture

    def _play(self, capture: "cv2.VideoCapture") -> None:
        """Read the source once."""
        start, first = time.monotonic(), self._number
        rate = rate_of(capture)
        while not self._closed:
            there, pixels = capture.read()
            if not there:
                break
            due = start + (self._number - first) / rate if self._source.is_file else start
            self._publish(np.ascontiguousarray(pixels[..., ::-1]), self._number, due)
            self._number += 1

    def _publish(self, pixels: NDArray[np.uint8], number: int, due: float) -> None:
        with self._changed:
            if self._realtime:
                self._changed.wait_for(lambda: self._closed, max(due - time.monotonic(), 0))
            else:
                self._changed.wait_for(lambda: self._closed or self._taken == number - 1)
            if not self._closed:
                self._frame = Frame(pixels, number, time.time())
                self._changed.notify_all()

    def _end(self, error: CameraError) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


def open_camera(
    source: CameraSource, *, loop: bool = False, realtime: bool = True, reconnect: bool = False
) -> Camera:
    """Open a webcam, a network camera or a video file, and start to read it.

    Args:
        source: The number of a webcam (0 or "0"), a URL such as rtsp://... or http://..., or the
            path of a video file.
        loop: Whether a video file starts again when it ends.
        realtime: Whether a video file plays at its own rate. If not, `Camera.newest` returns every
            frame in order, each as soon as it is requested.
        reconnect: Whether a webcam or network camera that fails is opened again, until it answers.
            Meanwhile `Camera.newest` returns None.

    Returns:
        The camera, a context manager that closes it.

    Raises:
        CameraError: The source cannot be opened.
        MissingExtraError: OpenCV is not installed.

    Example:
        >>> with open_camera("no-such-video.mp4") as camera:
        ...     frame = camera.newest()
        Traceback (most recent call last):
        robocle.errors.CameraError: there is no video file no-such-video.mp4: give the number of a \
webcam, a URL, or the path of a video
    """
    return Camera(source, loop=loop, realtime=realtime, reconnect=reconnect)
