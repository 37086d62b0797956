"""Inner products of the samples to leave out, which follow the solutions: see `followed_solution`.

The products are those between the class means and, for some classes, their means and the rows R
that they contribute to the scatter. A sample changes all of them by outer products. Residuals are
linear in R, so their products need not be kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.followed_classes import FollowedClasses
from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.growing_table import ExtendedTable
from robocle.classifiers.scatter.padding import padded_rows
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]

# Classes with fewer rows may join a group of this size.
SMALL_GROUP = 4


@dataclass(frozen=True, eq=False)
class ClassProducts:
    """The products of one class in one block."""

    own: Vector
    """m A m_j: (columns,)."""
    rows: Matrix
    """R: (rows, width)."""
    towards: Matrix
    """R A m_j: (rows, columns)."""
    among: Matrix
    """R A R^T: (rows, rows)."""


class FollowedSamples:
    """Products of some classes in all blocks. Columns are those of `FollowedSolution`.

    Args:
        rows: For each block, rows that are never modified, to start from. Their type is that of all
            rows.
        columns: The number of columns.
        fixed: How many of them belong to fixed rows.
    """

    def __init__(self, rows: Sequence[Matrix], columns: int, fixed: int) -> None:
        self._columns, self._fixed = columns, fixed
        self._rows = [ExtendedTable(each) for each in rows]
        self._unused: list[int] = []  # rows whose class was dropped
        self._sizes: dict[int, int] = {}  # the number of rows that each class is padded to
        self._groups: dict[int, FollowedClasses] = {}

    @property
    def groups(self) -> list[FollowedClasses]:
        """Classes with similar numbers of rows."""
        return [group for group in self._groups.values() if group.numbers]

    def __contains__(self, number: int) -> bool:
        """Return whether the products of a class are known."""
        return number in self._sizes

    def kept(self, number: int) -> list[int] | None:
        """Return how many rows a class has in each block; None if its products are not known."""
        size = self._sizes.get(number)
        return None if size is None else self._groups[size].kept_of(number)

    def add(
        self, number: int, blocks: Sequence[ClassProducts], places: Sequence[int] | None = None
    ) -> None:
        """Add a class with its products in each block.

        Args:
            number: The class.
            blocks: The products.
            places: Where its rows are among those to start from; None if they are not there.
        """
        kept = [len(block.rows) for block in blocks]
        if places is None:
            places = [self._new_row() for _ in range(max(kept))]
        self._group_for(number, len(places)).add(number, places, kept)
        for block, products in enumerate(blocks):
            self.replace(block, number, products)

    def replace(self, block: int, number: int, products: ClassProducts) -> None:
        """Replace the products of a class in one block. The class has as many rows as before."""
        group = self._groups[self._sizes[number]]
        places = group.places_of(number)
        for place, row in zip_longest(places, products.rows):
            self._rows[block].write(place, 0.0 if row is None else row)
        group.replace(block, number, products.own, products.towards, products.among)

    def keep(self, classes: Sequence[int]) -> None:
        """Drop all other classes."""
        for number in set(self._sizes).difference(classes):
            group = self._groups[self._sizes.pop(number)]
            shared = len(self._rows[0].shared)
            self._unused += [place for place in group.places_of(number) if place >= shared]
            group.remove(number)

    def follow(self, block: int, update: Update) -> Vector:
        """Follow a sample in one block, and return the products R u of all rows.

        Args:
            block: The block.
            update: The sample.
        """
        self._columns = len(update.products)
        # The last one is for places that are not used.
        products = np.append(self._rows[block].times(update.direction), 0.0)
        for group in self.groups:
            group.follow(block, update, products)
        return products

    def add_row(self, updates: Sequence[Update | None], products: Sequence[Vector]) -> None:
        """Add the row sqrt(weight) v of a sample v to those of its class.

        Args:
            updates: The sample in each block; None where all products will be replaced.
            products: What `follow` returned in each block.
        """
        number = next(update.move.row for update in updates if update is not None)
        place = self._new_row()
        group = self._with_room(number)
        for block, update in enumerate(updates):
            row: Vector | float = 0.0
            if update is not None:
                row = np.sqrt(update.move.weight) * update.move.deviation
                group.add_row(block, update, products[block])
            self._rows[block].write(place, row)
        group.count_row(number, place)

    def _with_room(self, number: int) -> FollowedClasses:
        """Return the group of a class, with room for one more row."""
        group = self._groups[self._sizes[number]]
        rows = len(group.places_of(number)) + 1
        if rows <= self._sizes[number]:
            return group
        larger = self._group_for(number, rows)
        larger.take(number, group)
        return larger

    def _group_for(self, number: int, rows: int) -> FollowedClasses:
        """Return the group that a class belongs to once it has so many rows."""
        wanted = padded_rows(rows, self._columns)
        # A group that is not much larger saves one of its own.
        used = [size for size, group in self._groups.items() if group.numbers]
        fits = [size for size in used if wanted <= size <= max(2 * wanted, SMALL_GROUP)]
        size = self._sizes[number] = min(fits, default=wanted)
        if size not in self._groups:
            self._groups[size] = FollowedClasses(len(self._rows), size, self._columns, self._fixed)
        return self._groups[size]

    def _new_row(self) -> int:
        if self._unused:
            return self._unused.pop()
        for table in self._rows:
            table.add_row()
        return len(self._rows[0]) - 1
