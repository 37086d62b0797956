"""NCM: the nearest class mean (eq. 2)."""

import numpy as np
from scipy.spatial.distance import cdist

from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
)
from robocle.types import Scores


class NearestClassMean(StreamingClassifier):
    """The nearest class mean by Euclidean distance."""

    def __init__(self) -> None:
        super().__init__()
        self._means: list[Vector] = []

    def _add_row(self) -> None:
        self._means.append(np.zeros(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        self._means[row] += (sample - self._means[row]) / (self._counts[row] + 1)

    def _scores(self, vectors: Matrix) -> Scores:
        distances: Scores = cdist(vectors, np.array(self._means), "sqeuclidean")
        return -distances

    def _forget(self, row: int) -> None:
        del self._means[row]

    def _state(self) -> Arrays:
        return {"means": np.array(self._means).reshape(len(self._means), self.width or 0)}

    def _restore(self, state: ClassifierState) -> int | None:
        means = state.take("means", len(self._labels), None)
        self._means = list(means)
        return means.shape[1] or None
