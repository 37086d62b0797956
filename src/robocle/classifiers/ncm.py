"""NCM: the nearest class mean."""

import numpy as np
from scipy.spatial.distance import cdist

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Matrix, Vector
from robocle.errors import NothingTaughtError
from robocle.types import Scores


class NearestClassMean(ClassMeanClassifier):
    """The nearest class mean by Euclidean distance."""

    def linear(self) -> tuple[Matrix, Vector]:
        """2 m . z - |m|^2 is the negative distance without |z|^2, which all labels share."""
        if not self._labels:
            raise NothingTaughtError
        return 2 * self._means, -np.einsum("ij,ij->i", self._means, self._means)

    def _scores(self, vectors: Matrix) -> Scores:
        distances: Scores = cdist(vectors, self._means, "sqeuclidean")
        return -distances
