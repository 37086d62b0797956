"""One block of the embedding, followed: its solution, and the products that it starts with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.followed_samples import ClassProducts
from robocle.classifiers.scatter.followed_solution import FollowedSolution, Move, Update
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.inverses import IdentityInverse, Inverse
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.state import Matrix, Vector

# Ridges that differ by less than this are equal: the rest is rounding error.
SAME_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Beside:
    """What is scored beside the class means, in one block."""

    origin: Origin
    world: NDArray[np.float32]
    """Pictures of anything, (n, width)."""


@dataclass(frozen=True, eq=False)
class Start:
    """The products of a block that is followed from now on."""

    classes: dict[int, ClassProducts]
    world: Matrix
    """Products x A m_j of the world's pictures: (n, columns)."""


class FollowedBlock:
    """The solution of one block.

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
        self._last_row = 0
        self._next: tuple[Inverse, int] | None = None
        inverse, means = _complete(_inverse(form, ridge)), form.full_means()
        stacked = np.vstack([means, beside.origin.fixed])
        solved = inverse.solve(stacked)
        self.solution = FollowedSolution(inverse, stacked, solved, beside.origin.fixed, most)
        rows = [form.full_rows(number) for number in classes]
        joined = np.vstack([*rows, means[:0]])
        among = [each @ each.T for each in _split(inverse.whitened(joined), rows)]
        own = means[list(classes)] @ solved.T
        found = _by_class(classes, own, rows, joined @ solved.T, among)
        self._start: Start | None = Start(found, beside.world @ solved.T)

    @property
    def start(self) -> Start:
        """The products of a block that is new."""
        assert self._start is not None
        return self._start

    def drop_start(self) -> None:
        """Drop the products that the block started with: they are followed now."""
        self._start = None

    def can_follow(self, form: ScatterForm, ridge: float, beside: Beside) -> bool:
        """Return whether only samples were added since."""
        return (
            form.moves is not None
            and self.beside is beside
            and (ridge == self.ridge or abs(ridge / self.ridge - 1) < SAME_RIDGE)
        )

    def refresh(self, form: ScatterForm) -> bool:
        """Take a step of the next factorisation if it is time; return False after a drift.

        Samples since its first step are followed as before. After the last step, the solution
        continues with it, unless the rows have drifted too far from it.
        """
        if self._next is not None:
            self._next[0].advance()
        elif self.solution.is_full:
            self._next = _inverse(form, self.ridge), self.solution.followed
        if self._next is None or not self._next[0].is_complete:
            return True
        (inverse, since), self._next = self._next, None
        row = self._last_row
        return self.solution.renew(inverse, since, row, form.some_means([row])[0])

    def follow(self, form: ScatterForm, moves: Sequence[Move]) -> Update:
        """Follow the first of some samples; all of them are already part of the form."""
        move = moves[0]
        self._last_row = move.row
        direction, products, inside = self._direction(form, move)
        for later in moves:  # the means before these samples
            products[later.row] -= later.step * float(later.deviation @ direction)
        classes = max(self.solution.classes, move.row + 1)
        weight = move.weight if np.isfinite(self.ridge) else 0.0  # else the scatter does not count
        return self.solution.update(move, weight, products[:classes], direction, inside)

    def _direction(self, form: ScatterForm, move: Move) -> tuple[Vector, Vector, Vector | None]:
        """Return u = A v, its products with the class means and, if known, its coordinates."""
        span, coordinates = self.solution.span, move.coordinates
        if span is not None and coordinates is not None and form.compressed:
            inside = span.solve(coordinates)
            return *form.spanned(inside), inside
        direction = self.solution.apply(move.deviation[None])
        return direction[0], form.times_means(direction)[0], None

    def class_products(self, form: ScatterForm, classes: Sequence[int]) -> dict[int, ClassProducts]:
        """Return the products of classes."""
        rows = [form.full_rows(number) for number in classes]
        means = form.some_means(classes)
        solved = self.solution.apply(np.vstack([means, *rows]))
        towards = np.hstack([form.times_means(solved), solved @ self.beside.origin.fixed.T])
        ends = len(classes)
        pairs = zip(rows, _split(solved[ends:], rows), strict=True)
        among = [each @ solution.T for each, solution in pairs]
        return _by_class(classes, towards[:ends], rows, towards[ends:], among)


def _by_class(
    classes: Sequence[int],
    own: Matrix,
    rows: Sequence[Matrix],
    towards: Matrix,
    among: Sequence[Matrix],
) -> dict[int, ClassProducts]:
    parts = zip(own, rows, _split(towards, rows), among, strict=True)
    return {number: ClassProducts(*part) for number, part in zip(classes, parts, strict=True)}


def _split(joined: Matrix, parts: Sequence[Matrix]) -> list[Matrix]:
    """Return the rows of a matrix in parts of the same lengths as others."""
    return np.split(joined, np.cumsum([len(part) for part in parts[:-1]])) if parts else []


def _inverse(form: ScatterForm, ridge: float) -> Inverse:
    return form.inverse(ridge) if np.isfinite(ridge) else IdentityInverse()


def _complete(inverse: Inverse) -> Inverse:
    while not inverse.is_complete:
        inverse.advance()
    return inverse
