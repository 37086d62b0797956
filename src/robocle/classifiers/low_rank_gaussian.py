"""Distances under a covariance `I + sum of rows`: what Woodbury leaves of a class's own covariance.

For C = I + R^T R with few rows R, and L L^T = I + R R^T,

    d^T C^-1 d = |d|^2 - |L^-1 R d|^2,      log det C = 2 sum log diag L

so a class costs its few rows, never a width x width matrix.
"""

import numpy as np
from scipy.linalg import solve_triangular

from robocle.classifiers.streaming import Matrix, Vector


class LowRankGaussian:
    """The squared Mahalanobis distance and log-determinant of I + R^T R."""

    def __init__(self, rows: Matrix) -> None:
        factor = np.linalg.cholesky(rows @ rows.T + np.eye(len(rows)))
        self._directions = solve_triangular(factor, rows, lower=True) if len(rows) else rows
        self.log_determinant = 2 * float(np.log(np.diagonal(factor)).sum())

    def distances(self, deviations: Matrix) -> Vector:
        """The squared distance of each deviation from the mean."""
        plain = np.einsum("ij,ij->i", deviations, deviations)
        along = deviations @ self._directions.T
        squared: Vector = plain - np.einsum("ij,ij->i", along, along)
        return squared
