"""FeCAM: one shrunk and normalised covariance per class, on power-transformed embeddings.

Goswami et al., "FeCAM: Exploiting the heterogeneity of class distributions in exemplar-free
continual learning" (2023), eq. 4-8. Let v1 be the mean variance of a class and v2 its mean
covariance (0 if that is negative). Then

    C_k = S_k / n_k + shrinkage v1 I + shrinkage v2 (1 1^T - I)

The score is minus the squared Mahalanobis distance to the class mean under the correlation matrix
of C_k. C_k is a multiple of the identity plus a matrix of low rank, so LowRankGaussian computes the
distances. The correlation matrix of a class with a single sample is the identity.
"""

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.class_scatters import ClassScatterClassifier
from robocle.classifiers.low_rank_gaussian import LowRankGaussian
from robocle.classifiers.state import Matrix, Vector
from robocle.spec import require_between
from robocle.types import Scores

SMALLEST = 1e-6  # lower bound of the identity's weight, relative to the mean variance


class FeatureCovariances(ClassScatterClassifier[list[tuple[Vector, LowRankGaussian]]]):
    """Mahalanobis distances under each class's shrunk correlation, after a power transform.

    Args:
        power: The exponent to which the absolute value of each entry is raised.
        shrinkage: How many times the mean variance and mean covariance are added to a covariance.
    """

    def __init__(self, power: float = 0.5, shrinkage: float = 10.0) -> None:
        super().__init__()
        require_between("power", power, 0.01, 1)
        require_between("shrinkage", shrinkage, 1e-3, 1e6)
        self.power = power
        self.shrinkage = shrinkage

    def _learn(self, sample: Vector, row: int) -> None:
        super()._learn(self._transformed(sample), row)

    def _transformed(self, values: Matrix) -> Matrix:
        """Return Tukey's power transform of values; negative values keep their sign."""
        return np.copysign(np.abs(values) ** self.power, values)

    def _scores(self, embeddings: Matrix) -> Scores:
        with one_blas_thread():
            classes = self._solution()
            transformed = self._transformed(embeddings)
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
        """Return a scale per entry, and the Gaussian of deviations that are scaled by it.

        Args:
            rows: Rows R such that R^T R is the class covariance.
        """
        width = rows.shape[1]
        trace = float((rows**2).sum())
        total = float((rows.sum(axis=1) ** 2).sum())  # 1^T (rows^T rows) 1
        mean_variance = trace / width or 1.0  # if 0, any value results in the identity correlation
        mean_covariance = max((total - trace) / (width * max(width - 1, 1)), 0.0)
        uniform = np.full((1, width), np.sqrt(self.shrinkage * mean_covariance))
        identity = self.shrinkage * (mean_variance - mean_covariance)
        identity = max(identity, SMALLEST * mean_variance)
        all_rows = np.vstack([rows, uniform])
        variances = (all_rows**2).sum(axis=0) + identity
        # d^T Corr^-1 d is the distance of d * sqrt(variances) under C = identity * (I + R^T R).
        return np.sqrt(variances / identity), LowRankGaussian(all_rows / np.sqrt(identity))
