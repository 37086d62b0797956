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
        self._solved: tuple[Matrix, Matrix, Vector] | None = None

    def _add_row(self) -> None:
        super()._add_row()
        self._squares = appended(self._squares, np.zeros(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        deviation = sample - self._means[row]
        super()._learn(sample, row)
        self._squares[row] += deviation * (sample - self._means[row])
        self._solved = None

    def _scores(self, vectors: Matrix) -> Scores:
        """-1/2 sum((x - m)^2 / v) as products with x^2 and x: no array of all pairs."""
        if self._solved is None:
            self._solved = self._solve()
        precisions, weights, bias = self._solved
        linear: Scores = vectors @ weights.T + bias
        if self.variant == "published":
            return linear
        return linear - 0.5 * (vectors**2 @ precisions.T)

    def _solve(self) -> tuple[Matrix, Matrix, Vector]:
        counts = np.array(self._counts, np.float64)[:, None]
        variances = (1 - self.shrinkage) * self._squares / counts + self.shrinkage
        weights = self._means / variances
        bias = -0.5 * (self._means * weights).sum(axis=1)
        if self.variant == "correct":
            bias -= 0.5 * np.log(variances).sum(axis=1)
        return 1 / variances, weights, bias

    def _forget(self, row: int) -> None:
        super()._forget(row)
        self._squares = np.delete(self._squares, row, axis=0)
        self._solved = None

    def _state(self) -> Arrays:
        return super()._state() | {"squares": self._squares.copy()}

    def _restore(self, state: ClassifierState) -> int | None:
        width = super()._restore(state)
        self._squares = state.take("squares", *self._means.shape)
        self._solved = None
        return width
