"""Ridge: recursive least squares to one-hot targets, on embeddings or on random features of them.

W = (sum f f^T + r I)^-1 sum f y^T, with r = strength * the mean over the entries of sum f^2. With
`features` above 0, f is a random rectified projection of the embedding (McDonnell et al., "RanPAC:
Random projections and pre-trained models for continual learning", 2023, eq. 6-7). With 0, f is the
embedding itself.
"""

import numpy as np

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.scatter import Inverse, Scatter
from robocle.classifiers.shared import rectified_features
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class RidgeRegression(StreamingClassifier):
    """Least squares to one-hot targets with a ridge, on embeddings or on random features.

    Args:
        strength: The ridge, relative to the mean over the entries of their sums of squares.
        features: How many random features are used; 0 uses the embeddings themselves.
        seed: The seed of the random features.
    """

    def __init__(self, strength: float = 1.0, features: int = 0, seed: int = 0) -> None:
        super().__init__()
        require_between("strength", strength, 1e-9, 1e9)
        require_between("features", features, 0, 100_000)
        require_between("seed", seed, 0, 2**63)
        self.strength = strength
        self.features = features
        self.seed = seed

    def _reset(self) -> None:
        self._scatter = Scatter(self.features or self.width or 0)
        self._sums: Matrix = np.empty((0, self._scatter.width))
        self._weights: Matrix | None = None

    def _add_row(self) -> None:
        self._sums = np.vstack([self._sums, np.zeros(self._scatter.width)])

    def _learn(self, sample: Vector, row: int) -> None:
        features = self._features_of(sample)
        self._scatter.add(features[None])
        self._sums[row] += features
        self._weights = None

    def _features_of(self, embeddings: Matrix) -> Matrix:
        if not self.features:
            return embeddings
        return rectified_features(embeddings, self.features, self.seed)

    def _scores(self, embeddings: Matrix) -> Scores:
        with one_blas_thread():
            if self._weights is None:
                ridge = self.strength * self._scatter.trace / self._scatter.width or 1.0
                self._weights = Inverse(self._scatter, ridge).apply(self._sums)
            scores: Scores = self._features_of(embeddings) @ self._weights.T
        return scores
