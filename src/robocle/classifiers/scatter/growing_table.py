"""Tables that gain rows."""

import numpy as np

from robocle.classifiers.own_arrays import OwnArrays
from robocle.classifiers.state import Matrix, Vector

MIN_SPARE = 16


class GrowingTable(OwnArrays):
    """A matrix that gains rows.

    Args:
        values: The matrix to start from. It is copied, with its type.
    """

    def __init__(self, values: Matrix) -> None:
        self._rows, columns = values.shape
        self._array = np.zeros((capacity(self._rows), columns), values.dtype)
        self.values[:] = values

    @property
    def values(self) -> Matrix:
        """The matrix, as a view."""
        return self._array[: self._rows]

    def add_rows(self, values: Matrix) -> None:
        """Add rows."""
        start, self._rows = self._rows, self._rows + len(values)
        if self._rows > len(self._array):
            wider = np.zeros((capacity(self._rows), self._array.shape[1]), self._array.dtype)
            wider[:start] = self._array[:start]
            self._array = wider
        self._array[start : self._rows] = values


class ExtendedTable:
    """Rows that are shared with others and never modified, followed by rows of its own.

    Args:
        shared: The shared rows, with the type of all rows.
    """

    def __init__(self, shared: Matrix) -> None:
        self.shared = shared
        self._own = GrowingTable(shared[:0])

    def __len__(self) -> int:
        return len(self.shared) + len(self._own.values)

    def add_row(self) -> None:
        """Add a row of zeros of its own."""
        self._own.add_rows(np.zeros((1, self.shared.shape[1])))

    def write(self, place: int, row: Vector | float) -> None:
        """Replace a row. A shared one is left as it is: it has this value already."""
        if place >= len(self.shared):
            self._own.values[place - len(self.shared)] = row

    def times(self, vector: Vector) -> Vector:
        """Return the product of each row with a vector, computed with the type of the rows."""
        rounded = vector.astype(self.shared.dtype, copy=False)
        products = [part @ rounded for part in (self.shared, self._own.values)]
        return np.concatenate(products).astype(np.float64, copy=False)


def capacity(size: int) -> int:
    """Return how many rows or columns to allocate for some, so that further ones fit."""
    return size + max(MIN_SPARE, size // 32)
