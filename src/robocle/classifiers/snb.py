"""SNB: streaming Gaussian naive Bayes, a running variance an entry and class (Welford 1962).

With the variance v = (1 - shrinkage) variance + shrinkage, the default score is the log-likelihood
without priors: -1/2 sum((x - m)^2 / v + log v). `variant=published` is the public code's, which
drops x^2 / v and log v though they differ between classes: the reason for the paper's accuracies
near 0.
"""

import numpy as np

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector, appended
from robocle.spec import require_between, require_choice
from robocle.types import Scores


class StreamingNaiveBayes(ClassMeanClassifier):
    """Gaussian naive Bayes: one variance an entry and class."""

    def __init__(self, variant: str = "correct", shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_choice("variant", variant, ("correct", "published"))
        require_between("shrinkage", shrinkage, 1e-12, 1)
        self.variant = variant
        self.shrinkage = shrinkage
        self._squares: Matrix = np.empty((0, 0))
        self._precisions: Matrix = np.empty((0, 0))
        self._weights: Matrix = np.empty((0, 0))
        self._bias: Vector = np.empty(0)
        self._unsolved: set[int] = set()

    def _add_row(self) -> None:
        super()._add_row()
        self._squares = appended(self._squares, np.zeros(self.width or 0))
        self._make_room()

    def _learn(self, sample: Vector, row: int) -> None:
        deviation = sample - self._means[row]
        super()._learn(sample, row)
        self._squares[row] += deviation * (sample - self._means[row])
        self._unsolved.add(row)

    def _scores(self, vectors: Matrix) -> Scores:
        """-1/2 sum((x - m)^2 / v) as products with x^2 and x: no array of all pairs."""
        self._solve()
        linear: Scores = vectors @ self._weights.T + self._bias
        if self.variant == "published":
            return linear
        return linear - 0.5 * (vectors**2 @ self._precisions.T)

    def _solve(self) -> None:
        """Bring the classes up to date that have learnt since the last question."""
        for row in self._unsolved:
            variance = (1 - self.shrinkage) * self._squares[row] / self._counts[row]
            variance += self.shrinkage
            self._precisions[row] = 1 / variance
            self._weights[row] = self._means[row] / variance
            self._bias[row] = -0.5 * (self._means[row] @ self._weights[row])
            if self.variant == "correct":
                self._bias[row] -= 0.5 * np.log(variance).sum()
        self._unsolved.clear()

    def _make_room(self) -> None:
        """Every class has a row and is yet to be solved."""
        self._precisions = np.empty_like(self._means)
        self._weights = np.empty_like(self._means)
        self._bias = np.empty(len(self._means))
        self._unsolved = set(range(len(self._means)))

    def _merge(self, other: ClassMeanClassifier, rows: list[int]) -> None:
        assert isinstance(other, StreamingNaiveBayes)
        mine = np.array([self._counts[row] for row in rows], float)
        theirs = np.array(other._counts, float)
        weights = (mine * theirs / (mine + theirs))[:, None]
        between = other._means - self._means[rows]
        self._squares[rows] += other._squares + weights * between**2
        super()._merge(other, rows)
        self._make_room()

    def _forget(self, row: int) -> None:
        super()._forget(row)
        self._squares = np.delete(self._squares, row, axis=0)
        self._make_room()

    def _state(self) -> Arrays:
        return super()._state() | {"squares": self._squares.copy()}

    def _restore(self, state: ClassifierState) -> int | None:
        width = super()._restore(state)
        self._squares = state.take("squares", *self._means.shape)
        self._make_room()
        return width
