"""SOvR: streaming one-versus-rest, which compares a class mean with the mean of all other classes.

p = x . m_c,   q = x . (count-weighted mean of the other classes),   score = p / (p + q)
"""

import numpy as np

from robocle.classifiers.samples import Matrix
from robocle.classifiers.shared import ClassMeanClassifier
from robocle.types import Scores


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
