"""The robot's camera: one that the server reads, for all clients.

Large frames are reduced once, for everyone: what is shown, taught and recognised has the same
pixels, so a box that is drawn on the shown picture fits. A camera that fails is opened again, until
it answers.
"""

import io
from dataclasses import replace
from functools import lru_cache

import numpy as np
from PIL import Image

from robocle.cameras import Frame, open_camera

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
        self._camera = open_camera(source, loop=True, reconnect=True)
        # All clients share the last frame.
        self._reduced = lru_cache(1)(_reduced)
        self._jpeg = lru_cache(1)(_jpeg)

    def newest(self, after: int = -1, timeout: float = 1.0) -> Frame | None:
        """Return the newest frame after another one; None if there is none in time.

        Raises:
            CameraError: A video file cannot be read any more.
        """
        frame = self._camera.newest(after, timeout)
        return self._reduced(frame) if frame else None

    def newest_jpeg(self, after: int = -1, timeout: float = 1.0) -> tuple[int, bytes] | None:
        """Return the number of the newest frame, and the frame as a JPEG; see `newest`."""
        frame = self.newest(after, timeout)
        return (frame.number, self._jpeg(frame)) if frame else None

    def close(self) -> None:
        """Release the camera."""
        self._camera.close()


def _reduced(frame: Frame) -> Frame:
    if max(frame.pixels.shape) <= LARGEST_SIDE:
        return frame
    image = Image.fromarray(frame.pixels)
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return replace(frame, pixels=np.asarray(image))


def _jpeg(frame: Frame) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame.pixels).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
