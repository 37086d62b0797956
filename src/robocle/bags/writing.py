"""Writing pictures or a video as a bag, with compressed images and their labels."""

import io
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from robocle._internal.capture import Source, rate_of
from robocle.errors import DataError, MissingExtraError
from robocle.types import Example

if TYPE_CHECKING:
    import cv2

Storage = Literal["mcap", "sqlite3"]
IMAGE_TOPIC, LABEL_TOPIC = "/camera/image/compressed", "/label"
"""The topics of a bag that is written."""
START = 1_700_000_000_000_000_000
"""The time of its first frame, in nanoseconds; bags from the same pictures are the same."""
QUALITY = 90
"""The quality of the JPEG of a frame of a video."""


def write_bag(
    path: Path, examples: Iterable[Example], rate: float = 10.0, storage: Storage = "mcap"
) -> int:
    """Write pictures as a bag with compressed images and their labels.

    Args:
        path: The folder to create.
        examples: JPEG or PNG files with their labels, in the order of time.
        rate: Frames per second.
        storage: The format.

    Returns:
        The number of frames.

    Raises:
        DataError: The folder exists or cannot be written, or a picture cannot be read.
        MissingExtraError: The writer of bags is not installed.
    """
    return _written(path, map(_still, examples), rate, storage)


def write_video(
    path: Path,
    video: Path,
    label: str | None = None,
    rate: float | None = None,
    storage: Storage = "mcap",
) -> int:
    """Write a video as a bag with compressed images.

    Args:
        path: The folder to create.
        video: The video.
        label: What all of it shows; None for a bag without labels.
        rate: Frames per second; None for those of the video.
        storage: The format.

    Returns:
        The number of frames.

    Raises:
        DataError: The folder exists or cannot be written.
        CameraError: The video cannot be read.
        MissingExtraError: The writer of bags, or OpenCV, is not installed.
    """
    capture = Source.parse(os.path.abspath(video)).open()
    try:
        return _written(path, _frames(capture, label), rate or rate_of(capture), storage)
    finally:
        capture.release()


class Still(NamedTuple):
    """One image of a bag that is written."""

    kind: Literal["jpeg", "png"]
    content: bytes
    label: str | None


def _still(example: Example) -> Still:
    try:
        content = example.path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {example.path}: {error.strerror}") from error
    kind: Literal["jpeg", "png"] = "png" if example.path.suffix.lower() == ".png" else "jpeg"
    return Still(kind, content, example.label)


def _frames(capture: "cv2.VideoCapture", label: str | None) -> Iterator[Still]:
    """Yield the frames of a video as JPEG."""
    while (read := capture.read())[0]:
        file = io.BytesIO()
        pixels = np.ascontiguousarray(read[1][..., ::-1])
        Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
        yield Still("jpeg", file.getvalue(), label)


def _written(path: Path, stills: Iterable[Still], rate: float, storage: Storage) -> int:
    """Write images as a bag, completely or not at all, and return their number."""
    if path.exists():
        raise DataError(f"{path} exists already: give another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            bag = Path(folder, path.name)  # by which its file is called
            number = _filled(bag, stills, rate, storage)
            os.rename(bag, path)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot write {path}: {reason}") from error
    return number


def _filled(path: Path, stills: Iterable[Still], rate: float, storage: Storage) -> int:
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingExtraError("bag", "a bag needs rosbags") from error
    types = get_typestore(Stores.ROS2_HUMBLE)
    messages = _Messages(types)
    number, before = 0, None
    with Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()]) as writer:
        images = writer.add_connection(IMAGE_TOPIC, messages.image_type, typestore=types)
        labels = writer.add_connection(LABEL_TOPIC, messages.label_type, typestore=types)
        for number, still in enumerate(stills, 1):
            stamp = START + round((number - 1) * 1e9 / rate)
            if still.label != before:
                writer.write(labels, stamp, messages.label(still.label or ""))
                before = still.label
            writer.write(images, stamp, messages.image(stamp, still))
    return number


class _Messages:
    """The messages of a bag, as bytes."""

    image_type = "sensor_msgs/msg/CompressedImage"
    label_type = "std_msgs/msg/String"

    def __init__(self, types: Any) -> None:
        self._types = types

    def label(self, text: str) -> bytes:
        return self._bytes(self._types.types[self.label_type](text), self.label_type)

    def image(self, stamp: int, still: Still) -> bytes:
        make = self._types.types
        time = make["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
        header = make["std_msgs/msg/Header"](time, "camera")
        content = np.frombuffer(still.content, np.uint8)
        return self._bytes(make[self.image_type](header, still.kind, content), self.image_type)

    def _bytes(self, message: Any, kind: str) -> bytes:
        return bytes(self._types.serialize_cdr(message, kind))
