"""The robot's camera: one that the server reads, for all clients.

Large frames are reduced once, for everyone: what is shown, taught and recognised has the same
pixels, so a box that is drawn on the shown picture fits. A camera that fails is opened again.
"""

import io
import threading
import time

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.cameras import Camera, Frame, open_camera
from robocle.errors import CameraError

RETRY_SECONDS = 2.0
LARGEST_SIDE = 960
QUALITY = 80


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
        self._reduced = Frame(np.zeros((0, 0, 3), np.uint8), -1, 0.0)
        self._jpeg = -1, b""

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
        number = frame.number + first
        self._last = max(self._last, number)
        kept = self._reduced
        if kept.number != number:
            kept = self._reduced = Frame(_reduced(frame.pixels), number, frame.time)
        return kept

    def newest_jpeg(self, after: int = -1, timeout: float = 1.0) -> tuple[int, bytes] | None:
        """Return the number of the newest frame, and the frame as a JPEG.

        Raises:
            CameraError: The camera does not work at present.
        """
        frame = self.newest(after, timeout)
        if frame is None:
            return None
        kept = self._jpeg  # read once: another thread may replace it
        if kept[0] != frame.number:
            kept = self._jpeg = frame.number, _jpeg(frame)
        return kept

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


def _reduced(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if max(pixels.shape) <= LARGEST_SIDE:
        return pixels
    image = Image.fromarray(pixels)
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return np.asarray(image)


def _jpeg(frame: Frame) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame.pixels).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
