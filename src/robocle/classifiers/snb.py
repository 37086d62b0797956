"""SNB: streaming Gaussian naive Bayes, one running variance per class and entry (Welford 1962).

With v = (1 - shrinkage) variance + shrinkage, the score is the log-likelihood without priors,
-1/2 sum((x - m)^2 / v + log v). `variant=published` computes what the public code does: it drops
x^2 / v and log v, although they differ between classes. Hence the paper's accuracies near 0. Its
variance divides the squared deviations by n - 1, that of `correct` by n.
"""

from typing import ClassVar

import numpy as np

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.state import ClassifierState, Matrix, Vector
from robocle.classifiers.variant import Variant, require_variant
from robocle.spec import require_between
from robocle.types import Scores


class StreamingNaiveBayes(ClassMeanClassifier):
    """Gaussian naive Bayes: one variance per class and entry of the embedding.

    Args:
        variant: `correct`, or `published`: with the terms and the variance of the public code.
        shrinkage: The weight of a variance of 1 in each variance.
    """

    ROWS: ClassVar[tuple[str, ...]] = ("means", "squares")

    def __init__(self, variant: Variant = "correct", shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_variant(variant)
        require_between("shrinkage", shrinkage, 1e-12, 1)
        self.variant = variant
        self.shrinkage = shrinkage
        self._precisions: Matrix = np.empty((0, 0))
        self._weights: Matrix = np.empty((0, 0))
        self._bias: Vector = np.empty(0)
        self._unsolved: set[int] = set()

    def _add_row(self) -> None:
        super()._add_row()
        self._reset_solution()

    def _learn(self, sample: Vector, row: int) -> None:
        deviation = sample - self._means[row]
        super()._learn(sample, row)
        self._rows["squares"][row] += deviation * (sample - self._means[row])
        self._unsolved.add(row)

    def _scores(self, embeddings: Matrix) -> Scores:
        """Return the scores as products with x^2 and x, which needs no array of all pairs."""
        self._solve()
        linear: Scores = embeddings @ self._weights.T + self._bias
        if self.variant == "published":
            return linear
        return linear - 0.5 * (embeddings**2 @ self._precisions.T)

    def _solve(self) -> None:
        """Update the classes that have changed since the last call."""
        for row in self._unsolved:
            variance = self._rows["squares"][row] / self._freedom(self._counts[row])
            variance = (1 - self.shrinkage) * variance + self.shrinkage
            self._precisions[row] = 1 / variance
            self._weights[row] = self._means[row] / variance
            self._bias[row] = -0.5 * (self._means[row] @ self._weights[row])
            if self.variant == "correct":
                self._bias[row] -= 0.5 * np.log(variance).sum()
        self._unsolved.clear()

    def _freedom(self, count: int) -> int:
        """Return what the squared deviations of a class are divided by. One sample has none."""
        return max(count - 1, 1) if self.variant == "published" else count

    def _reset_solution(self) -> None:
        """Allocate one row per class and mark all classes as changed."""
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
        self._rows["squares"][rows] += other._rows["squares"] + weights * between**2
        super()._merge(other, rows)
        self._reset_solution()

    def _forget(self, row: int) -> None:
        super()._forget(row)
        self._reset_solution()

    def _restore(self, state: ClassifierState) -> int | None:
        width = super()._restore(state)
        self._reset_solution()
        return width
