"""NCM: the nearest class mean."""

import numpy as np
from scipy.spatial.distance import cdist

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import ClassMeanClassifier
from robocle.types import Scores

# For at least this many embeddings, one matrix product is faster than a distance per pair.
MANY = 32


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
