"""SNB: streaming Gaussian naive Bayes, one running variance per class and entry (Welford 1962).

With v = (1 - shrinkage) variance + shrinkage, the score is the log-likelihood without priors,
-1/2 sum((x - m)^2 / v + log v). `variant=published` computes what the public code does: it drops
x^2 / v and log v, although they differ between classes. Hence the paper's accuracies near 0. Its
variance divides the squared deviations by n - 1, that of `correct` by n.
"""

import numpy as np

from robocle.classifiers.means import ClassMeanClassifier
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import Variant, require_variant
from robocle.spec import require_between
from robocle.types import Scores


class StreamingNaiveBayes(ClassMeanClassifier):
    """Gaussian naive Bayes: one variance per class and entry of the embedding.

    Args:
        variant: `correct`, or `published`: with the terms and the variance of the public code.
        shrinkage: The weight of a variance of 1 in each variance.
    """

    def __init__(self, variant: Variant = "correct", shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_variant(variant)
        require_between("shrinkage", shrinkage, 1e-12, 1)
        self.variant = variant
        self.shrinkage = shrinkage

    def _reset(self) -> None:
        super()._reset()
        # score = bias + weights . x - 1/2 precisions . x^2, which needs no array of all pairs
        self._squares = self._precisions = self._weights = self._means
        self._bias: Vector = np.empty(0)

    def _add_row(self) -> None:
        super()._add_row()
        zeros = np.zeros(self.width or 0)
        self._squares = np.vstack([self._squares, zeros])
        self._precisions = np.vstack([self._precisions, zeros])
        self._weights = np.vstack([self._weights, zeros])
        self._bias = np.append(self._bias, 0.0)

    def _learn(self, sample: Vector, row: int) -> None:
        deviation = sample - self._means[row]
        super()._learn(sample, row)
        self._squares[row] += deviation * (sample - self._means[row])
        self._solve(row, self._counts[row] + 1)

    def _solve(self, row: int, count: int) -> None:
        """Compute what scores need of a class."""
        variance = self._squares[row] / self._freedom(count)
        variance = (1 - self.shrinkage) * variance + self.shrinkage
        self._precisions[row] = 1 / variance
        self._weights[row] = self._means[row] / variance
        self._bias[row] = -0.5 * (self._means[row] @ self._weights[row])
        if self.variant == "correct":
            self._bias[row] -= 0.5 * np.log(variance).sum()

    def _freedom(self, count: int) -> int:
        """Return what the squared deviations of a class are divided by. One sample has none."""
        return max(count - 1, 1) if self.variant == "published" else count

    def _scores(self, embeddings: Matrix) -> Scores:
        linear: Scores = embeddings @ self._weights.T + self._bias
        if self.variant == "published":
            return linear
        return linear - 0.5 * (embeddings**2 @ self._precisions.T)
