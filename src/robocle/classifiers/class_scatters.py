"""Classifiers that keep a mean and a scatter per class.

The scatter of a class with few samples has low rank, so it is kept as rows R with scatter R^T R:
one row per sample after the first. When there are twice as many rows as the width, R is replaced by
its triangular (QR) factor, which has the same R^T R and as many rows as the width. This is exact
and never takes more memory than two full matrices.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

import numpy as np

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.state import (
    Arrays,
    ClassifierState,
    Matrix,
    Ownership,
    RowsCountedBy,
    Shared,
    Vector,
)

Solution = TypeVar("Solution")


class ClassScatterClassifier(ClassMeanClassifier, Generic[Solution]):
    """Keeps the running mean and scatter of each class; subclasses compute scores from them."""

    def __init__(self) -> None:
        super().__init__()
        self._deviations: list[list[Vector]] = []
        self._solved: Solution | None = None

    @abstractmethod
    def _solve(self) -> Solution:
        """Compute from the means and scatters what scoring needs."""

    def _solution(self) -> Solution:
        """Return the solution. It is computed once after each change."""
        if self._solved is None:
            self._solved = self._solve()
        return self._solved

    def _add_row(self) -> None:
        super()._add_row()
        self._deviations.append([])

    def _learn(self, sample: Vector, row: int) -> None:
        count = self._counts[row]
        if count:
            weight = math.sqrt(count / (count + 1))
            self._deviations[row].append(weight * (sample - self._means[row]))
        super()._learn(sample, row)
        self._solved = None
        if len(self._deviations[row]) >= 2 * len(sample):
            self._deviations[row] = list(self._factor(row))

    def _factor(self, row: int) -> Matrix:
        """Return at most `width` rows R such that R^T R is the scatter of a class."""
        rows = np.array(self._deviations[row]).reshape(-1, self.width or 0)
        if len(rows) <= rows.shape[1]:
            return rows
        return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)

    def _merge(self, other: ClassMeanClassifier, rows: list[int]) -> None:
        assert isinstance(other, ClassScatterClassifier)
        for number, row in enumerate(rows):
            mine, theirs = self._counts[row], other._counts[number]
            between = other._means[number] - self._means[row]
            self._deviations[row] = self._deviations[row] + other._deviations[number]
            if mine:
                weight = math.sqrt(mine * theirs / (mine + theirs))
                self._deviations[row].append(weight * between)
        super()._merge(other, rows)
        self._solved = None

    def _forget(self, row: int) -> None:
        super()._forget(row)
        del self._deviations[row]
        self._solved = None

    def _state(self) -> Arrays:
        factors = [self._factor(row) for row in range(len(self._labels))]
        return super()._state() | {
            "deviations": np.vstack([*factors, np.empty((0, self.width or 0))]),
            "deviation_counts": np.array([len(factor) for factor in factors], np.int64),
        }

    def _restore(self, state: ClassifierState) -> int | None:
        width = super()._restore(state)
        rows = state.split("deviations", "deviation_counts", width or 0)
        self._deviations = [list(np.array(own, np.float64)) for own in rows]
        self._solved = None
        return width

    def _array_owners(self) -> Mapping[str, Ownership]:
        return {
            **super()._array_owners(),
            "deviations": RowsCountedBy("deviation_counts"),
            "deviation_counts": Shared(),
        }
