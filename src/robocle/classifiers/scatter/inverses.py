"""(S + ridge I)^-1 as an operator on full-width rows, for each form of the scatter S."""

from typing import Protocol

import numpy as np

from robocle.blas import lapack
from robocle.classifiers.scatter.solving import cholesky, solve_triangular
from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.state import Matrix, Vector


class Inverse(Protocol):
    """A = (S + ridge I)^-1, for the S of the moment at which it was created.

    It must be complete before it is used.
    """

    @property
    def is_complete(self) -> bool:
        """Whether all steps of its computation were taken."""
        ...

    def advance(self) -> None:
        """Take the next step of its computation."""
        ...

    def solve(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        ...

    def whitened(self, rows: Matrix) -> Matrix:
        """Return rows whose dot products are row A row, for rows in the span of the samples."""
        ...


class ReadyInverse:
    """An inverse that is complete from the start."""

    is_complete = True

    def advance(self) -> None:
        """There is no further step."""


class IdentityInverse(ReadyInverse):
    """A is the identity: there is no scatter yet."""

    def solve(self, rows: Matrix) -> Matrix:
        """Return the rows."""
        return rows.copy()

    def whitened(self, rows: Matrix) -> Matrix:
        """Return the rows."""
        return rows


class DenseInverse:
    """A by the Cholesky factor of a dense scatter."""

    def __init__(self, factor: SymmetricFactor) -> None:
        self._factor = factor

    @property
    def is_complete(self) -> bool:
        """Whether the factor is complete."""
        return self._factor.is_complete

    def advance(self) -> None:
        """Take the next step of the factorisation."""
        self._factor.advance()

    def solve(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        return self._factor.solve(rows)

    def whitened(self, rows: Matrix) -> Matrix:
        """Return rows whose dot products are row A row."""
        return self._factor.whitened(rows, 1.0)


class SpanInverse(ReadyInverse):
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
