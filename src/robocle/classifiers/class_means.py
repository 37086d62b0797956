"""Classifiers that keep a running mean of each class (eq. 2)."""

from typing import ClassVar

import numpy as np

from robocle.classifiers.class_rows import ClassRowClassifier
from robocle.classifiers.state import Matrix, Vector


class ClassMeanClassifier(ClassRowClassifier):
    """Keeps the running class means; subclasses compute scores from them and may keep more."""

    ROWS: ClassVar[tuple[str, ...]] = ("means",)

    @property
    def _means(self) -> Matrix:
        return self._rows["means"]

    def _learn(self, sample: Vector, row: int) -> None:
        self._means[row] += (sample - self._means[row]) / (self._counts[row] + 1)

    @property
    def forgets_exactly(self) -> bool:
        """True: every array row belongs to one label."""
        return True

    def _merge_obstacle(self) -> None:
        return None

    def _merge(self, other: "ClassMeanClassifier", rows: list[int]) -> None:
        mine = np.array([self._counts[row] for row in rows], float)
        theirs = np.array(other._counts, float)
        steps = (theirs / (mine + theirs))[:, None]
        self._means[rows] += steps * (other._means - self._means[rows])
