"""A webcam for Chromium whose picture a test can change while the browser runs.

Chromium plays a file of JPEGs as if it were a camera, and maps it into memory. Every picture here
has the same size in the file, so other pictures can be written over those that are playing.
"""

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

SIZE = (640, 480)
FRAMES_PER_PICTURE = 8
PICTURES = 7
JPEG_BYTES = 60_000
START = 2  # the marker at the start of a JPEG
LONGEST_COMMENT = 65_000

CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
)


class FakeWebcam:
    """A file that Chromium plays as a webcam.

    Args:
        path: The file to write; its name ends in .mjpeg.
        pictures: What the webcam shows first.
    """

    def __init__(self, path: Path, pictures: Sequence[Path]) -> None:
        self.path = path
        path.write_bytes(_video(pictures))

    def show(self, pictures: Sequence[Path]) -> None:
        """Show other pictures, one after another and again from the start."""
        with self.path.open("r+b") as file:
            file.write(_video(pictures))

    @property
    def options(self) -> list[str]:
        """What Chromium must be started with."""
        return [*CHROMIUM_OPTIONS, f"--use-file-for-fake-video-capture={self.path}"]


def _video(pictures: Sequence[Path]) -> bytes:
    chosen = [pictures[number % len(pictures)] for number in range(PICTURES)]
    return b"".join(_jpeg(each) * FRAMES_PER_PICTURE for each in chosen)


def _jpeg(path: Path) -> bytes:
    """Return a picture as a JPEG of exactly JPEG_BYTES, filled up with a comment."""
    with Image.open(path) as image:
        buffer = io.BytesIO()
        image.convert("RGB").resize(SIZE).save(buffer, "JPEG", quality=85)
    content = buffer.getvalue()
    room = JPEG_BYTES - len(content) - 4
    assert 0 <= room <= LONGEST_COMMENT, f"{path} takes {len(content)} bytes"
    comment = b"\xff\xfe" + (room + 2).to_bytes(2, "big") + b" " * room
    return content[:START] + comment + content[START:]
