"""(S + ridge I)^-1 as an operator on full-width rows, for each form of the scatter S."""

from typing import Protocol

import numpy as np

from robocle.blas import lapack
from robocle.classifiers.scatter.solving import cholesky, solve_triangular
from robocle.classifiers.scatter.upper_factor import UpperFactor
from robocle.classifiers.state import Matrix, Vector


class Inverse(Protocol):
    """A = (S + ridge I)^-1, for the S of the moment at which it was created."""

    def solve(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        ...

    def whitened(self, rows: Matrix) -> Matrix:
        """Return rows whose dot products are row A row, for rows in the span of the samples."""
        ...


class IdentityInverse:
    """A is the identity: there is no scatter yet."""

    def solve(self, rows: Matrix) -> Matrix:
        """Return the rows."""
        return rows.copy()

    def whitened(self, rows: Matrix) -> Matrix:
        """Return the rows."""
        return rows


class DenseInverse:
    """A by the Cholesky factor in the upper triangle of a dense scatter."""

    def __init__(self, factor: UpperFactor) -> None:
        self._factor = factor

    def solve(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        return self._factor.solve(rows)

    def whitened(self, rows: Matrix) -> Matrix:
        """Return rows whose dot products are row A row."""
        return self._factor.whitened(rows.copy(), 1.0)


class SpanInverse:
    """A in the span of the samples; 1 / ridge beside it.

    Args:
        basis: The orthonormal basis of the span.
        scatter: S in coordinates of the basis.
        ridge: The ridge.
    """

    def __init__(self, basis: Matrix, scatter: Matrix, ridge: float) -> None:
        self._basis = basis
        self._ridge = ridge
        self._factor = cholesky(scatter.copy(), ridge)

    def solve(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        if not len(self._basis):
            return rows / self._ridge
        inside = rows @ self._basis.T
        solved, _ = lapack.dpotrs(self._factor, inside.T, lower=1)
        # A = Q^T (S_r + e I)^-1 Q + (I - Q^T Q) / e
        within: Matrix = (solved.T - inside / self._ridge) @ self._basis
        return within + rows / self._ridge

    def solve_inside(self, coordinates: Vector) -> Vector:
        """Return the coordinates of A row, from those of a row in the span of the samples.

        Args:
            coordinates: They may be more than there were when this was created: directions that
                were added since are beside the span.
        """
        known = len(self._basis)
        found = coordinates / self._ridge
        if known:
            found[:known], _ = lapack.dpotrs(self._factor, coordinates[:known], lower=1)
        return found

    def whitened(self, rows: Matrix) -> Matrix:
        """Return rows whose dot products are row A row, for rows in the span of the samples."""
        return np.ascontiguousarray(solve_triangular(self._factor, rows @ self._basis.T))
