"""Classifiers that compute scores from the running mean of each class (eq. 2)."""

import numpy as np

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.streaming import StreamingClassifier


class ClassMeanClassifier(StreamingClassifier):
    """Computes the running class means; subclasses may compute more."""

    def _reset(self) -> None:
        self._means: Matrix = np.empty((0, self.width or 0))

    def _add_row(self) -> None:
        self._means = np.vstack([self._means, np.zeros(self.width or 0)])

    def _learn(self, sample: Vector, row: int) -> None:
        self._means[row] += (sample - self._means[row]) / (self._counts[row] + 1)
