"""Writing pictures as a bag, such as the videos that `robocle sim` renders."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robocle.errors import DataError, MissingExtraError
from robocle.types import Example

Storage = Literal["mcap", "sqlite3"]
IMAGE_TOPIC, LABEL_TOPIC = "/camera/image/compressed", "/label"
START = 1_700_000_000_000_000_000
"""The time of the first frame, in nanoseconds; bags from the same pictures are the same."""


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
        DataError: The folder exists, or a picture cannot be read.
        MissingExtraError: The writer of bags is not installed.
    """
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingExtraError("bag", "a bag needs rosbags") from error
    if path.exists():
        raise DataError(f"{path} exists already: give another name")
    types = get_typestore(Stores.ROS2_HUMBLE)
    messages = _Messages(types)
    number, before = 0, ""
    with Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()]) as writer:
        images = writer.add_connection(IMAGE_TOPIC, messages.image_type, typestore=types)
        labels = writer.add_connection(LABEL_TOPIC, messages.label_type, typestore=types)
        for number, example in enumerate(examples, 1):
            stamp = START + round((number - 1) * 1e9 / rate)
            if example.label != before:
                writer.write(labels, stamp, messages.label(example.label))
                before = example.label
            writer.write(images, stamp, messages.image(stamp, example.path))
    return number


class _Messages:
    """The messages of a bag, as bytes."""

    image_type = "sensor_msgs/msg/CompressedImage"
    label_type = "std_msgs/msg/String"

    def __init__(self, types: Any) -> None:
        self._types = types

    def label(self, text: str) -> bytes:
        return self._bytes(self._types.types[self.label_type](text), self.label_type)

    def image(self, stamp: int, path: Path) -> bytes:
        try:
            content = np.frombuffer(path.read_bytes(), np.uint8)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        make = self._types.types
        time = make["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
        header = make["std_msgs/msg/Header"](time, "camera")
        kind = "png" if path.suffix.lower() == ".png" else "jpeg"
        return self._bytes(make[self.image_type](header, kind, content), self.image_type)

    def _bytes(self, message: Any, kind: str) -> bytes:
        return bytes(self._types.serialize_cdr(message, kind))
