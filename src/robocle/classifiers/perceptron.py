"""The online perceptron: one weight vector a class, moved only by mistakes."""

import numpy as np

from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
    appended,
)
from robocle.types import Scores


class OnlinePerceptron(StreamingClassifier):
    """A weight vector a class: its first sample, then moved by each mistake."""

    def __init__(self) -> None:
        super().__init__()
        self._weights: Matrix = np.empty((0, 0))

    def _add_row(self) -> None:
        self._weights = appended(self._weights, np.zeros(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        if self._counts[row] == 0:
            self._weights[row] = sample
            return
        answer = int((self._weights @ sample).argmax())
        if answer != row:
            self._weights[row] += sample
            self._weights[answer] -= sample

    def _scores(self, vectors: Matrix) -> Scores:
        scores: Scores = vectors @ self._weights.T
        return scores

    def _forget(self, row: int) -> None:
        self._weights = np.delete(self._weights, row, axis=0)

    def _state(self) -> Arrays:
        return {"weights": self._weights.copy()}

    def _restore(self, state: ClassifierState) -> int | None:
        self._weights = state.take("weights", len(self._labels), None)
        return self._weights.shape[1] or None
