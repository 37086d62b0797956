"""Each class's own part of a shared scatter, so that it can be taken out and added again.

A part is kept as rows R, R^T R being what the class gave to the scatter: one row a sample after
the first, and no more than the width (then R is replaced by its triangular factor, which has the
same R^T R). Rows may be shorter than the width: the entries they lack are zero.

When all rows together would need more room than the scatter itself, only a sample of them is kept:
no class can be taken out any more, but the classifier can still rehearse.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector
from robocle.errors import StateError

# Parts of a narrow scatter are kept at least up to this many rows: they cost nothing.
MIN_ROWS = 256
# How many rows a sample has, and how many of each class at least.
SAMPLED, SAMPLED_EACH = 256, 4


Pick = tuple[int, int]
"""A class, and which of its samples."""


class ClassFactors:
    """The rows that each class gave to a scatter: all of them, or a sample."""

    def __init__(self, *, complete: bool = True, sampled: int = SAMPLED) -> None:
        self.complete = complete
        self._sampled = sampled
        self._rows: list[list[Vector]] = []

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def add_class(self) -> None:
        """Make room for a new class."""
        self._rows.append([])

    def remove_class(self, number: int) -> None:
        """Drop a class and its rows."""
        del self._rows[number]

    def add(self, number: int, row: Vector) -> None:
        """Add row^T row to a class's part; a sample that is full stays as it is."""
        if self.complete or len(self._rows[number]) < self._sample_size():
            self._rows[number].append(row.copy())

    def bound(self, width: int, rank: int | None = None) -> None:
        """Keep no more rows than the scatter itself would take, or next to nothing.

        Rows of a small rank may be shortened first.
        """
        most = max(width, MIN_ROWS)
        if self.complete and len(self) > most and rank is not None:
            self._shorten(rank)
        if self.complete and len(self) > most:
            self._thin()

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

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        """How many residuals there are of each class, which was taught `counts` samples."""
        kept = zip(self._rows, counts, strict=True)
        return [count if len(rows) == count - 1 else len(rows) for rows, count in kept]

    def residuals(self, picked: Sequence[Pick], counts: Sequence[int], width: int) -> Matrix:
        """Deviations from the class means that stand for the samples picked, a row each."""
        found = np.zeros((len(picked), width))
        for number in {number for number, _ in picked}:
            at = [index for index, (of, _) in enumerate(picked) if of == number]
            places = np.array([picked[index][1] for index in at])
            found[at] = self._residuals(number, places, counts[number], width)
        return found

    def _residuals(self, number: int, places: NDArray[np.int64], count: int, width: int) -> Matrix:
        """One row a sample after the first is the samples turned by Helmert's matrix.

        So turned back they are the samples' own deviations. Other rows are alike on average.
        """
        rows = self.rows(number, width)
        if len(rows) == count - 1:
            return _helmert_back(places, count) @ rows
        samples = len(rows) if self.complete else count - 1  # rows that were shortened hold more
        return math.sqrt(samples / count) * rows[places]

    def turned(self, turn: Matrix) -> "ClassFactors":
        """The same parts with every row r as r @ turn."""
        turned = ClassFactors(complete=self.complete, sampled=self._sampled)
        for number in range(len(self._rows)):
            turned._rows.append(list(self.rows(number, len(turn)) @ turn))
        return turned

    def take(self, other: "ClassFactors", numbers: list[int], between: Matrix) -> None:
        """Add the parts of another; `numbers` are its classes here.

        The rows `between`, one a class, are what the way between two means adds.
        """
        self.complete = self.complete and other.complete
        for number, rows, way in zip(numbers, other._rows, between, strict=True):
            ways = [way.copy()] if way.any() else []
            self._rows[number] = self._rows[number] + rows + ways
        if not self.complete:
            self._thin()

    def state(self, width: int) -> Arrays:
        if not (self.complete or len(self)):
            return {}
        kind = "part" if self.complete else "sample"
        counts = np.array([len(rows) for rows in self._rows], np.int64)
        return {f"{kind}_rows": self.all_rows(width), f"{kind}_counts": counts}

    def restore(self, state: ClassifierState, prefix: str, width: int) -> "ClassFactors":
        """Take over the parts in a state, whole or a sample, if it keeps any."""
        self._rows = [[] for _ in state.labels]
        found = {name.removeprefix(prefix) for name in state.arrays}
        self.complete = not found.isdisjoint({"part_rows", "part_counts"})
        if self.complete:
            self._take_rows(state, f"{prefix}part", width)
        elif not found.isdisjoint({"sample_rows", "sample_counts"}):
            self._take_rows(state, f"{prefix}sample", width)
        return self

    def _take_rows(self, state: ClassifierState, name: str, width: int) -> None:
        rows = state.look(f"{name}_rows", None, width)  # rows are never changed in place
        counts = state.take(f"{name}_counts", len(state.labels)).astype(np.int64)
        if (counts < 0).any() or counts.sum() != len(rows):
            raise StateError("state does not say whose part of the scatter it holds")
        ends = np.cumsum(counts).tolist()
        for number, (count, end) in enumerate(zip(counts.tolist(), ends, strict=True)):
            self._rows[number] = list(rows[end - count : end])

    def _shorten(self, width: int) -> None:
        """Bring every class down to at most `width` rows."""
        for number, rows in enumerate(self._rows):
            if len(rows) > width:
                self._rows[number] = list(np.linalg.qr(self.rows(number, width), mode="r"))

    def _thin(self) -> None:
        """Keep a sample: of each class alike, evenly spread."""
        self.complete = False
        most = self._sample_size()
        for number, rows in enumerate(self._rows):
            kept = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)
            self._rows[number] = [rows[index] for index in kept]

    def _sample_size(self) -> int:
        """How many rows of one class a sample has."""
        if not self._sampled:
            return 0
        return max(SAMPLED_EACH, self._sampled // len(self._rows))


def _helmert_back(places: NDArray[np.int64], count: int) -> Matrix:
    """Some rows of Helmert's matrix transposed: from contrasts to the samples at these places.

    A contrast is a sample less the mean of those before it, times sqrt(c / (c + 1)).
    """
    before = np.arange(1, count, dtype=float)
    later = np.where(before > places[:, None], -1 / np.sqrt(before * (before + 1)), 0.0)
    own = before == places[:, None]
    return np.where(own, np.sqrt(before / (before + 1)), later)
