"""SQDA: streaming quadratic discriminant analysis, one covariance a class.

Few samples cannot fill a covariance, so each class's is drawn to the one shared by all, and both to
the identity (Friedman, "Regularized discriminant analysis", 1989):

    C_k = (1 - shrinkage) [(1 - shared) S_k / n_k + shared S / n] + shrinkage I
    score = -1/2 ((x - m_k)^T C_k^-1 (x - m_k) + log det C_k)

The part common to all classes, B, is factored once; in the coordinates in which B is the identity a
class differs from it by its own few deviations, and LowRankGaussian does the rest.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from robocle.blas import one_blas_thread
from robocle.classifiers.class_scatters import ClassScatterClassifier
from robocle.classifiers.low_rank_gaussian import LowRankGaussian
from robocle.classifiers.streaming import ClassifierState, Matrix, Vector
from robocle.spec import require_between
from robocle.types import Scores


class StreamingQDA(ClassScatterClassifier):
    """A covariance a class, drawn to the shared one and to the identity."""

    def __init__(self, shared: float = 0.5, shrinkage: float = 1e-4) -> None:
        super().__init__()
        require_between("shared", shared, 0, 1)
        require_between("shrinkage", shrinkage, 1e-9, 1)
        self.shared = shared
        self.shrinkage = shrinkage
        self._solved: tuple[Matrix, Matrix, list[LowRankGaussian]] | None = None

    def _learn(self, sample: Vector, row: int) -> None:
        super()._learn(sample, row)
        self._solved = None

    def _forget(self, row: int) -> None:
        super()._forget(row)
        self._solved = None

    def _restore(self, state: ClassifierState) -> int | None:
        self._solved = None
        return super()._restore(state)

    def _scores(self, vectors: Matrix) -> Scores:
        with one_blas_thread():
            if self._solved is None:
                self._solved = self._solve()
            factor, means, classes = self._solved
            white = _whitened(factor, vectors)
            columns = [
                gaussian.distances(white - mean) + gaussian.log_determinant
                for gaussian, mean in zip(classes, means, strict=True)
            ]
        return -0.5 * np.array(columns).T

    def _solve(self) -> tuple[Matrix, Matrix, list[LowRankGaussian]]:
        rows = [self._factor(row) for row in range(len(self._labels))]
        everyone = np.vstack(rows)
        common = everyone.T @ everyone
        common *= (1 - self.shrinkage) * self.shared / sum(self._counts)
        common[np.diag_indices(len(common))] += self._ridge(common)
        factor = cholesky(common, lower=True, overwrite_a=True, check_finite=False)
        own = (1 - self.shrinkage) * (1 - self.shared)
        white = _whitened(factor, everyone)
        parts = np.split(white, np.cumsum([len(part) for part in rows])[:-1])
        classes = [
            LowRankGaussian(np.sqrt(own / count) * part)
            for part, count in zip(parts, self._counts, strict=True)
        ]
        return factor, _whitened(factor, self._means), classes

    def _ridge(self, common: Matrix) -> float:
        """The shrinkage, or what float64 can tell from rounding beside a huge covariance."""
        return max(self.shrinkage, 1e-13 * float(np.trace(common)))


def _whitened(factor: Matrix, rows: Matrix) -> Matrix:
    solved: Matrix = solve_triangular(factor, rows.T, lower=True, check_finite=False)
    return solved.T
