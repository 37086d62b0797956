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

    @property
    def forgets_exactly(self) -> bool:
        """A label's numbers are its own: nothing of a forgotten one stays."""
        return True

    def _why_no_merge(self) -> None:
        return None

    def _merge(self, other: "ClassMeanClassifier", rows: list[int]) -> None:
        mine = np.array([self._counts[row] for row in rows], float)
        theirs = np.array(other._counts, float)
        steps = (theirs / (mine + theirs))[:, None]
        self._means[rows] += steps * (other._means - self._means[rows])

    def _forget(self, row: int) -> None:
        self._means = np.delete(self._means, row, axis=0)

    def _state(self) -> Arrays:
        return {"means": self._means.copy()}

    def _restore(self, state: ClassifierState) -> int | None:
        self._means = state.take("means", len(self._labels), None)
        return self._means.shape[1] or None
