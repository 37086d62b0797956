"""Gaussian distances under a covariance I + R^T R with few rows R, by Woodbury's identity.

With L L^T = I + R R^T,

    d^T C^-1 d = |d|^2 - |L^-1 R d|^2,      log det C = 2 sum log diag L

so a class needs only a few rows and never a width x width matrix.
"""

import numpy as np
from scipy.linalg import solve_triangular

from robocle.classifiers.state import Matrix, Vector


class LowRankGaussian:
    """The squared Mahalanobis distance and the log-determinant of I + R^T R."""

    def __init__(self, rows: Matrix) -> None:
        factor = np.linalg.cholesky(rows @ rows.T + np.eye(len(rows)))
        self._directions = solve_triangular(factor, rows, lower=True) if len(rows) else rows
        self.log_determinant = 2 * float(np.log(np.diagonal(factor)).sum())

    def distances(self, deviations: Matrix) -> Vector:
        """Return the squared distance for each deviation from the mean."""
        plain = np.einsum("ij,ij->i", deviations, deviations)
        along = deviations @ self._directions.T
        squared: Vector = plain - np.einsum("ij,ij->i", along, along)
        return squared
