"""A table with spare rows."""

import numpy as np

from robocle.classifiers.state import Matrix

MIN_SPARE = 16


class GrowingTable:
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


def capacity(size: int) -> int:
    """Return how many rows or columns to allocate for some, so that further ones fit."""
    return size + max(MIN_SPARE, size // 32)
