"""kNN: the nearest neighbours among the last samples of each label."""

import numpy as np
from scipy.spatial.distance import cdist

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class NearestNeighbours(StreamingClassifier):
    """The nearest of the last samples; the score is minus the mean distance to the k nearest.

    Args:
        k: How many samples of a label count. A label with fewer is scored by those it has.
        per_class: How many samples of each label are compared: the last ones.

    Raises:
        SpecError: An option is out of range.

    Example:
        >>> clf = NearestNeighbours(k=1)
        >>> clf.learn([0, 0], "mug")
        >>> clf.learn([3, 4], "pan")
        >>> clf.scores([[0, 0]]).tolist()
        [[-0.0, -5.0]]
    """

    def __init__(self, k: int = 3, per_class: int = 20) -> None:
        super().__init__()
        require_between("k", k, 1, 1000)
        require_between("per_class", per_class, 1, 100_000)
        self.k = k
        self.per_class = per_class

    def _reset(self) -> None:
        self._last: list[Matrix] = []  # the last samples of each label

    def _add_row(self) -> None:
        self._last.append(np.empty((0, self.width or 0)))

    def _learn(self, sample: Vector, row: int) -> None:
        self._last[row] = np.vstack([self._last[row], sample])[-self.per_class :]

    def _scores(self, embeddings: Matrix) -> Scores:
        columns = [self._distance(embeddings, samples) for samples in self._last]
        return -np.stack(columns, axis=1)

    def _distance(self, embeddings: Matrix, samples: Matrix) -> Vector:
        nearest = np.sort(cdist(embeddings, samples), axis=1)[:, : self.k]
        mean: Vector = nearest.mean(axis=1)
        return mean
