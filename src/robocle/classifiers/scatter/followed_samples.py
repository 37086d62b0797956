"""Inner products of the samples to leave out, which follow the solution: see `followed_solution`.

The products are those between the class means and, for some classes, their means and the rows R
that they contribute to the scatter. A sample changes all of them by outer products. Residuals are
linear in R, so their products need not be kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.followed_rows import FollowedRows
from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.growing_table import GrowingTable
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]


class FollowedSamples:
    """Products of some classes in one block. Columns are those of `FollowedSolution`.

    Args:
        width: The width of the block.
        columns: The number of columns.
    """

    def __init__(self, width: int, columns: int) -> None:
        self.classes: list[int] = []
        self._rows = FollowedRows(np.empty((0, width)), np.empty((0, columns)))
        self._places: dict[int, list[int]] = {}
        self._own = GrowingTable(np.empty((0, columns)))
        self.groups: dict[int, EqualClasses] = {}

    @property
    def own(self) -> Matrix:
        """m A m_j: (classes of the samples, columns)."""
        return self._own.values

    @property
    def towards(self) -> Matrix:
        """R A m_j: (rows, columns)."""
        return self._rows.towards

    def alike(self, counts: Numbers, chosen: Numbers) -> Iterator["AlikeClasses"]:
        """Yield classes whose chosen residuals follow from their rows by maps of one shape.

        Args:
            counts: The number of samples taught per class.
            chosen: The number of chosen samples per class.
        """
        for group in self.groups.values():
            numbers = np.array(group.classes, np.int64)
            complete = counts[numbers] == group.places.shape[1] + 1
            kinds = 2 * chosen[numbers] + complete
            for kind in np.unique(kinds).tolist():
                mine = kinds == kind
                yield AlikeClasses(numbers[mine], group.places[mine], group.among[mine])

    def rows_of(self, number: int) -> int | None:
        """Return how many rows a class has; None if its products are not known."""
        return len(self._places[number]) if number in self._places else None

    def add(
        self,
        classes: Sequence[int],
        own: Matrix,
        rows: Matrix,
        towards: Matrix,
        among: Sequence[Matrix],
    ) -> None:
        """Add classes.

        Args:
            classes: The classes.
            own: The products of their means, (classes, columns).
            rows: R of all of them, one after another.
            towards: The products of these rows, (rows, columns).
            among: R A R^T of each class.
        """
        start = len(self._rows)
        for number, products in zip(classes, among, strict=True):
            self._places[number] = list(range(start, start + len(products)))
            self._group(len(products)).add(number, self._places[number], products)
            start += len(products)
        self.classes += classes
        self._own.add_rows(own)
        self._rows.add(rows, towards)

    def keep(self, classes: Sequence[int]) -> None:
        """Drop all other classes."""
        wanted = set(classes)
        kept = [number for number in self.classes if number in wanted]
        if len(kept) == len(self.classes):
            return
        order = [self.classes.index(number) for number in kept]
        rows = np.array([place for number in kept for place in self._places[number]], np.int64)
        self._own = self._own.kept_rows(np.array(order, np.int64))
        self._rows = self._rows.kept(rows)
        starts = np.cumsum([0, *(len(self._places[number]) for number in kept)]).tolist()
        self._places = {
            number: list(range(start, end))
            for number, start, end in zip(kept, starts, starts[1:], strict=False)
        }
        groups, self.groups = self.groups, {}
        among = {number: each for group in groups.values() for number, each in group.items()}
        for number in kept:
            self._group(len(self._places[number])).add(number, self._places[number], among[number])
        self.classes = kept

    def _group(self, size: int) -> "EqualClasses":
        return self.groups.setdefault(size, EqualClasses(size))

    def update(self, update: Update, *, contributes: bool) -> None:
        """Follow a sample.

        Args:
            update: The sample.
            contributes: Whether the sample's row was added to those of its class.
        """
        p, moved, column = update.products, update.moved, update.column
        if len(p) > self._own.values.shape[1]:
            self._own.add_column()
        own = p[column - update.move.row :][self.classes] if self.classes else np.empty(0)
        q = self._rows.update(update)
        self._own.add_outer(-update.gain, own, p)
        self._own.values[:, column] += moved * own
        for group in self.groups.values():
            group.update(update.gain, q)
        if update.move.row in self._places:
            self._move_own(update)
        if contributes:
            self._add_contribution(update, q)

    def _move_own(self, update: Update) -> None:
        place = self.classes.index(update.move.row)
        self._own.values[place] += update.moved * update.products
        self._own.values[place, update.column] += update.move.step * update.moved * update.square

    def _add_contribution(self, update: Update, q: Vector) -> None:
        """Add the row sqrt(weight) v to those of the sample's class."""
        number, root = update.move.row, np.sqrt(update.move.weight)
        products = update.products.copy()
        products[update.column] += update.move.step * update.square
        beside = root * update.kept * q[self._places[number]]
        square = update.move.weight * update.kept * update.square
        among = self._group(len(beside)).remove(number)
        among = np.block([[among, beside[:, None]], [beside[None], np.array([[square]])]])
        self._places[number].append(len(self._rows))
        self._group(len(among)).add(number, self._places[number], among)
        self._rows.add(root * update.move.deviation[None], root * update.kept * products[None])


@dataclass(frozen=True, eq=False)
class AlikeClasses:
    """Classes with equally many rows and chosen samples."""

    numbers: Numbers
    places: Numbers
    """Where their rows are: (classes, rows)."""
    among: Matrix
    """R A R^T: (classes, rows, rows)."""


class EqualClasses:
    """Classes with equally many rows: their rows' places, and the products among these."""

    def __init__(self, size: int) -> None:
        self.classes: list[int] = []
        self.places = np.empty((0, size), np.int64)
        """(classes, rows)"""
        self.among = np.empty((0, size, size))
        """R A R^T: (classes, rows, rows)"""

    def add(self, number: int, places: Sequence[int], among: Matrix) -> None:
        """Add a class."""
        self.classes.append(number)
        self.places = np.concatenate([self.places, np.array([places], np.int64)])
        self.among = np.concatenate([self.among, among[None]])

    def remove(self, number: int) -> Matrix:
        """Remove a class and return R A R^T."""
        place = self.classes.index(number)
        among: Matrix = self.among[place]
        del self.classes[place]
        self.places = np.delete(self.places, place, axis=0)
        self.among = np.delete(self.among, place, axis=0)
        return among

    def items(self) -> Iterator[tuple[int, Matrix]]:
        """Yield each class with R A R^T."""
        yield from zip(self.classes, self.among, strict=True)

    def update(self, gain: float, products: Vector) -> None:
        """Follow a sample, with the products R u of all rows."""
        if gain and len(self.classes):
            mine = products[self.places]
            self.among -= gain * mine[:, :, None] * mine[:, None, :]
