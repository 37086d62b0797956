"""The scatter S of one block, a sum of d d^T, and the inverse of S + ridge I.

S is kept as its rows d while these are few, and beyond as a matrix, in LAPACK's rectangular full
packed format, and the last rows. Rows only grow: views of what they held before stay valid, so
readers need no lock.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import blas, lapack
from robocle.classifiers.samples import Matrix, Vector

PENDING = 96  # rows beside a matrix, and lessons beside a factor
STAGGER = 8  # rows by which blocks differ, so that they are not factorised in the same lesson
LOWER: dict[str, Any] = {"uplo": "L"}


class Rows:
    """Rows of one width, appended one by one.

    >>> rows = Rows(2)
    >>> rows.append(np.ones(2))
    >>> rows.view
    array([[1., 1.]])
    """

    def __init__(self, width: int, first: Matrix | None = None) -> None:
        """Begin with some rows, in an array that nothing else uses."""
        self._array: Matrix = np.empty((0, width)) if first is None else first
        self._count = len(self._array)

    def __len__(self) -> int:
        return self._count

    @property
    def view(self) -> Matrix:
        """All rows. What is appended later does not change them."""
        return self._array[: self._count]

    def append(self, row: Vector | float) -> None:
        """Append a row."""
        if self._count == len(self._array):
            size = max(16, self._count * 3 // 2)
            larger = np.empty((size, self._array.shape[1]))
            larger[: self._count] = self.view
            self._array = larger
        self._array[self._count] = row
        self._count += 1


class Scatter:
    """S of one block: rows and, beyond half the width, a matrix.

    Args:
        width: The width of the block.
        number: The number of the block.
    """

    def __init__(self, width: int, number: int = 0) -> None:
        self.width = width
        self.number = number
        self.trace = 0.0
        self.rows = Rows(width)
        self.matrix: Vector | None = None  # S without these rows
        self._square = 0.0  # tr S^2, without the rows that are not counted yet
        self._counted = 0
        self._lengths = self._squared_lengths = 0.0  # of the rows that are not counted yet

    @property
    def most_rows(self) -> int:
        """How many rows there may be."""
        few = self.width // 2 if self.matrix is None else PENDING
        return few + STAGGER * self.number

    def add(self, rows: Matrix) -> None:
        """Add d d^T of each row d."""
        lengths = np.einsum("ij,ij->i", rows, rows)
        self.trace += float(lengths.sum())
        self._lengths += float(lengths.sum())
        self._squared_lengths += float(lengths @ lengths)
        if len(self.rows) + len(rows) > self.most_rows:
            self.fold()
        if self.matrix is not None and len(rows) > 1:
            self._add_to_matrix(rows)
            self._counted = -1
        else:
            for row in rows:
                self.rows.append(row)

    def fold(self) -> None:
        """Add the rows to the matrix."""
        if self.matrix is None:
            self.matrix = np.zeros(self.width * (self.width + 1) // 2)
        if len(self.rows):
            self._add_to_matrix(self.rows.view)
            uncounted = self._counted < len(self.rows)
            self.rows, self._counted = Rows(self.width), -1 if uncounted else 0

    def _add_to_matrix(self, rows: Matrix) -> None:
        self.matrix = lapack.dsfrk(
            self.width, len(rows), 1.0, rows.T, 1.0, self.matrix, overwrite_c=1, **LOWER
        )

    def squares(self) -> tuple[float, float]:
        """Return a lower and an upper bound of tr S^2, in less time than `square` takes."""
        if self._counted < 0:
            exact = self.square()
            return exact, exact
        high = (math.sqrt(self._square) + self._lengths) ** 2
        return self._square + self._squared_lengths, high

    def square(self) -> float:
        """Return tr S^2."""
        if self._counted < 0 or (self.matrix is not None and self._counted < len(self.rows)):
            self.fold()
            assert self.matrix is not None
            diagonal = self.matrix[_diagonal(self.width)]
            self._square = 2 * float(self.matrix @ self.matrix) - float(diagonal @ diagonal)
        elif self._counted < len(self.rows):
            old, new = np.split(self.rows.view, [self._counted])
            across, among = old @ new.T, new @ new.T
            self._square += 2 * float(np.vdot(across, across)) + float(np.vdot(among, among))
        self._counted = len(self.rows)
        self._lengths = self._squared_lengths = 0.0
        return self._square

    def plus(self, other: "Scatter") -> None:
        """Add another scatter."""
        if other.matrix is not None:
            other.fold()
            self.fold()
            self.matrix = np.add(self.matrix, other.matrix)  # type: ignore[arg-type]
            self.trace += other.trace
            self._counted = -1
        else:
            self.add(other.rows.view)

    def copy(self) -> "Scatter":
        """Return a scatter of its own with the same S."""
        found = Scatter(self.width, self.number)
        found.plus(self)
        return found

    def packed(self) -> Vector:
        """Return S: the columns of its lower triangle, one after another."""
        self.fold()
        return np.asarray(lapack.dtfttp(self.width, self.matrix, **LOWER)[0], np.float64)

    @classmethod
    def of(cls, packed: Vector, width: int, number: int = 0) -> "Scatter":
        """Return a scatter with this S, as `packed` returns it."""
        found = cls(width, number)
        found.matrix = lapack.dtpttf(width, packed, **LOWER)[0]
        assert found.matrix is not None
        found.trace = float(found.matrix[_diagonal(width)].sum())
        found._counted = -1
        return found


@cache
def _diagonal(width: int) -> NDArray[np.int64]:
    """Return where the diagonal of a matrix is in rectangular full packed format."""
    packed, _ = lapack.dtrttf(np.asfortranarray(np.eye(width)), **LOWER)
    places: NDArray[np.int64] = np.flatnonzero(packed)
    return places


class Inverse:
    """A = (S + ridge I)^-1, which follows S by one row per lesson: A = A0 - U^T U.

    A0 is I / ridge if S was given by rows, and otherwise given by a Cholesky factor.

    Args:
        scatter: The scatter S.
        ridge: The ridge; if it is infinite, A is the identity.
    """

    def __init__(self, scatter: Scatter, ridge: float) -> None:
        self.ridge = ridge
        self._scatter = scatter
        self._updates = Rows(scatter.width)  # U
        self._used = ridge  # in place of the ridge, where rounding makes it too small
        self._factor: Matrix | None = None  # in the lower triangle
        if math.isinf(ridge):
            return
        if scatter.matrix is not None:
            scatter.fold()
            packed = scatter.width, scatter.matrix
            self._factor = self._cholesky(lambda: lapack.dtfttr(*packed, **LOWER)[0])
        elif len(scatter.rows):
            rows = scatter.rows.view
            factor = self._cholesky(lambda: rows @ rows.T)
            solved = blas.dtrsm(1 / math.sqrt(self._used), factor, rows, lower=1)
            self._updates = Rows(scatter.width, np.ascontiguousarray(solved))

    def _cholesky(self, matrix: Callable[[], Matrix]) -> Matrix:
        """Return the lower factor of a matrix, which may be overwritten, and the ridge."""
        while True:
            square = matrix()
            square.ravel("K")[:: len(square) + 1] += self._used
            factor, failed = lapack.dpotrf(square, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return np.asarray(factor)
            self._used *= 10

    @property
    def is_outdated(self) -> bool:
        """Whether it should be computed again, with the same ridge."""
        if self._factor is None:
            return self._scatter.matrix is not None and math.isfinite(self.ridge)
        return len(self._updates) >= self._scatter.most_rows

    def apply(self, rows: Matrix) -> Matrix:
        """Return A x for each row x."""
        if self._factor is not None:
            found = self._solve(self._solve(rows, transposed=0), transposed=1)
        else:
            found = rows / (self._used if math.isfinite(self.ridge) else 1.0)
        if len(self._updates):
            updates = self._updates.view
            found -= (rows @ updates.T) @ updates
        return found

    def squares(self, rows: Matrix) -> Vector:
        """Return x A x for each row x, with half the work of `apply`."""
        if self._factor is not None:
            rooted = self._solve(rows, transposed=0)
        else:
            rooted = rows / math.sqrt(self._used if math.isfinite(self.ridge) else 1.0)
        along = rows @ self._updates.view.T
        found = np.einsum("ij,ij->i", rooted, rooted) - np.einsum("ij,ij->i", along, along)
        return np.asarray(found, np.float64)

    def _solve(self, rows: Matrix, transposed: int) -> Matrix:
        """Return L^-1 x, or L^-T x, for each row x, with the factor L."""
        if len(rows) == 1:
            solved = blas.dtrsv(self._factor, rows[0], lower=1, trans=transposed)[None]
        else:
            solved = lapack.dtrtrs(self._factor, rows.T, lower=1, trans=transposed)[0].T
        return np.asarray(solved, np.float64)

    def add(self, solved: Vector, gain: float) -> None:
        """Subtract gain * (solved solved^T) from A."""
        self._updates.append(math.sqrt(gain) * solved)
