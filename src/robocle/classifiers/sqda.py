"""SQDA: streaming quadratic discriminant analysis, one covariance per class.

Few samples do not determine a covariance. The covariance of each class is therefore shrunk towards
the one shared by all classes, and both towards the identity (Friedman, "Regularized discriminant
analysis", 1989):

    C_k = (1 - shrinkage) [(1 - shared) S_k / n_k + shared S / n] + shrinkage I
    score = -1/2 ((x - m_k)^T C_k^-1 (x - m_k) + log det C_k)

All classes have B = share A^T A + ridge I in common, where the rows of A are the deviations of all
samples. Class k adds own R^T R, where R are its rows of A. With P P^T = I + own R B^-1 R^T,
Woodbury's identity yields

    d^T C_k^-1 d = d^T B^-1 d - own |P^-1 R B^-1 d|^2,      det C_k = det B (det P)^2

B^-1 is computed from A while A has few rows, and from the Cholesky factor of B otherwise.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, lapack
from scipy.spatial.distance import cdist

from robocle.blas import one_blas_thread
from robocle.classifiers.class_scatters import ClassScatterClassifier
from robocle.classifiers.scatter.solving import cholesky, solve_triangular
from robocle.classifiers.state import Matrix, Vector
from robocle.spec import require_between
from robocle.types import Scores

# Relative to the largest trace of a class: float64 cannot tell a smaller ridge from rounding.
SMALLEST_RIDGE = 1e-13


class StreamingQDA(ClassScatterClassifier["_Solution"]):
    """One covariance per class, shrunk towards the shared one and towards the identity.

    Args:
        shared: The weight of the shared covariance in the covariance of each class.
        shrinkage: The weight of the identity in each covariance.
    """

    def __init__(self, shared: float = 0.5, shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_between("shared", shared, 0, 1)
        require_between("shrinkage", shrinkage, 1e-9, 1)
        self.shared = shared
        self.shrinkage = shrinkage

    def _scores(self, embeddings: Matrix) -> Scores:
        with one_blas_thread():
            return self._solution().scores(embeddings)

    def _solve(self) -> "_Solution":
        factors = [self._factor(row) for row in range(len(self._labels))]
        share = (1 - self.shrinkage) * self.shared / sum(self._counts)
        owns = (1 - self.shrinkage) * (1 - self.shared) / np.array(self._counts, np.float64)
        traces = np.array([np.vdot(factor, factor) for factor in factors])
        largest = float((share * traces.sum() + owns * traces).max())
        ridge = max(self.shrinkage, SMALLEST_RIDGE * largest)
        rows = np.vstack(factors)
        ends = np.cumsum([len(factor) for factor in factors]).tolist()
        spans = [slice(*pair) for pair in pairwise([0, *ends])]
        kind = FewRows if len(rows) <= rows.shape[1] else ManyRows
        return _Solution(kind(rows, spans, share, ridge), self._means, spans, owns)


@dataclass(frozen=True)
class Projected:
    """Embeddings v, coordinates from which distances under B are computed, and A B^-1 v."""

    embeddings: Matrix
    coordinates: Matrix
    along: Matrix


class FewRows:
    """B^-1 = (I - share A^T K^-1 A) / ridge, by Cholesky of K = share A A^T + ridge I."""

    def __init__(self, rows: Matrix, spans: list[slice], share: float, ridge: float) -> None:
        self._rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        self._share = share
        self._ridge = ridge
        self._factor = cholesky(blas.dsyrk(share, self._rows.T, trans=1, lower=1), ridge)
        self.grams = self._grams(spans)
        unreached = rows.shape[1] - len(self._rows)
        self.log_determinant = _log_determinant(self._factor) + unreached * math.log(ridge)

    def _grams(self, spans: list[slice]) -> list[Matrix]:
        """Return R B^-1 R^T = (I - ridge K^-1) / share for the rows of each span."""
        if not self._share:
            return [self._rows[span] @ self._rows[span].T / self._ridge for span in spans]
        inverse, _ = lapack.dtrtri(self._factor, lower=1)
        columns = [inverse[span.start :, span] for span in spans]
        return [(np.eye(c.shape[1]) - self._ridge * (c.T @ c)) / self._share for c in columns]

    def project(self, embeddings: Matrix) -> Projected:
        coordinates = solve_triangular(self._factor, embeddings @ self._rows.T)
        along = solve_triangular(self._factor, coordinates, transposed=1)
        return Projected(embeddings, coordinates, along)

    def distances(self, some: Projected, others: Projected) -> Matrix:
        """Return d^T B^-1 d for all pairs."""
        plain: Matrix = cdist(some.embeddings, others.embeddings, "sqeuclidean")
        along: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return (plain - self._share * along) / self._ridge


class ManyRows:
    """B^-1 by the Cholesky factor L of B: B is the identity in the coordinates L^-1 v."""

    def __init__(self, rows: Matrix, spans: list[slice], share: float, ridge: float) -> None:
        self._factor = cholesky(blas.dsyrk(share, rows.T, lower=1), ridge)
        self._rows = solve_triangular(self._factor, rows)
        self.grams = [self._rows[span] @ self._rows[span].T for span in spans]
        self.log_determinant = _log_determinant(self._factor)

    def project(self, embeddings: Matrix) -> Projected:
        coordinates = solve_triangular(self._factor, embeddings)
        return Projected(embeddings, coordinates, coordinates @ self._rows.T)

    def distances(self, some: Projected, others: Projected) -> Matrix:
        """Return d^T B^-1 d for all pairs."""
        distances: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return distances


class _Solution:
    """Scores embeddings with the solved covariances."""

    def __init__(
        self, common: FewRows | ManyRows, means: Matrix, spans: list[slice], owns: Vector
    ) -> None:
        self._common = common
        self._means = common.project(means)
        self._spans = spans
        self._roots = np.sqrt(owns)
        self._factors = [
            cholesky(own * gram, 1.0) for own, gram in zip(owns, common.grams, strict=True)
        ]

    def scores(self, embeddings: Matrix) -> Scores:
        projected = self._common.project(embeddings)
        scores = self._common.distances(projected, self._means) + self._common.log_determinant
        for row, (span, factor) in enumerate(zip(self._spans, self._factors, strict=True)):
            if len(factor):
                along = projected.along[:, span] - self._means.along[row, span]
                own = solve_triangular(factor, self._roots[row] * along)
                scores[:, row] += _log_determinant(factor) - np.einsum("ij,ij->i", own, own)
        return -0.5 * scores


def _log_determinant(factor: Matrix) -> float:
    return 2 * float(np.log(np.diagonal(factor)).sum())
