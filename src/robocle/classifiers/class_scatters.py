"""Classifiers that keep a mean and a scatter of each class.

A class of few samples has a scatter of low rank, so it is kept as rows R with scatter R^T R: one
row a sample after the first, until they are twice as many as the width. Then R is replaced by its
triangular factor, which has the same R^T R and as many rows as the width. Exact, and never larger
than two full matrices.
"""

import math
from abc import abstractmethod
from typing import Generic, TypeVar

import numpy as np

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector
from robocle.errors import StateError

Solution = TypeVar("Solution")


class ClassScatterClassifier(ClassMeanClassifier, Generic[Solution]):
    """Keeps the running mean and scatter of each class; a subclass scores by its solution."""

    def __init__(self) -> None:
        super().__init__()
        self._deviations: list[list[Vector]] = []
        self._solved: Solution | None = None

    @abstractmethod
    def _solve(self) -> Solution:
        """What scoring needs, worked out from means and scatters."""

    def _solution(self) -> Solution:
        """The solution of all that has been learnt; worked out once after each change."""
        if self._solved is None:
            self._solved = self._solve()
        return self._solved

    def _add_row(self) -> None:
        super()._add_row()
        self._deviations.append([])

    def _learn(self, sample: Vector, row: int) -> None:
        count = self._counts[row]
        if count:
            share = math.sqrt(count / (count + 1))
            self._deviations[row].append(share * (sample - self._means[row]))
        super()._learn(sample, row)
        self._solved = None
        if len(self._deviations[row]) >= 2 * len(sample):
            self._deviations[row] = list(self._factor(row))

    def _factor(self, row: int) -> Matrix:
        """Rows R with R^T R the scatter of a class, at most as many as the width."""
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
                share = math.sqrt(mine * theirs / (mine + theirs))
                self._deviations[row].append(share * between)
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
        counts = state.take("deviation_counts", len(self._labels)).astype(np.int64)
        rows = state.take("deviations", None, width or 0)
        if (counts < 0).any() or counts.sum() != len(rows):
            raise StateError("state does not say whose deviations it holds")
        self._deviations = [list(part) for part in np.split(rows, np.cumsum(counts)[:-1])]
        self._deviations = self._deviations[: len(self._labels)]
        self._solved = None
        return width
