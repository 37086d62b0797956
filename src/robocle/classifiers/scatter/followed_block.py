"""One block of the embedding, followed: its solution and the products of what is scored with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robocle.classifiers.scatter.followed_rows import FollowedRows
from robocle.classifiers.scatter.followed_samples import FollowedSamples
from robocle.classifiers.scatter.followed_solution import FollowedSolution, Move
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.inverses import IdentityInverse, Inverse
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.state import Matrix

# Ridges that differ by less than this are equal: the rest is rounding error.
SAME_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Beside:
    """What is scored beside the class means, in one block."""

    origin: Origin
    world: Matrix
    """Pictures of anything, (n, width)."""


class FollowedBlock:
    """The solution of one block, and the products of samples to leave out and of the world.

    Args:
        form: The scatter.
        ridge: The ridge, relative to the scatter.
        beside: What is scored beside the class means.
        classes: The classes whose samples are left out.
        most: The number of samples after which the scatter is factorised again.
    """

    def __init__(
        self, form: ScatterForm, ridge: float, beside: Beside, classes: Sequence[int], most: int
    ) -> None:
        self.beside = beside
        self.ridge = ridge
        """The ridge relative to the scatter; infinite if the scatter does not count."""
        self.scale = 1.0
        """What all products must be multiplied by."""
        self._redrawn = form.factors.redrawn
        inverse, means = _inverse(form, ridge), form.full_means()
        stacked = np.vstack([beside.origin.fixed, means])
        solved = inverse.solve(stacked)
        self.solution = FollowedSolution(inverse, stacked, solved, beside.origin.fixed, most)
        self.world = FollowedRows(beside.world, beside.world @ solved.T)
        self.samples = FollowedSamples(form.width, len(solved))
        rows = [form.full_rows(number) for number in classes]
        joined = np.vstack([*rows, means[:0]])
        among = [each @ each.T for each in _split(inverse.whitened(joined), rows)]
        own = means[list(classes)] @ solved.T
        kept = joined.astype(form.rows_type, copy=False)
        self.samples.add(classes, own, kept, joined @ solved.T, among)
        form.moves = []

    def can_follow(self, form: ScatterForm, ridge: float, beside: Beside) -> bool:
        """Return whether only samples were added since."""
        return (
            form.moves is not None
            and self.beside is beside
            and self._redrawn == form.factors.redrawn
            and (ridge == self.ridge or abs(ridge / self.ridge - 1) < SAME_RIDGE)
        )

    def follow(self, form: ScatterForm, classes: Sequence[int]) -> bool:
        """Follow the samples since; return False if everything must be computed again.

        Args:
            form: The scatter.
            classes: The classes whose samples are left out.
        """
        moves, form.moves = form.moves or [], []
        for index in range(len(moves)):
            self._update(form, moves[index:])
        self.samples.keep(classes)
        self._add_classes(form, [each for each in classes if self.samples.rows_of(each) is None])
        known = [self.samples.rows_of(move.row) for move in moves]
        pairs = zip(known, moves, strict=True)
        if any(rows not in (None, form.factors.count(move.row)) for rows, move in pairs):
            return False
        return not self.solution.is_full or self._renew(form, moves[-1].row)

    def _renew(self, form: ScatterForm, row: int) -> bool:
        """Factorise the scatter again; return False if the solution has drifted from it."""
        return self.solution.renew(_inverse(form, self.ridge), row, form.some_means([row])[0])

    def _update(self, form: ScatterForm, moves: Sequence[Move]) -> None:
        """Follow the first of some samples; all of them are already part of the form."""
        move = moves[0]
        direction = self.solution.apply(move.deviation[None])[0]
        products = form.times_means(direction[None])[0]
        for later in moves:  # the means before these samples
            products[later.row] -= later.step * float(later.deviation @ direction)
        classes = max(self.solution.classes, move.row + 1)
        if not np.isfinite(self.ridge):
            move = replace(move, weight=0.0)  # the scatter does not count
        update = self.solution.update(move, products[:classes], direction)
        known = self.samples.rows_of(move.row)
        contributes = known is not None and known < form.factors.count(move.row)
        self.samples.update(update, contributes=contributes)
        self.world.update(update)

    def _add_classes(self, form: ScatterForm, classes: Sequence[int]) -> None:
        if not classes:
            return
        rows = [form.full_rows(number) for number in classes]
        means = form.some_means(classes)
        joined = np.vstack([means, *rows])
        solved = self.solution.apply(joined)
        towards = np.hstack([solved @ self.beside.origin.fixed.T, form.times_means(solved)])
        ends = len(classes)
        pairs = zip(rows, _split(solved[ends:], rows), strict=True)
        among = [each @ solution.T for each, solution in pairs]
        kept = joined[ends:].astype(form.rows_type, copy=False)
        self.samples.add(classes, towards[:ends], kept, towards[ends:], among)


def _split(joined: Matrix, parts: Sequence[Matrix]) -> list[Matrix]:
    """Return the rows of a matrix in parts of the same lengths as others."""
    return np.split(joined, np.cumsum([len(part) for part in parts[:-1]])) if parts else []


def _inverse(form: ScatterForm, ridge: float) -> Inverse:
    return form.inverse(ridge) if np.isfinite(ridge) else IdentityInverse()
