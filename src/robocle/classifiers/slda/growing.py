"""Arrays that only grow: views of what they held before stay valid, so readers need no lock."""

import numpy as np

from robocle.classifiers.samples import Matrix, Vector


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
