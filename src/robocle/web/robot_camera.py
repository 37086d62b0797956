"""The robot's camera: one that the server reads, for all clients.

A camera that fails is opened again, so it may be plugged in later.
"""

import io
import threading
import time
from dataclasses import dataclass

from PIL import Image

from robocle.cameras import Camera, Frame, open_camera
from robocle.errors import CameraError

RETRY_SECONDS = 2.0
SHOWN_WIDTH = 640
QUALITY = 80


@dataclass(frozen=True)
class _Jpeg:
    number: int
    content: bytes


class RobotCamera:
    """A camera that several threads ask for its newest frame.

    Args:
        source: The number of a webcam, the URL of a network camera, or a video file, which is
            repeated.

    Raises:
        CameraError: The source cannot be opened.
        MissingExtraError: OpenCV is not installed.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._guard = threading.Lock()
        self._camera: Camera | None = open_camera(source, loop=True)
        self._failed = 0.0
        self._first = 0  # numbers go on when the camera was opened again
        self._last = -1
        self._jpeg = _Jpeg(-1, b"")

    def newest(self, after: int = -1, timeout: float = 1.0) -> Frame | None:
        """Return the newest frame after another one; None if there is none in time.

        Raises:
            CameraError: The camera does not work at present.
        """
        camera, first = self._opened()
        try:
            frame = camera.newest(after - first, timeout)
        except CameraError:
            self._fail(camera)
            raise
        if frame is None:
            return None
        self._last = max(self._last, frame.number + first)
        return Frame(frame.pixels, frame.number + first, frame.time)

    def newest_jpeg(self, after: int = -1, timeout: float = 1.0) -> tuple[int, bytes] | None:
        """Return the number of the newest frame, and a small copy of it as a JPEG.

        Raises:
            CameraError: The camera does not work at present.
        """
        frame = self.newest(after, timeout)
        if frame is None:
            return None
        kept = self._jpeg
        if kept.number != frame.number:
            kept = self._jpeg = _Jpeg(frame.number, _small_jpeg(frame))
        return kept.number, kept.content

    def close(self) -> None:
        """Release the camera."""
        with self._guard:
            camera, self._camera = self._camera, None
            self._failed = float("inf")
        if camera is not None:
            camera.close()

    def _opened(self) -> tuple[Camera, int]:
        with self._guard:
            if self._camera is None:
                if time.monotonic() < self._failed + RETRY_SECONDS:
                    raise CameraError("the robot's camera does not answer: check its cable or URL")
                self._failed = time.monotonic()
                self._first = self._last + 1
                self._camera = open_camera(self._source, loop=True)
            return self._camera, self._first

    def _fail(self, camera: Camera) -> None:
        with self._guard:
            if self._camera is camera:
                self._camera, self._failed = None, time.monotonic()
        camera.close()


def _small_jpeg(frame: Frame) -> bytes:
    image = Image.fromarray(frame.pixels)
    image.thumbnail((SHOWN_WIDTH, SHOWN_WIDTH))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
