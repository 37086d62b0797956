"""Each class's own part of a shared scatter, so that it can be taken out and added again.

A part is kept as rows R, R^T R being what the class gave to the scatter: one row a sample after
the first, and no more than the width (then R is replaced by its triangular factor, which has the
same R^T R). Rows may be shorter than the width: the entries they lack are zero.
"""

import numpy as np

from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector
from robocle.errors import StateError

# Parts of a narrow scatter are kept at least up to this many rows: they cost nothing.
MIN_ROWS = 256


def most_rows(width: int) -> int:
    """How many rows may be kept: no more than the scatter itself would take, or next to nothing."""
    return max(width, MIN_ROWS)


class ClassParts:
    """The rows that each class gave to a scatter."""

    def __init__(self, classes: int = 0) -> None:
        self._rows: list[list[Vector]] = [[] for _ in range(classes)]

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def add_class(self) -> None:
        """Make room for a new class."""
        self._rows.append([])

    def remove_class(self, number: int) -> None:
        """Drop a class and its rows."""
        del self._rows[number]

    def add(self, number: int, row: Vector) -> None:
        """Add row^T row to a class's part."""
        self._rows[number].append(row)

    def rows(self, number: int, width: int) -> Matrix:
        """The rows of a class, at full width."""
        found = np.zeros((len(self._rows[number]), width))
        for index, row in enumerate(self._rows[number]):
            found[index, : len(row)] = row
        return found

    def all_rows(self, width: int) -> Matrix:
        """The rows of all classes, in the order of the classes."""
        each = [self.rows(number, width) for number in range(len(self._rows))]
        return np.vstack([*each, np.empty((0, width))])

    def shorten(self, width: int) -> None:
        """Bring every class down to at most `width` rows."""
        for number, rows in enumerate(self._rows):
            if len(rows) > width:
                self._rows[number] = list(np.linalg.qr(self.rows(number, width), mode="r"))

    def turned(self, turn: Matrix) -> "ClassParts":
        """The same parts with every row r as r @ turn."""
        turned = ClassParts()
        for number in range(len(self._rows)):
            turned._rows.append(list(self.rows(number, len(turn)) @ turn))
        return turned

    def take(self, other: "ClassParts", numbers: list[int]) -> None:
        """Add the parts of another; `numbers` are its classes here."""
        for number, rows in zip(numbers, other._rows, strict=True):
            self._rows[number] = self._rows[number] + rows

    def state(self, width: int) -> Arrays:
        counts = np.array([len(rows) for rows in self._rows], np.int64)
        return {"part_rows": self.all_rows(width), "part_counts": counts}

    @classmethod
    def restored(cls, state: ClassifierState, prefix: str, width: int) -> "ClassParts | None":
        """The parts in a state, or None if it keeps none."""
        names = [f"{prefix}part_rows", f"{prefix}part_counts"]
        if not any(name in state.arrays for name in names):
            return None
        rows = state.look(names[0], None, width)  # rows are never changed in place
        counts = state.take(names[1], len(state.labels)).astype(np.int64)
        if (counts < 0).any() or counts.sum() != len(rows):
            raise StateError("state does not say whose part of the scatter it holds")
        parts = cls()
        ends = np.cumsum(counts).tolist()
        for count, end in zip(counts.tolist(), ends, strict=True):
            parts._rows.append(list(rows[end - count : end]))
        return parts
