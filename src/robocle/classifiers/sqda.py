"""SQDA: streaming quadratic discriminant analysis, one covariance a class.

Few samples cannot fill a covariance, so each class's is drawn to the one shared by all, and both to
the identity (Friedman, "Regularized discriminant analysis", 1989):

    C_k = (1 - shrinkage) [(1 - shared) S_k / n_k + shared S / n] + shrinkage I
    score = -1/2 ((x - m_k)^T C_k^-1 (x - m_k) + log det C_k)

The part common to all classes is B = share A^T A + ridge I, with A the deviations of all. A class
adds own R^T R, R being its rows of A, so with P P^T = I + own R B^-1 R^T Woodbury gives

    d^T C_k^-1 d = d^T B^-1 d - own |P^-1 R B^-1 d|^2,      det C_k = det B (det P)^2

and B^-1 is known by the rows A while they are few, by a factor of B when they are many.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, lapack
from scipy.spatial.distance import cdist

from robocle.blas import one_blas_thread
from robocle.classifiers.class_scatters import ClassScatterClassifier
from robocle.classifiers.streaming import Matrix, Vector
from robocle.errors import FeatureError
from robocle.spec import require_between
from robocle.types import Scores

# Relative to the largest trace of a class: below this, float64 cannot tell the ridge from rounding.
SMALLEST_RIDGE = 1e-13


class StreamingQDA(ClassScatterClassifier["_Solution"]):
    """A covariance a class, drawn to the shared one and to the identity."""

    def __init__(self, shared: float = 0.5, shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_between("shared", shared, 0, 1)
        require_between("shrinkage", shrinkage, 1e-9, 1)
        self.shared = shared
        self.shrinkage = shrinkage

    def _scores(self, vectors: Matrix) -> Scores:
        with one_blas_thread():
            return self._solution().scores(vectors)

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
class Seen:
    """Embeddings v as B sees them: coordinates that tell their distances, and A B^-1 v."""

    vectors: Matrix
    coordinates: Matrix
    along: Matrix


class FewRows:
    """B^-1 = (I - share A^T K^-1 A) / ridge, by the factor of K = share A A^T + ridge I."""

    def __init__(self, rows: Matrix, spans: list[slice], share: float, ridge: float) -> None:
        self._rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        self._share = share
        self._ridge = ridge
        self._factor = _cholesky(blas.dsyrk(share, self._rows.T, trans=1, lower=1), ridge)
        self.grams = self._grams(spans)
        unreached = rows.shape[1] - len(self._rows)
        self.log_determinant = _log_determinant(self._factor) + unreached * math.log(ridge)

    def _grams(self, spans: list[slice]) -> list[Matrix]:
        """R B^-1 R^T = (I - ridge K^-1) / share, for the rows of each span."""
        if not self._share:
            return [self._rows[span] @ self._rows[span].T / self._ridge for span in spans]
        inverse, _ = lapack.dtrtri(self._factor, lower=1)
        columns = [inverse[span.start :, span] for span in spans]
        return [(np.eye(c.shape[1]) - self._ridge * (c.T @ c)) / self._share for c in columns]

    def see(self, vectors: Matrix) -> Seen:
        coordinates = _solved(self._factor, vectors @ self._rows.T)
        return Seen(vectors, coordinates, _solved(self._factor, coordinates, transposed=1))

    def distances(self, some: Seen, others: Seen) -> Matrix:
        """d^T B^-1 d of all pairs."""
        plain: Matrix = cdist(some.vectors, others.vectors, "sqeuclidean")
        along: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return (plain - self._share * along) / self._ridge


class ManyRows:
    """B^-1 by the factor L of B: B is the identity in the coordinates L^-1 v."""

    def __init__(self, rows: Matrix, spans: list[slice], share: float, ridge: float) -> None:
        self._factor = _cholesky(blas.dsyrk(share, rows.T, lower=1), ridge)
        self._rows = _solved(self._factor, rows)
        self.grams = [self._rows[span] @ self._rows[span].T for span in spans]
        self.log_determinant = _log_determinant(self._factor)

    def see(self, vectors: Matrix) -> Seen:
        coordinates = _solved(self._factor, vectors)
        return Seen(vectors, coordinates, coordinates @ self._rows.T)

    def distances(self, some: Seen, others: Seen) -> Matrix:
        """d^T B^-1 d of all pairs."""
        distances: Matrix = cdist(some.coordinates, others.coordinates, "sqeuclidean")
        return distances


class _Solution:
    """What all questions after a sample have in common."""

    def __init__(
        self, common: FewRows | ManyRows, means: Matrix, spans: list[slice], owns: Vector
    ) -> None:
        self._common = common
        self._means = common.see(means)
        self._spans = spans
        self._roots = np.sqrt(owns)
        self._factors = [
            _cholesky(own * gram, 1.0) for own, gram in zip(owns, common.grams, strict=True)
        ]

    def scores(self, vectors: Matrix) -> Scores:
        seen = self._common.see(vectors)
        scores = self._common.distances(seen, self._means) + self._common.log_determinant
        for row, (span, factor) in enumerate(zip(self._spans, self._factors, strict=True)):
            if len(factor):
                along = seen.along[:, span] - self._means.along[row, span]
                own = _solved(factor, self._roots[row] * along)
                scores[:, row] += _log_determinant(factor) - np.einsum("ij,ij->i", own, own)
        return -0.5 * scores


def _cholesky(matrix: Matrix, ridge: float) -> Matrix:
    """The lower factor of matrix + ridge I, by its lower triangle; the matrix is used up."""
    if not matrix.size:
        return matrix
    matrix[np.diag_indices(len(matrix))] += ridge
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        raise FeatureError("the covariance cannot be solved: raise the classifier's shrinkage")
    return np.asarray(factor)


def _solved(factor: Matrix, rows: Matrix, transposed: int = 0) -> Matrix:
    """L^-1 of each row, or L^-T of it."""
    solution: Matrix = blas.dtrsm(1.0, factor, rows.T, lower=1, trans_a=transposed)
    return solution.T


def _log_determinant(factor: Matrix) -> float:
    return 2 * float(np.log(np.diagonal(factor)).sum())
