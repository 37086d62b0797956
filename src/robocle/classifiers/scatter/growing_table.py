"""A table with spare rows and columns, to which outer products are added in place."""

import numpy as np
from numpy.typing import NDArray

from robocle.blas import blas
from robocle.classifiers.state import Matrix, Vector

MIN_SPARE = 16


class GrowingTable:
    """A matrix that gains rows and columns one at a time.

    Args:
        values: The matrix to start from. It is copied, with its type.
        columns: Whether there will be further columns.
    """

    def __init__(self, values: Matrix, *, columns: bool = True) -> None:
        self._rows, self._columns = values.shape
        width = _capacity(self._columns) if columns else self._columns
        self._array = np.zeros((_capacity(self._rows), width), values.dtype)
        self.values[:] = values

    @property
    def values(self) -> Matrix:
        """The matrix, as a view."""
        return self._array[: self._rows, : self._columns]

    def add_outer(self, factor: float, down: Vector, across: Vector) -> None:
        """Add factor * down across^T."""
        if not (factor and self._rows and self._columns):
            return
        rows, columns = np.zeros(len(self._array)), np.zeros(self._array.shape[1])
        rows[: self._rows], columns[: self._columns] = down, across
        # BLAS sees the transposed array, which has Fortran's order, and changes it in place.
        blas.dger(factor, columns, rows, a=self._array.T, overwrite_a=1)

    def add_column(self) -> None:
        """Add a column of zeros."""
        if self._columns == self._array.shape[1]:
            self._array = _widened(self._array, len(self._array), _capacity(self._columns + 1))
        self._columns += 1

    def add_rows(self, values: Matrix) -> None:
        """Add rows."""
        start, self._rows = self._rows, self._rows + len(values)
        if self._rows > len(self._array):
            self._array = _widened(self._array, _capacity(self._rows), self._array.shape[1])
        self._array[start : self._rows, : self._columns] = values

    def kept_rows(self, kept: NDArray[np.int64]) -> "GrowingTable":
        """Return a table of some of the rows."""
        return GrowingTable(self.values[kept])


def _capacity(size: int) -> int:
    return size + max(MIN_SPARE, size // 32)


def _widened(array: Matrix, rows: int, columns: int) -> Matrix:
    wider = np.zeros((rows, columns), array.dtype)
    wider[: len(array), : array.shape[1]] = array
    return wider
