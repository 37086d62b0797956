"""Products of the samples to leave out and of the world, which follow the blocks' solutions."""

from collections.abc import Sequence

import numpy as np

from robocle.classifiers.scatter.followed_block import FollowedBlock
from robocle.classifiers.scatter.followed_samples import FollowedSamples
from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.product_table import ProductTable
from robocle.classifiers.state import Matrix, Vector


class FollowedProducts:
    """Products under the solutions of new blocks, which are followed from now on.

    Args:
        forms: The scatter of each block.
        blocks: The blocks, which are new.
        classes: The classes whose samples are left out.
    """

    def __init__(
        self, forms: Sequence[ScatterForm], blocks: Sequence[FollowedBlock], classes: Sequence[int]
    ) -> None:
        starts = [block.start for block in blocks]
        world = np.array([start.world for start in starts])
        fixed = len(blocks[0].solution.fixed)
        self.world = ProductTable(world, fixed)
        """The products of the world's pictures."""
        self._types = [form.rows_type for form in forms]
        tables, places = _shared_rows(forms, classes)
        self.samples = FollowedSamples(tables, world.shape[2], fixed)
        """The products of the classes whose samples are left out."""
        # The longest first: those with fewer rows may join their groups.
        for number in sorted(classes, key=lambda each: -forms[0].factors.count(each)):
            own = [start.classes[number] for start in starts]
            self.samples.add(number, own, places.get(number))
        self._redrawn = [form.factors.redrawn for form in forms]

    def follow(
        self,
        forms: Sequence[ScatterForm],
        blocks: Sequence[FollowedBlock | None],
        classes: Sequence[int],
    ) -> bool:
        """Follow the samples since; return False if everything must be computed again.

        Args:
            forms: The scatter of each block.
            blocks: The blocks; None for one that must be computed again.
            classes: The classes whose samples are left out.
        """
        moves = [
            form.moves or [] for form, block in zip(forms, blocks, strict=True) if block is not None
        ]
        numbers = {len(each) for each in moves}
        if len(numbers) != 1 or self._redrawn != [form.factors.redrawn for form in forms]:
            return False
        if self._types != [form.rows_type for form in forms]:
            return False
        followed = all(self._follow_sample(forms, blocks, index) for index in range(*numbers))
        self.samples.keep(classes)
        return followed and all(self._has_rows(forms, move.row) for move in moves[0])

    def _follow_sample(
        self, forms: Sequence[ScatterForm], blocks: Sequence[FollowedBlock | None], index: int
    ) -> bool:
        """Follow one sample; return False if the blocks do not agree on its row."""
        updates: list[Update | None] = []
        products: list[Vector] = []
        for number, (form, block) in enumerate(zip(forms, blocks, strict=True)):
            update = block.follow(form, (form.moves or [])[index:]) if block is not None else None
            updates.append(update)
            products.append(np.empty(0))
            if block is not None and update is not None:
                products[-1] = self.samples.follow(number, update)
                # float32 changes no score of the world by 1e-5, and reads half the memory.
                towards = block.beside.world @ update.direction.astype(np.float32)
                self.world.follow(number, update, towards.astype(np.float64))
        row = next(update.move.row for update in updates if update is not None)
        kept = self.samples.kept(row)
        if kept is None:
            return True
        fewer = {known < form.factors.count(row) for known, form in zip(kept, forms, strict=True)}
        if fewer == {True} and len(set(kept)) == 1:
            self.samples.add_row(updates, products)
        return fewer == {False} or len(set(kept)) == 1

    def _has_rows(self, forms: Sequence[ScatterForm], row: int) -> bool:
        """Return whether a class has as many rows here as in the scatter of each block."""
        kept = self.samples.kept(row)
        return kept is None or kept == [form.factors.count(row) for form in forms]

    def complete(
        self,
        forms: Sequence[ScatterForm],
        blocks: Sequence[FollowedBlock],
        new: Sequence[bool],
        classes: Sequence[int],
    ) -> None:
        """Add missing classes, and replace the products of new blocks.

        Args:
            forms: The scatter of each block.
            blocks: The blocks.
            new: Which of them are new.
            classes: The classes whose samples are left out.
        """
        missing = [number for number in classes if number not in self.samples]
        if missing:
            found = [
                block.start.classes if is_new else block.class_products(form, missing)
                for form, block, is_new in zip(forms, blocks, new, strict=True)
            ]
            for number in missing:
                self.samples.add(number, [each[number] for each in found])
        for place in np.flatnonzero(new).tolist():
            start = blocks[place].start
            self.world.replace(place, start.world)
            for number, products in start.classes.items():
                self.samples.replace(place, number, products)


def _shared_rows(
    forms: Sequence[ScatterForm], classes: Sequence[int]
) -> tuple[list[Matrix], dict[int, range]]:
    """Return rows of each block that are never modified, and where those of each class are.

    There are none if the blocks differ in where they are, or if other classes have rows, too.
    """
    found = [form.shared_rows() for form in forms]
    first = found[0]
    if first is not None and all(each and each[1] == first[1] for each in found):
        places = {number: first[1][number] for number in classes}
        if sum(map(len, places.values())) == len(first[0]):
            return [each[0] for each in found if each], places
    return [np.empty((0, form.width), form.rows_type) for form in forms], {}
