"""FeCAM: one shrunk and normalised covariance per class, on power-transformed embeddings.

Goswami et al., "FeCAM: Exploiting the heterogeneity of class distributions in exemplar-free
continual learning" (2023), eq. 4-8. Let v1 be the mean variance of a class and v2 its mean
covariance (0 if that is negative). Then

    C_k = S_k / n_k + shrinkage v1 I + shrinkage v2 (1 1^T - I)

The score is minus the squared Mahalanobis distance to the class mean under the correlation matrix
of C_k. The correlation matrix of a class with a single sample is the identity.

C_k is a multiple of I + R^T R with few rows R, so a class never needs a width x width matrix: with
L L^T = I + R R^T, Woodbury's identity yields d^T (I + R^T R)^-1 d = |d|^2 - |L^-1 R d|^2.
"""

import numpy as np
from scipy.linalg import solve_triangular

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import ClassScatter
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores

SMALLEST = 1e-6  # lower bound of the identity's weight, relative to the mean variance


class FeatureCovariances(StreamingClassifier):
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

    def _reset(self) -> None:
        self._classes: list[ClassScatter] = []
        self._solved: dict[int, ShrunkCorrelation] = {}

    def _add_row(self) -> None:
        self._classes.append(ClassScatter(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        self._classes[row].add(self._transformed(sample))
        self._solved.pop(row, None)

    def _transformed(self, values: Matrix) -> Matrix:
        """Return Tukey's power transform of values; negative values keep their sign."""
        return np.copysign(np.abs(values) ** self.power, values)

    def _scores(self, embeddings: Matrix) -> Scores:
        transformed = self._transformed(embeddings)
        with one_blas_thread():
            for row, each in enumerate(self._classes):
                if row not in self._solved:
                    self._solved[row] = ShrunkCorrelation(each, self.shrinkage)
            columns = [
                self._solved[row].distances(transformed - each.mean)
                for row, each in enumerate(self._classes)
            ]
        return -np.array(columns).T


class ShrunkCorrelation:
    """The correlation matrix of C_k of one class."""

    def __init__(self, scatter: ClassScatter, shrinkage: float) -> None:
        rows = scatter.rows() / np.sqrt(scatter.count)
        width = rows.shape[1]
        trace = float((rows**2).sum())
        total = float((rows.sum(axis=1) ** 2).sum())  # 1^T (rows^T rows) 1
        mean_variance = trace / width or 1.0  # if 0, any value results in the identity correlation
        mean_covariance = max((total - trace) / (width * max(width - 1, 1)), 0.0)
        uniform = np.full((1, width), np.sqrt(shrinkage * mean_covariance))
        identity = max(shrinkage * (mean_variance - mean_covariance), SMALLEST * mean_variance)
        rows = np.vstack([rows, uniform]) / np.sqrt(identity)  # C = identity (I + rows^T rows)
        # d^T Corr^-1 d is the distance of d * gains under I + rows^T rows.
        self._gains = np.sqrt((rows**2).sum(axis=0) + 1)
        factor = np.linalg.cholesky(rows @ rows.T + np.eye(len(rows)))
        self._directions = solve_triangular(factor, rows, lower=True)

    def distances(self, deviations: Matrix) -> Vector:
        """Return the squared distance for each deviation from the mean."""
        scaled = deviations * self._gains
        along = scaled @ self._directions.T
        squared: Vector = (scaled**2).sum(axis=1) - (along**2).sum(axis=1)
        return squared
