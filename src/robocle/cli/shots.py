"""The frames of a bag that a command uses, and those that cannot be used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from robocle.cli.app import plural, print_error
from robocle.cli.options import BoxOption
from robocle.cli.progress import progress
from robocle.errors import ImageError

if TYPE_CHECKING:
    from robocle.bags import Bag, Intervals, Shot
    from robocle.learner import Learner
    from robocle.recognition.temporal_filter import Announcement
    from robocle.types import Prediction

JITTER = 1e-3
"""Seconds by which a frame may be early."""
LISTED = 3
"""How many images that cannot be used are named."""


class Shots:
    """The frames of a bag that are used, and those that cannot be."""

    def __init__(
        self, recording: "Bag", topic: str, labels: "Intervals | str | None", every: float
    ) -> None:
        self._recording, self._topic, self._labels, self._every = recording, topic, labels, every
        self._unusable = 0

    def all(self, title: str) -> "Iterator[Shot]":
        """Yield the frames that can be read, not more often than wanted."""
        count = self._recording.count(self._topic)
        last: dict[str | None, float] = {}
        for shot in progress(self._recording.shots(self._topic, self._labels), title, count):
            if shot.seconds - last.get(shot.label, -float("inf")) < self._every - JITTER:
                continue
            last[shot.label] = shot.seconds
            if isinstance(shot.picture, ImageError):
                self.unusable(shot, shot.picture)
            else:
                yield shot

    def labelled(self, title: str) -> "Iterator[Shot]":
        """Yield those that have a label."""
        return (shot for shot in self.all(title) if shot.label is not None)

    def unusable(self, shot: "Shot", error: ImageError) -> None:
        """Note a frame that cannot be used, and say why for the first ones."""
        self._unusable += 1
        if self._unusable <= LISTED:
            print_error(f"the frame at {shot.seconds:.2f} s is skipped: {error}")

    def list_unusable(self) -> None:
        """Say how many frames were skipped."""
        if self._unusable > LISTED:
            print_error(f"skipped {plural(self._unusable, 'frame')} in all that cannot be used")


def recognised(
    learner: "Learner", shots: Shots, frames: "Iterator[Shot]", box: BoxOption, false_accept: float
) -> "Iterator[tuple[Shot, Prediction, Announcement]]":
    """Yield frames with their predictions and what a filter announces."""
    from robocle.recognition.temporal_filter import TemporalFilter

    steady = TemporalFilter()
    for shot in frames:
        picture: Any = shot.picture
        try:
            found = learner.predict(picture, false_accept=false_accept, box=box)
        except ImageError as error:
            shots.unusable(shot, error)
            continue
        yield shot, found, steady.update(found)
