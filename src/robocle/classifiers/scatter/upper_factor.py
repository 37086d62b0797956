"""The Cholesky factor of a scatter plus a ridge, in the upper triangle of the scatter's own array.

The two triangles share the diagonal, so the diagonal of the factor is kept separately and swapped
in while the factor is used.

A factor refers to the array and not to its owner. A reference back would make a cycle, and then the
array of a classifier that is no longer used would stay in memory until Python looks for cycles.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from robocle.blas import blas, lapack
from robocle.classifiers.scatter.solving import require_solved
from robocle.classifiers.scatter.triangle import mirror
from robocle.classifiers.state import Matrix, Vector


class UpperFactor:
    """The Cholesky factor of S + diag(ridge).

    Args:
        array: An array (width, width) in Fortran's order, with S in the lower triangle. The factor
            is written to the upper one.
        ridge: One number per row.

    Raises:
        FeatureError: S + diag(ridge) is not positive definite.
    """

    def __init__(self, array: Matrix, ridge: Vector) -> None:
        self._array = array
        mirror(array)
        self._diagonal = np.diagonal(array) + ridge
        with self._in_place():
            _, failed = lapack.dpotrf(array, lower=0, clean=0, overwrite_a=1)
            self._diagonal = np.diagonal(array).copy()
        require_solved(failed)

    def solve(self, rows: Matrix) -> Matrix:
        """Return (S + diag(ridge))^-1 row for each row, with the S that was factorised."""
        with self._in_place():
            if len(rows) == 1:  # two calls of dtrsv read less memory than dpotrs
                half = blas.dtrsv(self._array, rows[0], lower=0, trans=1)
                return blas.dtrsv(self._array, half, lower=0, overwrite_x=1)[None]  # type: ignore[no-any-return]
            solution, _ = lapack.dpotrs(self._array, rows.T, lower=0)
            return np.asarray(solution).T

    def whitened(self, rows: Matrix, scale: float) -> Matrix:
        """Return rows whose dot products are scale^2 row (S + diag(ridge))^-1 row.

        The given rows are overwritten.
        """
        with self._in_place():
            columns = rows.T
            solved: Matrix = blas.dtrsm(scale, self._array, columns, trans_a=1, overwrite_b=1)
        return solved.T

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        diagonal = self._array.reshape(-1, order="F")[:: len(self._array) + 1]
        scatter_diagonal = diagonal.copy()
        diagonal[:] = self._diagonal
        try:
            yield
        finally:
            diagonal[:] = scatter_diagonal
