"""The labels of the frames of a recording, and counts of how they were recognised.

Intervals are a small CSV file that says which object is shown when, in seconds since the start of
the bag. Between them there is no label:

    start,end,label
    0.0,4.5,mug
    5.0,9.0,keys

A tally counts per label and over time. Only counts are kept, and one span per change of what is
announced, so that a recording of any length takes the same memory.
"""

import csv
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from robocle.classifiers.labels import require_label
from robocle.errors import DataError, LabelError

HEADER = ["start", "end", "label"]

UNDECIDED = "undecided"
"""What a plot shows while the filter has announced nothing."""
PARTS = 20
"""Into how many parts a recording is divided, over time."""

GAP = 1.0
"""Seconds without a labelled frame after which a span ends with its last frame."""


@dataclass(frozen=True)
class Intervals:
    """Intervals in the order of time, which do not overlap."""

    spans: tuple[tuple[float, float, str], ...]
    """Start, end and label."""

    def at(self, seconds: float) -> str | None:
        """Return the label at a time. An interval includes its start, but not its end.

        Example:
            >>> Intervals(((0.0, 4.5, "mug"), (5.0, 9.0, "keys"))).at(5.0)
            'keys'
        """
        number = bisect_right(self.spans, seconds, key=lambda span: span[0]) - 1
        if number < 0:
            return None
        _, end, label = self.spans[number]
        return label if seconds < end else None

    @classmethod
    def read(cls, path: Path) -> "Intervals":
        """Read a file of intervals.

        Raises:
            DataError: The file cannot be read, or a line is not an interval.
        """
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read the intervals {path}: {error}") from error
        rows = [(n, row) for n, row in enumerate(csv.reader(text.splitlines()), 1) if any(row)]
        if rows and [cell.strip().lower() for cell in rows[0][1]] == HEADER:
            del rows[0]
        if not rows:
            raise DataError(f"{path} has no interval: give lines start,end,label")
        spans = sorted(_span(path, number, row) for number, row in rows)
        for one, other in pairwise(spans):
            if other[0] < one[1]:
                raise DataError(
                    f"{path}: the intervals {_written(one)} and {_written(other)} overlap: a frame "
                    "has one label"
                )
        return cls(tuple(spans))


def _span(path: Path, number: int, row: list[str]) -> tuple[float, float, str]:
    try:
        start, end, label = row
        span = float(start), float(end), require_label(label.strip())
    except LabelError as error:
        raise DataError(f"{path}, line {number}: {error}") from error
    except ValueError as error:
        raise DataError(
            f"{path}, line {number}: {','.join(row)!r} is not start,end,label with the times in "
            "seconds since the start of the bag"
        ) from error
    if not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
        raise DataError(f"{path}, line {number}: the end must be after the start")
    return span


def _written(span: tuple[float, float, str]) -> str:
    return f"{span[0]:g} to {span[1]:g} ({span[2]})"


@dataclass
class LabelCount:
    """How the frames that show one object were recognised."""

    frames: int = 0
    right: int = 0
    unknown: int = 0
    steady: int = 0
    """Frames at which the filtered label was right."""
    taken_for: Counter[str] = field(default_factory=Counter)
    """The wrong labels."""


@dataclass
class Part:
    """One part of the recording."""

    start: float
    end: float
    frames: int = 0
    right: int = 0
    steady: int = 0


@dataclass
class Span:
    """A time during which neither the object nor the announcement changes."""

    start: float
    end: float
    truth: str
    said: str | None


class Tally:
    """Counts the frames of a recording.

    Args:
        known: The labels that were taught. Other objects should be called unknown.
        seconds: How long the recording is.

    Example:
        >>> tally = Tally({"mug", "pan"}, seconds=10)
        >>> tally.add(0.0, "mug", predicted="mug", announced=None)
        >>> tally.add(5.0, "mug", predicted="pan", announced="mug")
        >>> tally.labels["mug"].right, tally.accuracy, tally.steady_accuracy
        (1, 0.5, 0.5)
    """

    def __init__(self, known: Collection[str], seconds: float) -> None:
        self.known = frozenset(known)
        self.labels: dict[str, LabelCount] = {}
        length = max(seconds, 1e-3) / PARTS
        self.parts = [Part(n * length, (n + 1) * length) for n in range(PARTS)]
        self.spans: list[Span] = []

    def add(
        self,
        seconds: float,
        truth: str,
        *,
        predicted: str | None,
        announced: str | None,
        is_decided: bool = True,
    ) -> None:
        """Count one frame.

        Args:
            seconds: The time since the start of the recording.
            truth: What the frame shows.
            predicted: The label of the frame alone; None if it was called unknown.
            announced: The filtered label; None if it was called unknown.
            is_decided: Whether the filter has announced anything: undecided is never right.
        """
        expected = truth if truth in self.known else None
        right, steady = predicted == expected, is_decided and announced == expected
        count = self.labels.setdefault(truth, LabelCount())
        count.frames += 1
        count.right += right
        count.steady += steady
        count.unknown += predicted is None
        if not right and predicted is not None:
            count.taken_for[predicted] += 1
        self._add_to_part(seconds, right, steady)
        self._add_to_spans(seconds, truth, announced if is_decided else UNDECIDED)

    def _add_to_part(self, seconds: float, right: bool, steady: bool) -> None:
        number = int(seconds / (self.parts[0].end - self.parts[0].start))
        part = self.parts[min(max(number, 0), PARTS - 1)]
        part.frames += 1
        part.right += right
        part.steady += steady

    def _add_to_spans(self, seconds: float, truth: str, announced: str | None) -> None:
        if self.spans and (self.spans[-1].truth, self.spans[-1].said) == (truth, announced):
            self.spans[-1].end = seconds
            return
        if self.spans and seconds - self.spans[-1].end < GAP:
            self.spans[-1].end = seconds
        self.spans.append(Span(seconds, seconds, truth, announced))

    @property
    def frames(self) -> int:
        """The number of frames with a label."""
        return sum(count.frames for count in self.labels.values())

    @property
    def accuracy(self) -> float:
        """The fraction of frames that were recognised alone."""
        return sum(count.right for count in self.labels.values()) / max(self.frames, 1)

    @property
    def steady_accuracy(self) -> float:
        """The fraction of frames at which the filtered label was right."""
        return sum(count.steady for count in self.labels.values()) / max(self.frames, 1)

    def as_values(self) -> dict[str, Any]:
        """Return everything but the spans as values for JSON."""
        return {
            "frames": self.frames,
            "accuracy": self.accuracy,
            "steady_accuracy": self.steady_accuracy,
            "labels": {
                label: {
                    "taught": label in self.known,
                    "frames": count.frames,
                    "right": count.right,
                    "unknown": count.unknown,
                    "steady": count.steady,
                    "taken_for": dict(count.taken_for.most_common()),
                }
                for label, count in self.labels.items()
            },
            "parts": [vars(part) for part in self.parts if part.frames],
        }
