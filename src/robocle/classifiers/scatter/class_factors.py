"""Class factors: the contribution of each class to a shared scatter, so that it can be removed.

The factor of a class consists of rows R such that R^T R is the contribution of the class: one row
per sample after the first. If that becomes too many, R may be replaced by its triangular (QR)
factor, which has the same R^T R. A row may be shorter than the width: missing entries are zero.

The rows and the mean of a class determine its samples up to rounding: see the page on classifiers.

When all rows together would take more memory than the scatter itself, only a subsample of them is
kept. Classes can then no longer be removed exactly, but leave-one-out scores can be computed.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.helmert import (
    Counts,
    joined_contrasts,
    residual_weights,
    residuals_of,
)
from robocle.classifiers.scatter.shared_rows import SharedRows
from robocle.classifiers.scatter.subsample import SUBSAMPLE, most_rows
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector

# Up to this many rows are kept even if the scatter is narrower: they take little memory.
MIN_ROWS = 256

Numbers = NDArray[np.int64]
SampleIndex = tuple[int, int]
"""A class, and the index of a sample within it."""


class ClassFactors:
    """The rows that each class contributes to a scatter: all of them, a subsample, or none.

    Args:
        complete: Whether all rows are kept, up to the limit of `bound`.
        subsample: How many rows are kept beyond that limit.
        most: How many rows are all kept; None for as many as the scatter has.
    """

    def __init__(
        self, *, complete: bool = True, subsample: int = SUBSAMPLE, most: int | None = None
    ) -> None:
        self.complete = complete
        self.most = most
        self._subsample = subsample
        self._rows: list[list[Vector]] = []
        self.redrawn = 0
        """How often rows were changed, other than by adding one."""
        self._shared: SharedRows | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> "ClassFactors":
        """Return a copy that shares the rows, because they are never modified in place."""
        copied = copy.copy(self)
        copied._rows = [rows.copy() for rows in self._rows]
        return copied

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are kept at all."""
        return self.complete or self._subsample > 0

    def add_class(self) -> None:
        """Add a class without rows."""
        self._rows.append([])

    def remove_class(self, number: int) -> None:
        """Remove a class and its rows."""
        self.redrawn += 1
        del self._rows[number]

    def add(self, number: int, row: Vector) -> None:
        """Add row^T row to the contribution of a class. A full subsample ignores the row."""
        if self.complete:
            self._rows[number].append(row.copy())
        elif len(self._rows[number]) < most_rows(number, len(self._rows), self._subsample):
            self._rows[number].append(row.astype(np.float32))

    def bound(self, width: int, rank: int | None = None) -> None:
        """Draw a subsample if there are more rows than the scatter has.

        Args:
            width: The width of the scatter.
            rank: The rank of the scatter, if it is known: a class needs no more rows than this.
        """
        most = max(width, MIN_ROWS) if self.most is None else self.most
        if self.complete and len(self) > most and rank is not None:
            self._triangularise(rank)
        if self.complete and len(self) > most:
            self._draw_subsample()

    def count(self, number: int) -> int:
        """Return how many rows of a class are kept."""
        return len(self._rows[number])

    def rows(self, number: int, width: int, start: int = 0) -> Matrix:
        """Return the rows of a class, padded with zeros to the width, from one of them on."""
        kept = self._rows[number][start:]
        found = np.zeros((len(kept), width))
        for index, row in enumerate(kept):
            found[index, : len(row)] = row
        return found

    def all_rows(self, width: int) -> Matrix:
        """Return the rows of all classes, in the order of the classes."""
        each = [self.rows(number, width) for number in range(len(self._rows))]
        return np.vstack([*each, np.empty((0, width))])

    def residual_counts(self, counts: Sequence[int]) -> Numbers:
        """Return how many residuals of each class are available.

        Args:
            counts: The number of samples taught per class.
        """
        kept, taught = np.fromiter(map(len, self._rows), np.int64), np.array(counts, np.int64)
        return np.where(kept == taught - 1, taught, kept)

    def residuals(
        self,
        samples: Sequence[SampleIndex],
        counts: Sequence[int],
        class_rows: Mapping[int, Matrix],
    ) -> list[Vector]:
        """Return one row per sample: its deviation from its class mean.

        If a class does not have one row for each sample after the first, its rows are used in place
        of the samples: they have the same second moments.

        Args:
            samples: The samples, in the order of the classes.
            counts: The number of samples taught per class.
            class_rows: The rows of each class, in any coordinates.
        """
        found: list[Vector] = []
        for number, chosen in groupby(samples, key=lambda sample: sample[0]):
            own = self._residuals(class_rows[number], counts[number])
            found += [own[index] for _, index in chosen]
        return found

    def _residuals(self, rows: Matrix, count: int) -> Matrix:
        if len(rows) == count - 1:
            return residuals_of(rows)
        samples = len(rows) if self.complete else count - 1  # triangular rows represent all samples
        return math.sqrt(samples / count) * rows

    def residual_maps(self, kept: Numbers, counts: Numbers, indices: Numbers, rows: int) -> Matrix:
        """Return T per class, with which T R are residuals: (classes, residuals, rows).

        Args:
            kept: The number of rows of each class.
            counts: The number of samples taught of each.
            indices: Which residuals of each are wanted, (classes, residuals).
            rows: The number of rows that R is padded to with zeros.
        """
        samples = kept if self.complete else counts - 1
        scale = np.sqrt(samples / counts)[:, None, None]
        maps = np.where(
            (counts == kept + 1)[:, None, None],
            residual_weights(rows)[indices],
            scale * np.eye(rows + 1, rows)[indices],
        )
        return np.asarray(maps * (np.arange(rows) < kept[:, None, None]))

    def transformed(self, matrix: Matrix) -> "ClassFactors":
        """Return the same factors with every row r replaced by r @ matrix."""
        result = ClassFactors(complete=self.complete, subsample=self._subsample, most=self.most)
        result.redrawn = self.redrawn
        for number in range(len(self._rows)):
            result._rows.append(list(self.rows(number, len(matrix)) @ matrix))
        return result

    def has_samples(self, counts: Sequence[int]) -> bool:
        """Return whether the rows determine all samples: one row for each after the first."""
        if not self.complete or len(self) != sum(counts) - len(counts):
            return False
        return all(len(rows) == n - 1 for rows, n in zip(self._rows, counts, strict=True))

    def begin(self, rows: Matrix, counts: Sequence[int]) -> None:
        """Start from the rows of one class after another, one for each sample after the first."""
        if not self.complete:
            rows, counts = rows[:0], [1] * len(counts)
        ends = np.cumsum(np.array(counts, np.int64) - 1).tolist()
        self._rows = [
            list(rows[end - count + 1 : end]) for end, count in zip(ends, counts, strict=True)
        ]
        self.redrawn += 1

    def merge(
        self, other: "ClassFactors", numbers: list[int], between: Matrix, counts: list[Counts]
    ) -> None:
        """Add the factors of another classifier.

        The rows of a class are afterwards those of its samples here, followed by those of the other
        classifier, if both have a row for each sample after the first.

        Args:
            other: The factors to add.
            numbers: The index, in these factors, of each class of the other.
            between: One row per class of the other: what the difference of the means contributes.
            counts: The number of samples here and there per class of the other. Zeros if the rows
                are not deviations from a mean.
        """
        self.redrawn += 1
        self.complete = self.complete and other.complete
        width = between.shape[1]
        for theirs, (mine, row) in enumerate(zip(numbers, between, strict=True)):
            here, there = counts[theirs]
            kept = len(self._rows[mine]), len(other._rows[theirs])
            if here and there and kept == (here - 1, there - 1):
                rows = self.rows(mine, width), other.rows(theirs, width)
                self._rows[mine] = list(joined_contrasts(*rows, row))
            else:
                added = [row.copy()] if row.any() else []
                self._rows[mine] = self._rows[mine] + other._rows[theirs] + added
        if not self.complete:
            self._draw_subsample()

    def state(self, width: int) -> Arrays:
        """Return the arrays under the names that they have in state files."""
        if not (self.complete or len(self)):
            return {}
        counts = np.array([len(rows) for rows in self._rows], np.int64)
        if self.complete:
            return {"part_rows": self.all_rows(width), "part_counts": counts}
        return {"sample_rows": self._shared_rows(width), "sample_counts": counts}

    def joined(self, width: int) -> tuple[NDArray[Any], list[range]] | None:
        """Return the rows of a subsample in one array that is never modified, for all classes.

        The second value is where the rows of each class are. None if all rows are kept, or none.
        """
        if self.complete or not len(self):
            return None
        ends = np.cumsum([len(rows) for rows in self._rows]).tolist()
        pairs = zip(ends, self._rows, strict=True)
        return self._shared_rows(width), [range(end - len(rows), end) for end, rows in pairs]

    def _shared_rows(self, width: int) -> NDArray[np.float32]:
        """Return the rows of the subsample in one array, of which they are views from now on."""
        version = self.redrawn, len(self), width
        if self._shared is None or self._shared.version != version:
            self._shared = SharedRows.of(version, chain.from_iterable(self._rows))
            self._rows = self._shared.split([len(rows) for rows in self._rows])
        return self._shared.rows

    def restore(self, state: ClassifierState, width: int) -> None:
        """Replace the rows with those in a state: all rows, a subsample, or none."""
        self.redrawn += 1
        self._rows = [[] for _ in state.labels]
        if not (self.complete or self._subsample):
            return
        self.complete = state.has("part_rows") or state.has("part_counts")
        kind = "part" if self.complete else "sample"
        if self.complete or state.has("sample_rows") or state.has("sample_counts"):
            # The rows are never modified in place, so they need not be copied.
            rows = state.split(f"{kind}_rows", f"{kind}_counts", width)
            self._rows = [list(own) for own in rows]
        if not self.complete and len(self):
            joined = state.arrays[state.prefix + "sample_rows"]
            self._shared = SharedRows.known((self.redrawn, len(self), width), joined)

    def _triangularise(self, rank: int) -> None:
        """Replace the rows of each class by at most `rank` rows with the same R^T R."""
        self.redrawn += 1
        for number, rows in enumerate(self._rows):
            if len(rows) > rank:
                self._rows[number] = list(np.linalg.qr(self.rows(number, rank), mode="r"))

    def _draw_subsample(self) -> None:
        """Keep the same number of rows per class, evenly spaced."""
        self.redrawn += 1
        self.complete = False
        for number, rows in enumerate(self._rows):
            most = most_rows(number, len(self._rows), self._subsample)
            kept = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)
            # A subsample is an estimate: float32 holds it in half the memory.
            self._rows[number] = [rows[index].astype(np.float32) for index in kept]
