"""Opening a camera or a video with OpenCV, which the extra `robocle[camera]` installs."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from robocle._internal.wording import without_login
from robocle.errors import CameraError, MissingExtraError

if TYPE_CHECKING:
    import cv2

CameraSource = str | int | Path
"""The number of a webcam, the URL of a network camera, or the path of a video file."""

SILENCE = 10.0
"""Seconds after which a network camera that sends nothing has failed."""
USUAL_RATE = 30.0
"""Frames per second of a video file that does not say its rate."""


@dataclass(frozen=True)
class Source:
    """The source of a camera."""

    address: str | int
    is_file: bool
    name: str
    """The source for messages, without the user and password of a URL."""

    @classmethod
    def parse(cls, source: CameraSource) -> "Source":
        """Return the source that a user describes.

        Raises:
            CameraError: There is no such video file.
        """
        text = str(source).strip()
        if re.fullmatch(r"\d{1,4}", text):
            return cls(int(text), False, text)
        if re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
            return cls(text, False, without_login(text))
        if re.match(r"/dev/", text):
            return cls(text, False, text)
        if not text or not Path(text).is_file():
            fault = f"there is no video file {text or '(the name is empty)'}"
            if text and Path(text).is_dir():
                fault = f"{text} is a folder, not a video file"
            raise CameraError(
                f"{fault}: give the number of a webcam, a URL, or the path of a video"
            )
        return cls(text, True, text)

    def open(self) -> "cv2.VideoCapture":
        """Open the source.

        Raises:
            CameraError: It cannot be opened.
            MissingExtraError: OpenCV is not installed.
        """
        opencv = _opencv()
        with _quiet(opencv):
            capture = self._capture(opencv)
        if not capture.isOpened():
            capture.release()
            raise CameraError(self._refusal())
        return capture

    def _capture(self, opencv: ModuleType) -> "cv2.VideoCapture":
        capture: cv2.VideoCapture
        if isinstance(self.address, int) or self.address.startswith("/dev/"):
            capture = opencv.VideoCapture(self.address)
            capture.set(opencv.CAP_PROP_BUFFERSIZE, 1)
            return capture
        # FFmpeg alone: other readers of OpenCV take "1.jpg" for the first of many pictures.
        timeouts = [opencv.CAP_PROP_OPEN_TIMEOUT_MSEC, opencv.CAP_PROP_READ_TIMEOUT_MSEC]
        options = [value for key in timeouts for value in (key, int(SILENCE * 1000))]
        capture = opencv.VideoCapture(self.address, opencv.CAP_FFMPEG, options)
        return capture

    def _refusal(self) -> str:
        if self.is_file:
            return f"{self.name} cannot be read as a video: convert it to MP4"
        if "://" in self.name:
            return f"the camera {self.name} does not answer: check the URL and the network"
        return f"there is no webcam {self.name}, or another program uses it: check its number"

    def ended(self) -> CameraError:
        """Return the error for a source that sends no more frames."""
        if self.is_file:
            return CameraError(f"the video {self.name} has ended", ended=True)
        return CameraError(f"the camera {self.name} stopped sending: check it and open it again")


def _opencv() -> ModuleType:
    # FFmpeg would print errors of its own, with the address and its password.
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError("camera", "a camera needs OpenCV") from error
    return cv2


@contextmanager
def _quiet(opencv: ModuleType) -> Iterator[None]:
    """Keep OpenCV from printing that a source cannot be opened: an error says it."""
    logging = opencv.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)


def rate_of(capture: "cv2.VideoCapture") -> float:
    """Return the frames per second of an opened source."""
    import cv2

    rate = capture.get(cv2.CAP_PROP_FPS)
    return rate if 0.1 <= rate <= 1000 else USUAL_RATE
