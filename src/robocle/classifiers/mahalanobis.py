"""Mahalanobis++: the Mahalanobis distance between normalised embeddings.

Mueller & Hein, "Mahalanobis++: improving OOD detection via feature normalization" (2025). Every
embedding gets the same length, and the covariance is shared by all classes. The score, unlike that
of `slda`, includes the distance itself, so its maximum tells how familiar a picture is.
"""

import math

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import directions
from robocle.classifiers.sqda import StreamingQDA
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class NormalisedMahalanobis(StreamingClassifier):
    """The Mahalanobis distance between normalised embeddings, with one shared covariance.

    Args:
        shrinkage: The weight of the identity in the covariance of embeddings whose entries have a
            mean square of 1.
    """

    def __init__(self, shrinkage: float = 0.1) -> None:
        super().__init__()
        require_between("shrinkage", shrinkage, 1e-9, 1)
        self.shrinkage = shrinkage

    def _reset(self) -> None:
        self._inner = StreamingQDA(shared=1, shrinkage=self.shrinkage)

    def _add_row(self) -> None:
        """Do nothing: the inner classifier adds its own row."""

    def _learn(self, sample: Vector, row: int) -> None:
        self._inner.learn(self._normalised(sample), str(row))  # labels may be renamed, rows not

    def _normalised(self, embeddings: Matrix) -> Matrix:
        return math.sqrt(embeddings.shape[-1]) * directions(embeddings)

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._inner.scores(self._normalised(embeddings))
