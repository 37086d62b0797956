"""Intervals: which object a recording shows when, as a small CSV file.

    start,end,label
    0.0,4.5,mug
    5.0,9.0,keys

The times are seconds since the start of the bag. Between the intervals there is no label.
"""

import csv
import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from robocle.classifiers.labels import require_label
from robocle.errors import DataError, LabelError

HEADER = ["start", "end", "label"]


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
