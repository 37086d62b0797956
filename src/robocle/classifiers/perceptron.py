"""The online perceptron: one row of weights per class, updated only on mistakes."""

from typing import ClassVar

from robocle.classifiers.class_rows import ClassRowClassifier
from robocle.classifiers.state import Matrix, Vector
from robocle.types import Scores


class OnlinePerceptron(ClassRowClassifier):
    """One row of weights per class, initialised to its first sample and updated on mistakes."""

    ROWS: ClassVar[tuple[str, ...]] = ("weights",)

    def _learn(self, sample: Vector, row: int) -> None:
        weights = self._rows["weights"]
        if self._counts[row] == 0:
            weights[row] = sample
            return
        predicted = int((weights @ sample).argmax())
        if predicted != row:
            weights[row] += sample
            weights[predicted] -= sample

    def _scores(self, embeddings: Matrix) -> Scores:
        scores: Scores = embeddings @ self._rows["weights"].T
        return scores
