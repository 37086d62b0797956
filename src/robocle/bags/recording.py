"""Reading the frames of a bag, one at a time."""

import itertools
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from robocle.bags.tally import Intervals
from robocle.errors import DataError, ImageError, MissingExtraError
from robocle.ros.encodings import RosPicture, picture_of

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader

IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
TEXT = "std_msgs/msg/String"
REPAIRS = {
    ".mcap": "mcap recover {file} --output {new}",
    ".db3": "sqlite3 {file} .recover | sqlite3 {new}",
}
"""The command that recovers a damaged file, by its ending."""
METADATA = "Expected metadata", "Invalid bag metadata", "Some database files are missing"
"""How the reader begins what it says of a folder without the metadata that fits its files."""


@dataclass(frozen=True)
class BagFrame:
    """One frame of a bag."""

    seconds: float
    """The time since the start of the bag."""
    picture: RosPicture | ImageError
    """The picture, or why it cannot be used."""
    label: str | None
    """The label of the object, if it is known."""


class Bag:
    """A recording of ROS 2: a folder with metadata.yaml, or a single .mcap or .db3 file.

    Args:
        path: The bag.

    Raises:
        DataError: The bag is missing or cannot be read.
        MissingExtraError: The reader of bags is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = _opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def seconds(self) -> float:
        """How long the recording is."""
        return max(self._reader.duration, 0) / 1e9

    def image_topic(self, wanted: str | None = None) -> str:
        """Return the topic of the frames.

        Args:
            wanted: The topic; None stands for the only one there is.

        Raises:
            DataError: There is no such topic, or there are several and none is given.
        """
        found = {name: count for name, count in self._topics(IMAGES).items() if count}
        listed = ", ".join(f"{name} ({count})" for name, count in found.items()) or "none"
        if wanted is None and len(found) == 1:
            return next(iter(found))
        if wanted not in found:
            what = "give the topic of the frames" if wanted is None else f"no frames in {wanted}"
            raise DataError(f"{self.path}: {what}; there are: {listed}")
        return wanted

    def count(self, topic: str) -> int:
        """Return the number of frames of a topic."""
        return self._topics(IMAGES)[topic]

    def frames(self, topic: str, labels: Intervals | str | None = None) -> Iterator[BagFrame]:
        """Yield the frames of a topic in the order of time.

        Args:
            topic: The topic of the frames.
            labels: Intervals, or the topic of std_msgs/String messages, each of which is the label
                until the next one; an empty one ends it.

        Raises:
            DataError: There is no topic of labels, or the bag is damaged.
        """
        topics = {topic}
        if isinstance(labels, str):
            self._require_text(labels)
            topics.add(labels)
        wanted = [each for each in self._reader.connections if each.topic in topics]
        label: str | None = None
        for connection, stamp, raw in self._messages(wanted):
            message = self._message(raw, connection.msgtype)
            if connection.topic == labels:
                label = message.data.strip() or None
                continue
            seconds = (stamp - self._reader.start_time) / 1e9
            found = labels.at(seconds) if isinstance(labels, Intervals) else label
            yield BagFrame(seconds, _picture(message), found)

    def _messages(self, wanted: list[Any]) -> Iterator[tuple[Any, int, bytes]]:
        with _readable(self.path):
            yield from self._reader.messages(wanted)

    def _message(self, raw: bytes, kind: str) -> Any:
        with _readable(self.path):
            return self._reader.deserialize(raw, kind)

    def _topics(self, kinds: tuple[str, ...]) -> dict[str, int]:
        """Return the topics of these types with their numbers of messages."""
        found = [each for each in self._reader.connections if each.msgtype in kinds]
        ordered = sorted(found, key=lambda each: each.topic)
        return {
            topic: sum(each.msgcount for each in group)
            for topic, group in itertools.groupby(ordered, key=lambda each: each.topic)
        }

    def _require_text(self, topic: str) -> None:
        found = self._topics((TEXT,))
        if topic not in found:
            listed = ", ".join(found) or "none"
            raise DataError(f"{self.path}: no {TEXT} messages in {topic}; there are: {listed}")


def _picture(message: Any) -> RosPicture | ImageError:
    try:
        return picture_of(message)
    except ImageError as error:
        return error


def _opened(path: Path) -> "AnyReader":
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingExtraError("bag", "a bag needs rosbags") from error
    if not path.exists():
        raise DataError(f"there is no bag {path}: give its folder, or an .mcap or .db3 file")
    with _readable(path):
        # Older bags have no definitions of their messages; those of frames have not changed.
        reader = AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE))
        reader.open()
        return reader


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn the errors of the reader into one line; a damaged bag can fail in any way."""
    try:
        yield
    except (GeneratorExit, DataError, ImageError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"cannot read the bag {path}: {reason}{_advice(path, reason)}") from error


def _advice(path: Path, reason: str) -> str:
    """Return what to do about a bag that cannot be read, such as after a power cut."""
    files = sorted(each for each in ([*path.iterdir()] if path.is_dir() else [path])
                   if each.suffix in REPAIRS)  # fmt: skip
    if not files:
        return "; give a folder of `ros2 bag record`, or an .mcap or .db3 file"
    if not any(each.stat().st_size for each in files):
        return "; nothing was recorded"
    if reason.startswith(METADATA):
        return f"; `ros2 bag reindex {shlex.quote(str(path))}` writes its metadata.yaml anew"
    file, new = (shlex.quote(str(each)) for each in (files[0], f"recovered{files[0].suffix}"))
    repair = REPAIRS[files[0].suffix].format(file=file, new=new)
    return f"; `{repair}` saves what can be read"
