"""The products of classes with similar numbers of rows, which follow the solutions of all blocks.

Classes with fewer rows than others are padded with rows of zeros, so that all have one shape.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.growing_table import capacity
from robocle.classifiers.scatter.product_table import ProductTable
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]


class FollowedClasses:
    """Products of the means m and the rows R of some classes.

    Args:
        blocks: The number of blocks.
        size: The number of rows that each class is padded to.
        columns: The number of columns of the products.
        fixed: How many of them belong to fixed rows.
    """

    def __init__(self, blocks: int, size: int, columns: int, fixed: int) -> None:
        self.numbers: list[int] = []
        """The classes."""
        self._size = size
        # The first row of each class is its mean.
        self._table = ProductTable(np.zeros((blocks, 0, columns)), fixed)
        self._among = np.zeros((blocks, 0, size, size))
        self._places = np.empty((0, size), np.int64)
        self._kept = np.empty((blocks, 0), np.int64)

    @property
    def _each(self) -> Matrix:
        """The products of each class: (blocks, classes, 1 + rows, columns)."""
        return self._table.divided(1 + self._size)[:, : len(self.numbers)]

    @property
    def own(self) -> Matrix:
        """m A m_j: (blocks, classes, columns)."""
        return self._each[:, :, 0]

    @property
    def towards(self) -> Matrix:
        """R A m_j: (blocks, classes, rows, columns)."""
        return self._each[:, :, 1:]

    def for_columns(self, columns: Numbers) -> tuple[Matrix, Matrix]:
        """Return `own` and `towards` for some columns of each class.

        Args:
            columns: (classes, columns).
        """
        each = self._each
        found = np.empty((*each.shape[:3], columns.shape[1]))
        for slot, chosen in enumerate(columns):  # much faster than one index for all of them
            np.take(each[:, slot], chosen, axis=2, out=found[:, slot], mode="clip")
        return found[:, :, 0], found[:, :, 1:]

    def towards_origins(self, shares: Sequence[Vector]) -> list[Matrix]:
        """Return R A c for each of some origins c: (blocks, classes, rows, 1).

        Args:
            shares: The share of each column in each origin. All class means have the same.
        """
        blocks, _, columns = self._table.values.shape
        rows = self._table.whole_rows()
        # The table is read once, by a product with a single vector, for all origins.
        total, last = rows[:, :columns] @ np.ones(columns), rows[:, columns - 1]
        each = (own[0] * total + (own[-1] - own[0]) * last for own in shares)
        parts = (found.reshape(blocks, -1, 1 + self._size, 1) for found in each)
        return [part[:, : len(self.numbers), 1:] for part in parts]

    @property
    def among(self) -> Matrix:
        """R A R^T: (blocks, classes, rows, rows)."""
        return self._among[:, : len(self.numbers)]

    @property
    def kept(self) -> Numbers:
        """The number of rows of each class: (blocks, classes)."""
        return self._kept[:, : len(self.numbers)]

    def kept_of(self, number: int) -> list[int]:
        """Return the number of rows of a class in each block."""
        found: list[int] = self._kept[:, self.numbers.index(number)].tolist()
        return found

    def places_of(self, number: int) -> list[int]:
        """Return where the rows of a class are."""
        slot = self.numbers.index(number)
        found: list[int] = self._places[slot, : self._kept[:, slot].max()].tolist()
        return found

    def add(self, number: int, places: Sequence[int], kept: Sequence[int]) -> None:
        """Add a class whose products are zero.

        Args:
            number: The class.
            places: Where its rows are.
            kept: How many of them it has in each block.
        """
        slot = len(self.numbers)
        if slot == len(self._places):
            self._resize(capacity(slot))
        self.numbers.append(number)
        self._places[slot, : len(places)] = places
        self._kept[:, slot] = kept

    def _resize(self, slots: int) -> None:
        known = len(self._places)
        self._table = self._table.with_rows(slots * (1 + self._size))
        among, places, kept = self._among, self._places, self._kept
        self._among = np.zeros((len(among), slots, self._size, self._size))
        self._among[:, :known] = among
        self._places = np.full((slots, self._size), -1)
        self._places[:known] = places
        self._kept = np.zeros((len(kept), slots), np.int64)
        self._kept[:, :known] = kept

    def replace(self, block: int, number: int, own: Vector, towards: Matrix, among: Matrix) -> None:
        """Replace the products of a class in one block. The class has as many rows as before."""
        slot, rows = self.numbers.index(number), len(among)
        self._table.fit(len(own))
        each = self._each[block, slot]
        each[0], each[1 : 1 + rows], each[1 + rows :] = own, towards, 0
        self._among[block, slot] = 0
        self._among[block, slot, :rows, :rows] = among

    def remove(self, number: int) -> None:
        """Remove a class; the last one takes its place."""
        slot, last = self.numbers.index(number), len(self.numbers) - 1
        each = self._each
        each[:, slot], each[:, last] = each[:, last], 0
        for array in (self._among, self._kept):
            array[:, slot], array[:, last] = array[:, last], 0
        self._places[slot], self._places[last] = self._places[last], -1
        self.numbers[slot] = self.numbers[last]
        del self.numbers[last]

    def take(self, number: int, other: "FollowedClasses") -> None:
        """Move a class here from a group with fewer rows."""
        theirs, rows = other.numbers.index(number), other._size
        self.add(number, other.places_of(number), other.kept_of(number))
        slot = len(self.numbers) - 1
        self._table.fit(other._table.columns)
        self._each[:, slot, : 1 + rows] = other._each[:, theirs]
        self._among[:, slot, :rows, :rows] = other._among[:, theirs]
        other.remove(number)

    def follow(self, block: int, update: Update, products: Vector) -> None:
        """Follow a sample in one block.

        Args:
            block: The block.
            update: The sample.
            products: The products R u of the rows at all places; the last one is 0.
        """
        mine = np.zeros((len(self._places), 1 + self._size))
        mine[: len(self.numbers), 0] = update.products[self.numbers]
        mine[:, 1:] = products[self._places]
        self._table.follow(block, update, mine.ravel())
        if update.gain:
            rows = mine[:, 1:]
            self._among[block] -= update.gain * rows[:, :, None] * rows[:, None, :]
        if update.move.row in self.numbers:
            own = self._each[block, self.numbers.index(update.move.row), 0]
            own += update.moved * update.products
            own[update.column] += update.move.step * update.moved * update.square

    def add_row(self, block: int, update: Update, products: Vector) -> None:
        """Add the products of the row sqrt(weight) v of a sample v to its class, in one block.

        Args:
            block: The block.
            update: The sample.
            products: As in `follow`.
        """
        slot = self.numbers.index(update.move.row)
        row, root = int(self._kept[block, slot]), np.sqrt(update.move.weight)
        towards = self._each[block, slot, 1 + row]
        towards[:] = update.products
        towards[update.column] += update.move.step * update.square
        towards *= root * update.kept
        beside = root * update.kept * products[self._places[slot]]
        beside[row] = update.move.weight * update.kept * update.square
        self._among[block, slot, row, :] = self._among[block, slot, :, row] = beside

    def count_row(self, number: int, place: int) -> None:
        """Count the row that was added to a class in all blocks."""
        slot = self.numbers.index(number)
        self._places[slot, self._kept[:, slot].max()] = place
        self._kept[:, slot] += 1
