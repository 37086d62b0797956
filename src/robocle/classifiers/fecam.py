"""FeCAM: the class covariance, shrunk and normalised, on power-transformed vectors.

Goswami et al., "FeCAM: Exploiting the heterogeneity of class distributions in exemplar-free
continual learning" (2023), eq. 4-8. With v1 the mean variance and v2 the mean covariance of a
class (0 if it is negative),

    C_k = S_k / n_k + shrinkage v1 I + shrinkage v2 (1 1^T - I)

and its correlation matrix measures the distance to the mean. C_k is a multiple of the identity
plus a few rows, so LowRankGaussian serves here. A class of one sample has the identity for its
correlation matrix.
"""

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.class_scatters import ClassScatterClassifier
from robocle.classifiers.low_rank_gaussian import LowRankGaussian
from robocle.classifiers.streaming import Matrix, Vector
from robocle.spec import require_between
from robocle.types import Scores

SMALLEST = 1e-6  # of the mean variance: what the identity's share may not fall below


class FeatureCovariances(ClassScatterClassifier[list[tuple[Vector, LowRankGaussian]]]):
    """Mahalanobis distances by each class's shrunk correlation matrix, after a power transform."""

    def __init__(self, power: float = 0.5, shrinkage: float = 10.0) -> None:
        super().__init__()
        require_between("power", power, 0.01, 1)
        require_between("shrinkage", shrinkage, 1e-3, 1e6)
        self.power = power
        self.shrinkage = shrinkage

    def _learn(self, sample: Vector, row: int) -> None:
        super()._learn(self._transformed(sample), row)

    def _transformed(self, values: Matrix) -> Matrix:
        """Tukey's power, odd so that negative values keep their sign."""
        return np.copysign(np.abs(values) ** self.power, values)

    def _scores(self, vectors: Matrix) -> Scores:
        with one_blas_thread():
            classes = self._solution()
            transformed = self._transformed(vectors)
            columns = [
                gaussian.distances((transformed - mean) * gain)
                for mean, (gain, gaussian) in zip(self._means, classes, strict=True)
            ]
        return -np.array(columns).T

    def _solve(self) -> list[tuple[Vector, LowRankGaussian]]:
        return [
            self._class(self._factor(row) / np.sqrt(count))
            for row, count in enumerate(self._counts)
        ]

    def _class(self, rows: Matrix) -> tuple[Vector, LowRankGaussian]:
        """What scales a deviation, entry by entry, and the covariance it is then measured by."""
        width = rows.shape[1]
        trace = float((rows**2).sum())
        total = float((rows.sum(axis=1) ** 2).sum())  # 1^T (rows^T rows) 1
        mean_variance = trace / width or 1.0  # the correlation is the identity with any
        mean_covariance = max((total - trace) / (width * max(width - 1, 1)), 0.0)
        uniform = np.full((1, width), np.sqrt(self.shrinkage * mean_covariance))
        identity = self.shrinkage * (mean_variance - mean_covariance)
        identity = max(identity, SMALLEST * mean_variance)
        all_rows = np.vstack([rows, uniform])
        variances = (all_rows**2).sum(axis=0) + identity
        # d^T Corr^-1 d = |..|^2 of d * deviation under C, and C = identity * (I + rows / identity)
        return np.sqrt(variances / identity), LowRankGaussian(all_rows / np.sqrt(identity))
