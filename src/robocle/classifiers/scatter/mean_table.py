"""Class means that share their rows with states of the classifier.

With many classes, the means take much of a state, and few of them change between two states. So a
table hands out the array that it has. From then on it leaves this array as it is, and keeps the
rows that change in an array of its own.
"""

import copy
from collections.abc import Sequence

import numpy as np

from robocle.classifiers.scatter.growing_table import GrowingTable
from robocle.classifiers.state import Matrix, Vector

# If a larger share of the rows has changed, the table gets an array of its own for all of them.
MOST_CHANGED = 1 / 4


class MeanTable:
    """The means of classes, one row per class.

    Args:
        means: The rows to start from. They are never modified.
    """

    def __init__(self, means: Matrix) -> None:
        self._share(means)
        self._squares = np.zeros(len(means))
        self._outdated = set(range(len(means)))  # the classes whose squares are not known

    def _share(self, means: Matrix) -> None:
        self._shared = means
        self._changed = GrowingTable(means[:0])
        self._numbers: list[int] = []  # the classes of the changed rows
        self._places: dict[int, int] = {}  # where the changed row of a class is

    def __deepcopy__(self, memo: dict[int, object]) -> "MeanTable":
        """Return a copy with the same shared rows."""
        copied = copy.copy(self)
        for name in ("_changed", "_numbers", "_places", "_squares", "_outdated"):
            setattr(copied, name, copy.deepcopy(getattr(self, name), memo))
        return copied

    def __len__(self) -> int:
        return len(self._squares)

    def add_row(self) -> None:
        """Add a class whose mean is zero."""
        number = len(self)
        self._squares = np.append(self._squares, 0.0)
        self._keep([number], np.zeros((1, self._shared.shape[1])))

    def changeable(self, number: int) -> Vector:
        """Return the mean of a class, to be modified in place at once."""
        if number not in self._places:
            if len(self._numbers) > MOST_CHANGED * len(self):
                self._own_all()
            else:
                self._keep([number], self._shared[number : number + 1])
        self._outdated.add(number)
        row: Vector = self._changed.values[self._places[number]]
        return row

    def _keep(self, numbers: Sequence[int], rows: Matrix) -> None:
        for number in numbers:
            self._places[number] = len(self._numbers)
            self._numbers.append(number)
        self._changed.add_rows(rows)

    def _own_all(self) -> None:
        means = self.full()
        self._share(means[:0].copy())  # a view would keep all of them in memory
        self._keep(range(len(means)), means)

    def full(self) -> Matrix:
        """Return all means. They must not be modified, and may be when a mean changes."""
        if not len(self._shared):
            return self._changed.values
        if not self._numbers:
            return self._shared
        means = np.empty((len(self), self._shared.shape[1]))
        means[: len(self._shared)] = self._shared
        means[self._numbers] = self._changed.values
        return means

    def some(self, numbers: Sequence[int]) -> Matrix:
        """Return the means of some classes."""
        rows = [
            self._changed.values[self._places[number]]
            if number in self._places
            else self._shared[number]
            for number in numbers
        ]
        return np.array(rows).reshape(-1, self._shared.shape[1])

    def times(self, rows: Matrix) -> Matrix:
        """Return the products of rows with all means: (rows, classes)."""
        changed: Matrix = rows @ self._changed.values.T
        if not len(self._shared):
            return changed
        products = np.empty((len(rows), len(self)))
        products[:, : len(self._shared)] = rows @ self._shared.T
        products[:, self._numbers] = changed
        return products

    def largest_square(self) -> float:
        """Return the largest squared length of a mean."""
        if self._outdated:
            numbers = sorted(self._outdated)
            means = self.full() if len(numbers) == len(self) else self.some(numbers)
            squares = self._squares.copy()  # joblib maps arrays read-only
            squares[numbers] = np.einsum("ij,ij->i", means, means)
            self._squares = squares
            self._outdated.clear()
        return float(self._squares.max(initial=0.0))

    def shared(self) -> Matrix:
        """Return all means in an array that is never modified."""
        means = np.ascontiguousarray(self.full())
        means.flags.writeable = False
        self._share(means)
        return means
