"""Classifiers by class means: NCM takes the nearest one, SOvR compares one with the rest.

SOvR compares the mean of a class with the mean of all other classes:

    p = x . m_c,   q = x . (count-weighted mean of the other classes),   score = p / (p + q)
"""

import numpy as np
from scipy.spatial.distance import cdist

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.types import Scores

# For at least this many embeddings, one matrix product is faster than a distance per pair.
MANY = 32


class ClassMeanClassifier(StreamingClassifier):
    """Computes the running class means (eq. 2); subclasses may compute more."""

    def _reset(self) -> None:
        self._means: Matrix = np.empty((0, self.width or 0))

    def _add_row(self) -> None:
        self._means = np.vstack([self._means, np.zeros(self.width or 0)])

    def _learn(self, sample: Vector, row: int) -> None:
        self._means[row] += (sample - self._means[row]) / (self._counts[row] + 1)


class NearestClassMean(ClassMeanClassifier):
    """The nearest class mean by Euclidean distance; the score is minus the squared distance."""

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with W z + b = 2 m . z - |m|^2: the score without |z|^2."""
        self._make_current()
        return 2 * self._means, -np.einsum("ij,ij->i", self._means, self._means)

    def _scores(self, embeddings: Matrix) -> Scores:
        if len(embeddings) < MANY:
            return -np.asarray(cdist(embeddings, self._means, "sqeuclidean"))
        # Values relative to the first mean avoid cancellation between large numbers.
        origin = self._means[0]
        means, shifted = self._means - origin, embeddings - origin
        with one_blas_thread():
            scores: Scores = 2 * shifted @ means.T
        scores -= np.einsum("ij,ij->i", means, means)
        scores -= np.einsum("ij,ij->i", shifted, shifted)[:, None]
        return scores


class StreamingOneVersusRest(ClassMeanClassifier):
    """Compares each class mean with the mean of all other classes, by dot products."""

    def _scores(self, embeddings: Matrix) -> Scores:
        counts = np.array(self._counts, np.float64)
        own = embeddings @ self._means.T
        sums = own * counts
        others = np.maximum(counts.sum() - counts, 1)
        rest = (sums.sum(axis=1, keepdims=True) - sums) / others
        both = own + rest
        # Where p + q = 0 there is no evidence for or against the class: its score is 1/2.
        scores: Scores = np.full_like(both, 0.5)
        np.divide(own, both, out=scores, where=both != 0)
        return scores
