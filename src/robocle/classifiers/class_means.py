"""Classifiers that keep a running mean of each class (eq. 2)."""

import numpy as np

from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
    appended,
)


class ClassMeanClassifier(StreamingClassifier):
    """Keeps the running class means; a subclass scores by them and may keep more."""

    def __init__(self) -> None:
        super().__init__()
        self._means: Matrix = np.empty((0, 0))

    def _add_row(self) -> None:
        self._means = appended(self._means, np.zeros(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        self._means[row] += (sample - self._means[row]) / (self._counts[row] + 1)

    def _forget(self, row: int) -> None:
        self._means = np.delete(self._means, row, axis=0)

    def _state(self) -> Arrays:
        return {"means": self._means.copy()}

    def _restore(self, state: ClassifierState) -> int | None:
        self._means = state.take("means", len(self._labels), None)
        return self._means.shape[1] or None
