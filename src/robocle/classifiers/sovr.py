"""SOvR: streaming one-versus-rest, a class mean against the mean of all other classes.

p = x . m_c,   q = x . (count-weighted mean of the others),   score = p / (p + q)
"""

import numpy as np

from robocle.classifiers.class_means import ClassMeanClassifier
from robocle.classifiers.streaming import Matrix
from robocle.types import Scores


class StreamingOneVersusRest(ClassMeanClassifier):
    """A class mean against the mean of all others, by dot products."""

    def _scores(self, vectors: Matrix) -> Scores:
        counts = np.array(self._counts, np.float64)
        own = vectors @ self._means.T
        sums = own * counts
        others = np.maximum(counts.sum() - counts, 1)
        rest = (sums.sum(axis=1, keepdims=True) - sums) / others
        both = own + rest
        # Where both vanish neither speaks for the class nor against it.
        half: Scores = np.full_like(both, 0.5)
        np.divide(own, both, out=half, where=both != 0)
        return half
