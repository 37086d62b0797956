"""The online perceptron, a baseline of the paper.

Each class has a row of weights, which begins as its first sample. When a sample is mistaken, it is
added to the row of its class and subtracted from the predicted one.
"""

import numpy as np

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.types import Scores


class OnlinePerceptron(StreamingClassifier):
    """One row of weights per class, updated only on mistakes."""

    def _reset(self) -> None:
        self._weights: Matrix = np.empty((0, self.width or 0))

    def _add_row(self) -> None:
        self._weights = np.vstack([self._weights, np.zeros(self.width or 0)])

    def _learn(self, sample: Vector, row: int) -> None:
        if self._counts[row] == 0:
            self._weights[row] = sample
            return
        predicted = int((self._weights @ sample).argmax())
        if predicted != row:
            self._weights[row] += sample
            self._weights[predicted] -= sample

    def _scores(self, embeddings: Matrix) -> Scores:
        scores: Scores = embeddings @ self._weights.T
        return scores
