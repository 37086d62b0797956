"""NCM: the nearest class mean."""

import numpy as np
from scipy.spatial.distance import cdist

from robocle.blas import one_blas_thread
from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Matrix, Vector
from robocle.errors import NothingTaughtError
from robocle.types import Scores

# From this many vectors on, a matrix product is faster than distances one by one.
MANY = 32


class NearestClassMean(ClassMeanClassifier):
    """The nearest class mean by Euclidean distance."""

    def linear(self) -> tuple[Matrix, Vector]:
        """2 m . z - |m|^2 is the negative distance without |z|^2, which all labels share."""
        if not self._labels:
            raise NothingTaughtError
        return 2 * self._means, -np.einsum("ij,ij->i", self._means, self._means)

    def _scores(self, vectors: Matrix) -> Scores:
        if len(vectors) < MANY:
            return -np.asarray(cdist(vectors, self._means, "sqeuclidean"))
        # By one matrix product, seen from the first mean so that large values do not cancel.
        origin = self._means[0]
        means, shifted = self._means - origin, vectors - origin
        with one_blas_thread():
            scores: Scores = 2 * shifted @ means.T
        scores -= np.einsum("ij,ij->i", means, means)
        scores -= np.einsum("ij,ij->i", shifted, shifted)[:, None]
        return scores
