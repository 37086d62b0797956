"""kNN: the nearest neighbours among the last samples of each label."""

from collections.abc import Mapping

import numpy as np
from scipy.spatial.distance import cdist

from robocle.classifiers.state import (
    Arrays,
    ClassifierState,
    Matrix,
    Ownership,
    RowsCountedBy,
    Vector,
)
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class NearestNeighbours(StreamingClassifier):
    """The nearest stored samples; the score is minus the mean distance to the k nearest.

    It stores embeddings: the last `per_class` of each label.

    Args:
        k: How many samples of a label count. A label with fewer is scored by those it has.
        per_class: How many samples of each label are stored.

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
        self._samples: list[Matrix] = []

    @property
    def forgets_exactly(self) -> bool:
        """True: every stored sample belongs to one label."""
        return True

    def _add_row(self) -> None:
        self._samples.append(np.empty((0, self.width or 0)))

    def _learn(self, sample: Vector, row: int) -> None:
        self._samples[row] = np.vstack([self._samples[row], sample])[-self.per_class :]

    def _scores(self, embeddings: Matrix) -> Scores:
        columns = [self._distance(embeddings, samples) for samples in self._samples]
        return -np.stack(columns, axis=1)

    def _distance(self, embeddings: Matrix, samples: Matrix) -> Vector:
        nearest = np.sort(cdist(embeddings, samples), axis=1)[:, : self.k]
        mean: Vector = nearest.mean(axis=1)
        return mean

    def _forget(self, row: int) -> None:
        del self._samples[row]

    def _state(self) -> Arrays:
        counts = np.array([len(samples) for samples in self._samples], np.int64)
        rows = np.vstack(self._samples) if self._samples else np.empty((0, 0))
        return {"samples": rows, "sample_counts": counts}

    def _restore(self, state: ClassifierState) -> int | None:
        width = state.checked("samples", None, None).shape[1]
        split = state.split("samples", "sample_counts", width)
        self._samples = [np.array(samples, np.float64) for samples in split]
        return width or None

    def _array_owners(self) -> Mapping[str, Ownership]:
        return {"samples": RowsCountedBy("sample_counts")}
