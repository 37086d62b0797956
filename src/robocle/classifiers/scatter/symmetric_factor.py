"""The Cholesky factor of a scatter plus a ridge, which can be computed in several steps.

The scatter is a `SymmetricMatrix` of the blocks A, B, C. With the ridge added to A and C, its
factor has the same layout:

    [ L       ]      with L L^T = A, K = L^-1 B, and U^T U = C - K^T K
    [ K^T U^T ]

To sum the scatter, to compute L and K, and to compute U take about as long each. A learner does one
of them per lesson, and no lesson has to wait for all.
"""

import numpy as np

from robocle.blas import blas, lapack
from robocle.classifiers.scatter.scatter_sum import StoredSum
from robocle.classifiers.scatter.solving import require_solved
from robocle.classifiers.state import Matrix, Vector


class SymmetricFactor:
    """The Cholesky factor of S + diag(ridge). It must be completed before it is used.

    Even to solve changes the diagonal that its triangles share: one thread may do so at a time.

    Args:
        stored: S.
        ridge: One number per row of S.
    """

    def __init__(self, stored: StoredSum, ridge: Vector) -> None:
        self._matrix = matrix = stored.summed()
        self._width, self._half = matrix.width, matrix.half
        padding = np.ones(2 * matrix.half - matrix.width)
        self._first_ridge, self._last_ridge = np.split(np.concatenate([ridge, padding]), 2)
        self._next_step = 0

    @property
    def is_complete(self) -> bool:
        """Whether all steps were taken."""
        return self._next_step == len(_STEPS)

    def advance(self) -> None:
        """Take the next step.

        Raises:
            FeatureError: S + diag(ridge) is not positive definite.
        """
        _STEPS[self._next_step](self)
        self._next_step += 1

    def complete(self) -> "SymmetricFactor":
        """Take all remaining steps, and return the factor itself; see `advance`."""
        while not self.is_complete:
            self.advance()
        return self

    def _factorise_first(self) -> None:
        """Compute L and K."""
        self._first_diagonal = self._matrix.shared_diagonal + self._first_ridge
        corner = self._with_first_diagonal()
        _, failed = lapack.dpotrf(corner, lower=1, clean=0, overwrite_a=1)
        require_solved(failed)
        self._first_diagonal = self._matrix.shared_diagonal.copy()
        blas.dtrsm(1.0, corner, self._matrix.off_diagonal, lower=1, overwrite_b=1)

    def _factorise_last(self) -> None:
        """Compute U."""
        self._last_diagonal = self._matrix.last_diagonal + self._last_ridge
        corner, off_diagonal = self._with_last_diagonal(), self._matrix.off_diagonal
        blas.dsyrk(-1.0, off_diagonal, trans=1, beta=1.0, c=corner, lower=0, overwrite_c=1)
        _, failed = lapack.dpotrf(corner, lower=0, clean=0, overwrite_a=1)
        require_solved(failed)
        self._last_diagonal = self._matrix.shared_diagonal.copy()

    def solve(self, rows: Matrix) -> Matrix:
        """Return (S + diag(ridge))^-1 row for each row."""
        if len(rows) == 1:
            return self._solve_one(rows[0])[None]
        first, last = self._forward(*self._halves(rows))
        last = blas.dtrsm(1.0, self._with_last_diagonal(), last, lower=0, overwrite_b=1)
        first -= self._matrix.off_diagonal @ last
        first = blas.dtrsm(
            1.0, self._with_first_diagonal(), first, lower=1, trans_a=1, overwrite_b=1
        )
        return np.vstack([first, last])[: self._width].T

    def whitened(self, rows: Matrix, scale: float) -> Matrix:
        """Return rows whose dot products are scale^2 row (S + diag(ridge))^-1 row."""
        whole = np.vstack(self._forward(*self._halves(rows)))
        whole *= scale
        return whole.T

    def _halves(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return the rows as columns, divided into both blocks. They may be overwritten."""
        columns = np.zeros((2 * self._half, len(rows)))
        columns[: self._width] = rows.T
        first, last = columns[: self._half], columns[self._half :]
        return np.asfortranarray(first), np.asfortranarray(last)

    def _forward(self, first: Matrix, last: Matrix) -> tuple[Matrix, Matrix]:
        first = blas.dtrsm(1.0, self._with_first_diagonal(), first, lower=1, overwrite_b=1)
        last -= self._matrix.off_diagonal.T @ first
        last = blas.dtrsm(1.0, self._with_last_diagonal(), last, lower=0, trans_a=1, overwrite_b=1)
        return first, last

    def _solve_one(self, row: Vector) -> Vector:
        """As `solve`, by routines for one row, which read less memory."""
        first, last = row[: self._half], np.zeros(self._half)
        last[: self._width - self._half] = row[self._half :]
        off_diagonal = self._matrix.off_diagonal
        first = blas.dtrsv(self._with_first_diagonal(), first, lower=1)
        corner = self._with_last_diagonal()
        last = blas.dtrsv(corner, last - first @ off_diagonal, lower=0, trans=1, overwrite_x=1)
        last = blas.dtrsv(corner, last, lower=0, overwrite_x=1)
        first -= off_diagonal @ last
        first = blas.dtrsv(self._with_first_diagonal(), first, lower=1, trans=1, overwrite_x=1)
        return np.concatenate([first, last])[: self._width]

    def _with_first_diagonal(self) -> Matrix:
        """Give the corner the diagonal of its lower triangle, and return it."""
        self._matrix.shared_diagonal[:] = self._first_diagonal
        return self._matrix.corner

    def _with_last_diagonal(self) -> Matrix:
        """Give the corner the diagonal of its upper triangle, and return it."""
        self._matrix.shared_diagonal[:] = self._last_diagonal
        return self._matrix.corner


_STEPS = (SymmetricFactor._factorise_first, SymmetricFactor._factorise_last)
