"""The solution: all products that scores need, brought up to date by each lesson.

The scatter of a block changes by one rank with each lesson, so nothing is solved again. Let A be
the inverse of S + ridge I of a block, and m_j the class means. A lesson adds w v v^T to S and moves
the mean of its class y by step v. With a = A v, g = w / (1 + w v.a), k = 1 - g v.a and p_j = m_j.a,
every product follows one rule, whatever x is:

    A -= g a a^T,    so  x A m_j -= g (x.a) p_j,  and  x A m_y += step k (x.a)

The points x are the class means, the pictures of the world, and some samples to leave out.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import blas
from robocle.classifiers.samples import Matrix, Sample, Vector
from robocle.classifiers.scatter import Inverse, Scatter
from robocle.classifiers.slda.sums import SampleChange, Sums, parts_of
from robocle.classifiers.slda.weights import FollowedWeights, MeanProducts, Weights, narrow

ROOM = 32  # classes by which tables grow at least
LEAST_SHARED = 1e-9  # of what remains without a sample: less is rounding error
MOST = 128
"""The number of samples to leave out: enough to estimate a quantile of 5 %, few enough
to score after every taught picture."""


class Tracked:
    """Products x A m_j with all class means, of points x that may be replaced by others.

    Args:
        blocks: The number of blocks.
        width: The width of a point; 0 if the points are class means, which are kept elsewhere.
        room: For how many classes there is room.
    """

    def __init__(self, blocks: int, width: int, room: int) -> None:
        self.slots: dict[Any, int] = {}
        """The place of each point, by its key."""
        self.points: Matrix = np.empty((0, width))
        """The points, relative to the origin."""
        self.squares: Matrix = np.empty((blocks, 0))
        """x A x, (blocks, places)."""
        self.products: NDArray[np.float64] = np.empty((blocks, 0, room))
        """x A m_j, (blocks, places, room). Places that are not used have any value."""

    def replace(self, keys: Iterable[Any]) -> list[Any]:
        """Find places for these keys and no others, and return those that are new."""
        wanted = dict.fromkeys(keys)
        kept = {key: place for key, place in self.slots.items() if key in wanted}
        new = [key for key in wanted if key not in kept]
        size = len(self.points)
        free = sorted(set(range(max(size, len(wanted)))).difference(kept.values()))
        self.slots = kept | dict(zip(new, free, strict=False))
        if len(wanted) > size:
            more = max(len(wanted), min(2 * size, MOST)) - size
            self.points = np.pad(self.points, ((0, more), (0, 0)))
            self.squares = np.pad(self.squares, ((0, 0), (0, more)))
            self.products = np.pad(self.products, ((0, 0), (0, more), (0, 0)))
        return new


class Solution:
    """The products of the class means, the world and the samples to leave out, per block.

    Args:
        means: The class means.
        widths: The width of each block.
        world: The pictures of the world, relative to their mean; they may be none.
        may_narrow: Whether float32 is enough for many classes.
    """

    def __init__(
        self, means: Matrix, widths: Sequence[int], world: Matrix, may_narrow: bool
    ) -> None:
        self.classes = len(means)
        self._may_narrow = may_narrow
        self._built: dict[int, tuple[Inverse, FollowedWeights]] = {}  # A and A m_j of each block
        self._last: dict[int, tuple[SampleChange, Change]] = {}  # the last lesson in each block
        self._parts = parts_of(widths)
        self._world_points = [self._narrowed(world[:, part]) for part in self._parts]
        blocks, room = len(widths), self.classes + ROOM
        self._squares, self._totals = np.zeros((2, blocks, room))
        self._world = np.zeros((blocks, len(world), room))
        self.means = Tracked(blocks, 0, room)
        """The means of the classes of the samples to leave out, by class."""
        self.points = Tracked(blocks, sum(widths), room)
        """The samples to leave out, by id."""

    @property
    def squares(self) -> Matrix:
        """m_j A m_j, (blocks, classes)."""
        return self._squares[:, : self.classes]

    @property
    def totals(self) -> Matrix:
        """m_j A s, where s is the sum of the class means, (blocks, classes)."""
        return self._totals[:, : self.classes]

    def mean_products(self, weights: Vector) -> MeanProducts:
        """Return the products of the class means in all blocks together.

        Args:
            weights: The weight of each block.
        """
        return MeanProducts(weights @ self.squares, weights @ self.totals / self.classes)

    def world_products(self, weights: Vector) -> Matrix:
        """Return the sum over the blocks of weight * x A m_j for the world's pictures x."""
        blocks, pictures, room = self._world.shape
        total = weights @ self._world.reshape(blocks, -1)
        return np.asarray(total.reshape(pictures, room)[:, : self.classes])

    def _narrowed(self, points: Matrix) -> NDArray[Any]:
        return narrow(points) if self._may_narrow else points

    def replace_picture(self, gone: int | None, picture: Vector) -> None:
        """Follow the products of one more picture, the last one, as those of the world.

        Args:
            gone: The place of a picture that is no longer followed; None for none.
            picture: The picture.
        """
        kept = np.arange(self._world.shape[1]) != (-1 if gone is None else gone)
        self._world = np.pad(self._world[:, kept], ((0, 0), (0, 1), (0, 0)))
        for number, part in enumerate(self._parts):
            point = picture[None, part]
            followed = self._world_points[number][kept]
            self._world_points[number] = np.vstack([followed, self._narrowed(point)])
            if number in self._built:
                products = self._built[number][1].view(self.classes).times(point)
                self._world[number, -1, : self.classes] = products[0]

    def build(self, number: int, scatter: Scatter, ridge: float, means: Matrix) -> None:
        """Compute all products of a block."""
        part, classes = self._parts[number], self.classes
        inverse = Inverse(scatter, ridge)
        own = np.ascontiguousarray(means[:, part])
        rows = np.ascontiguousarray(inverse.apply(own))
        self._squares[number, :classes] = np.einsum("ij,ij->i", own, rows)
        self._totals[number, :classes] = rows @ own.sum(axis=0)
        self._world[number, :, :classes] = self._world_points[number] @ narrow(rows).T
        points = np.ascontiguousarray(self.points.points[:, part])
        self.points.products[number, :, :classes] = points @ rows.T
        self.points.squares[number] = inverse.squares(points)
        places = list(self.means.slots.values())
        self.means.products[number, places, :classes] = own[list(self.means.slots)] @ rows.T
        self._built[number] = inverse, FollowedWeights(rows, number, self._may_narrow)

    def views(self) -> list[Weights]:
        """Return the rows A m_j of each block."""
        return [self._built[number][1].view(self.classes) for number in range(len(self._parts))]

    def ridges(self) -> Vector:
        """Return the ridge of each block."""
        return np.array([self._built[number][0].ridge for number in range(len(self._parts))])

    def require_ridges(self, ridges: Sequence[float]) -> list[int]:
        """Discard blocks with another ridge than this, and return the others."""
        for number, (inverse, _) in list(self._built.items()):
            if not math.isclose(inverse.ridge, ridges[number]):
                del self._built[number]
                self._last.pop(number, None)
        return sorted(self._built)

    def renew(self, number: int, scatter: Scatter) -> bool:
        """Factorise a block again if that is due, and return whether it was."""
        inverse, weights = self._built[number]
        if inverse.is_outdated:
            self._built[number] = Inverse(scatter, inverse.ridge), weights
        return inverse.is_outdated

    def add_class(self) -> None:
        """Add a class, whose mean is 0."""
        if self.classes == self._squares.shape[1]:
            more = max(ROOM, self.classes // 8)
            for name in ("_squares", "_totals", "_world"):
                setattr(self, name, _wider(getattr(self, name), more))
            for tracked in (self.means, self.points):
                tracked.products = _wider(tracked.products, more)
        self.classes += 1

    def follow(self, number: int, lesson: SampleChange) -> None:
        """Follow a lesson in one block."""
        inverse, weights = self._built[number]
        change = self._change(number, lesson)
        self._update(number, change)
        self._last[number] = lesson, change
        turned = -change.gain * change.along
        turned[lesson.row] += change.moved
        weights.turn(change.solved, turned)
        if change.gain:
            inverse.add(change.solved, change.gain)

    def after(self, lesson: SampleChange) -> "Solution":
        """Return the products after a lesson, for which no further lesson can be followed."""
        found = copy.copy(self)
        found._squares, found._totals = self._squares.copy(), self._totals.copy()
        found._world = self._world[:, :0]
        found._world_points = [each[:0] for each in self._world_points]
        found.means, found.points = copy.copy(self.means), copy.copy(self.points)
        for tracked in (found.means, found.points):
            tracked.squares, tracked.products = tracked.squares.copy(), tracked.products.copy()
        for number in range(len(self._parts)):
            found._update(number, self._change(number, lesson))
        return found

    def with_other_points(self) -> "Solution":
        """Return a solution that tracks no samples yet, and for which no lesson can be followed."""
        found, room = copy.copy(self), self._squares.shape[1]
        found.means = Tracked(len(self._parts), 0, room)
        found.points = Tracked(len(self._parts), self.points.points.shape[1], room)
        return found

    def _change(self, number: int, lesson: SampleChange) -> "Change":
        inverse, weights = self._built[number]
        deviation = lesson.deviation[self._parts[number]]
        solved = inverse.apply(deviation[None])[0]
        along = weights.view(self.classes).times(deviation[None])[0]
        square = float(deviation @ solved)
        shared = max(1 + lesson.weight * square, LEAST_SHARED)
        gain = lesson.weight / shared if math.isfinite(inverse.ridge) else 0.0
        moved = lesson.step * (1 - gain * square)
        return Change(lesson.row, solved, along, gain, moved, lesson.step * moved * square)

    def _update(self, number: int, change: "Change") -> None:
        """Update all products of a block."""
        along, gain, moved, classes = change.along, change.gain, change.moved, self.classes
        row, total, means, points = change.row, float(along.sum()), self.means, self.points
        self._totals[number, :classes] += (moved - gain * total) * along
        self._totals[number, row] += moved * total + change.own
        self._squares[number, :classes] -= gain * along**2
        self._squares[number, row] += 2 * moved * along[row] + change.own
        of_world = self._world_points[number] @ narrow(change.solved)
        of_points = points.points[:, self._parts[number]] @ change.solved
        of_means = np.zeros(len(means.points))
        of_means[list(means.slots.values())] = along[list(means.slots)]
        across = np.zeros(self._squares.shape[1])
        across[:classes] = along
        for table, products in (
            (self._world[number], of_world),
            (points.products[number], of_points),
            (means.products[number], of_means),
        ):
            if gain and len(table):
                blas.dger(-gain, across, products, a=table.T, overwrite_a=1)
            table[:, row] += moved * products
        if row in means.slots:  # this mean moves itself
            mean = means.products[number, means.slots[row]]
            mean += moved * across
            mean[row] += change.own
        points.squares[number] -= gain * of_points**2

    def track(self, samples: Mapping[str, Sample], rows: Sequence[int], sums: Sums) -> None:
        """Follow the products of these samples, and no others, from now on.

        Their products in blocks that are not built are computed when they are.

        Args:
            samples: The samples by id.
            rows: Their classes.
            sums: The sums of all samples.
        """
        classes, origin = self.means.replace(rows), sums.origin
        points = self.points.replace(samples)
        if not (classes or points):
            return
        new = [samples[id].embedding for id in points]
        places = [self.points.slots[id] for id in points]
        self.points.points[places] = np.array(new).reshape(len(new), len(origin)) - origin
        rows_of = np.concatenate([sums.means.view[classes], self.points.points[places]])
        for number, (inverse, weights) in self._built.items():
            wanted = np.ascontiguousarray(rows_of[:, self._parts[number]])
            products = weights.view(self.classes).times(wanted)
            own = [self.means.slots[row] for row in classes]
            self.means.products[number, own, : self.classes] = products[: len(own)]
            self.points.products[number, places, : self.classes] = products[len(own) :]
            known = number in self._last and points == [self._last[number][0].id]
            found = self._square_of_last(number) if known else inverse.squares(wanted[len(own) :])
            self.points.squares[number, places] = found

    def _square_of_last(self, number: int) -> Vector:
        """Return z A z of the sample z = m_y + (1 - step) v that was taught last."""
        lesson, change = self._last[number]
        moved, own, rest = change.moved, change.own, (1 - lesson.step) / lesson.step
        across = moved * change.along[change.row] + own  # step v A m_y; step^2 v A v is own
        return np.array([self._squares[number, change.row] + 2 * rest * across + rest**2 * own])


@dataclass(frozen=True, eq=False)
class Change:
    """What a lesson changes in a block, in the words of the rule at the top of this file."""

    row: int
    """y"""
    solved: Vector
    """a"""
    along: Vector
    """p_j"""
    gain: float
    """g"""
    moved: float
    """step k"""
    own: float
    """The change of m_y A m_y by the move alone: step^2 k v.a"""


def _wider(table: NDArray[np.float64], more: int) -> NDArray[np.float64]:
    """Return a table with room for more classes."""
    return np.pad(table, [(0, 0)] * (table.ndim - 1) + [(0, more)])
