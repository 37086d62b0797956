"""NCM: the nearest class mean."""

from scipy.spatial.distance import cdist

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Matrix
from robocle.types import Scores


class NearestClassMean(ClassMeanClassifier):
    """The nearest class mean by Euclidean distance."""

    def _scores(self, vectors: Matrix) -> Scores:
        distances: Scores = cdist(vectors, self._means, "sqeuclidean")
        return -distances
