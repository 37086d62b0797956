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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist

from robocle._internal.blas import blas, lapack, one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import ClassScatter
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import FeatureError
from robocle.spec import require_between
from robocle.types import Scores

# Relative to the largest trace of a class: float64 cannot tell a smaller ridge from rounding.
SMALLEST_RIDGE = 1e-13


class StreamingQDA(StreamingClassifier):
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

    def _reset(self) -> None:
        self._classes: list[ClassScatter] = []
        self._solved: Covariances | None = None

    def _add_row(self) -> None:
        self._classes.append(ClassScatter(self.width or 0))

    def _learn(self, sample: Vector, row: int) -> None:
        self._classes[row].add(sample)
        self._solved = None

    def _scores(self, embeddings: Matrix) -> Scores:
        with one_blas_thread():
            if self._solved is None:
                self._solved = Covariances(self._classes, self.shared, self.shrinkage)
            return self._solved.scores(embeddings)


class Covariances:
    """The covariances C_k of all classes, solved to score embeddings."""

    def __init__(self, classes: Sequence[ClassScatter], shared: float, shrinkage: float) -> None:
        factors = [each.rows() for each in classes]
        counts = np.array([each.count for each in classes], np.float64)
        share = (1 - shrinkage) * shared / counts.sum()
        owns = (1 - shrinkage) * (1 - shared) / counts
        traces = np.array([np.vdot(factor, factor) for factor in factors])
        largest = float((share * traces.sum() + owns * traces).max())
        ridge = max(shrinkage, SMALLEST_RIDGE * largest)
        rows = np.vstack(factors)
        ends = np.cumsum([len(factor) for factor in factors]).tolist()
        self._spans = [slice(*pair) for pair in pairwise([0, *ends])]
        common = FewRows if len(rows) <= rows.shape[1] else ManyRows
        self._common = common(rows, self._spans, share, ridge)
        self._means = self._common.project(np.array([each.mean for each in classes]))
        self._roots = np.sqrt(owns)
        grams = self._common.grams
        self._factors = [_cholesky(own * gram, 1.0) for own, gram in zip(owns, grams, strict=True)]

    def scores(self, embeddings: Matrix) -> Scores:
        """Return the scores (n, labels) of embeddings (n, width)."""
        projected = self._common.project(embeddings)
        scores = self._common.distances(projected, self._means) + self._common.log_determinant
        for row, (span, factor) in enumerate(zip(self._spans, self._factors, strict=True)):
            if len(factor):
                along = projected.along[:, span] - self._means.along[row, span]
                own = _solve_triangular(factor, self._roots[row] * along)
                scores[:, row] += _log_determinant(factor) - np.einsum("ij,ij->i", own, own)
        return -0.5 * scores


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
        self._factor = _cholesky(blas.dsyrk(share, self._rows.T, trans=1, lower=1), ridge)
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
        coordinates = _solve_triangular(self._factor, embeddings @ self._rows.T)
        along = _solve_triangular(self._factor, coordinates, transposed=1)
        return Projected(embeddings, coordinates, along)

    def distances(self, some: Projected, others: Projected) -> Matrix:
        """Return d^T B^-1 d for all pairs."""
        plain: Matrix = cdist(some.embeddings, others.embeddings, "sqeuclidean")
        along: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return (plain - self._share * along) / self._ridge


class ManyRows:
    """B^-1 by the Cholesky factor L of B: B is the identity in the coordinates L^-1 v."""

    def __init__(self, rows: Matrix, spans: list[slice], share: float, ridge: float) -> None:
        self._factor = _cholesky(blas.dsyrk(share, rows.T, lower=1), ridge)
        self._rows = _solve_triangular(self._factor, rows)
        self.grams = [self._rows[span] @ self._rows[span].T for span in spans]
        self.log_determinant = _log_determinant(self._factor)

    def project(self, embeddings: Matrix) -> Projected:
        coordinates = _solve_triangular(self._factor, embeddings)
        return Projected(embeddings, coordinates, coordinates @ self._rows.T)

    def distances(self, some: Projected, others: Projected) -> Matrix:
        """Return d^T B^-1 d for all pairs."""
        distances: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return distances


def _cholesky(matrix: Matrix, ridge: float) -> Matrix:
    """Return the lower Cholesky factor of matrix + ridge I.

    Only the lower triangle of the matrix is read. The matrix is overwritten.

    Raises:
        FeatureError: The sum is singular.
    """
    if not matrix.size:
        return matrix
    matrix[np.diag_indices(len(matrix))] += ridge
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        raise FeatureError("the covariance is singular: increase the classifier's shrinkage")
    return np.asarray(factor)


def _solve_triangular(factor: Matrix, rows: Matrix, transposed: int = 0) -> Matrix:
    """Return L^-1 row for each row, or L^-T row if transposed, for a lower triangular factor L."""
    solution: Matrix = blas.dtrsm(1.0, factor, rows.T, lower=1, trans_a=transposed)
    return solution.T


def _log_determinant(factor: Matrix) -> float:
    return 2 * float(np.log(np.diagonal(factor)).sum())
