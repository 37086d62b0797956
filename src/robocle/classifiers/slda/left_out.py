"""Scores of samples that are left out of what was taught, one at a time. Nothing is retrained.

Leaving a sample z = m + r out of the n of its class moves the class mean m by -r / (n - 1) and adds
g A r r^T A to A, where g = h / (1 - h r A r) and h = n / (n - 1). This is exact, apart from the
shrinkage, which is not estimated again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.slda.solution import LEAST_SHARED, MOST, Solution
from robocle.classifiers.slda.weights import ROUNDING

MOST_COLUMNS, SIMILAR = 256, 128  # with more classes, a sample is scored for the most similar ones

Stack = NDArray[np.float64]
"""An array with one layer per block, or per map."""


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Scores and familiarity of samples that were left out.

    Without a world, the familiarity of a sample is its best score.
    """

    ids: tuple[str, ...]
    """The id of each sample."""
    rows: NDArray[np.int64]
    """The class of each sample, ascending."""
    singleton: NDArray[np.bool_]
    """Whether the sample is the only one of its class, so that it cannot be left out."""
    scores: Matrix
    """(samples, classes): the scores with the sample left out."""
    familiarity: Vector
    """The familiarity of each sample with the sample left out."""


def chosen(counts: Sequence[int], most: int = MOST) -> list[tuple[int, int]]:
    """Return samples to leave out, balanced over the classes.

    With more classes than samples, classes with at least two come first: the only sample of a class
    cannot be left out.

    Args:
        counts: The number of samples per class that can be left out.
        most: How many samples to choose.

    Returns:
        The class of each, and its index within the class, in the order of the classes.

    >>> chosen([2, 0, 1])
    [(0, 0), (0, 1), (2, 0)]
    """
    numbers = np.array(counts, int)
    classes = _steady(np.flatnonzero(numbers > 1), most)
    single = _steady(np.flatnonzero(numbers == 1), most - len(classes))
    each = max(1, most // max(len(numbers), 1))
    rows = np.sort(np.concatenate([classes, single])).tolist()
    return [(row, index) for row in rows for index in _spread(int(numbers[row]), each)]


@lru_cache(maxsize=10_000)
def _spread(items: int, most: int) -> tuple[int, ...]:
    """Return at most this many of the first whole numbers, evenly spaced."""
    return tuple(int(place) for place in np.linspace(0, items - 1, min(items, most)))


def _steady(classes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most this many classes, evenly spaced; a further one replaces at most one."""
    if len(classes) <= most:
        return classes
    # Multiples of the golden ratio, modulo 1, are evenly spaced, however many they are.
    places = (classes.astype(np.uint64) * 2654435769) % 2**32
    return classes[np.argsort(places, kind="stable")[:most]]


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products of samples z and class means m_j with each other and with the origin c."""

    towards: Stack
    """z A m_j: (maps, samples, columns)."""
    centre: Stack
    """m_j A c."""
    squares: Stack
    """m_j A m_j."""
    towards_centre: Stack
    """z A c: (maps, samples)."""
    square: Stack
    """c A c."""

    def scores(self, weights: Matrix, share: float = 1.0) -> Stack:
        """Return (z - f) A (m_j - f) / |m_j - f| with f = share c.

        Args:
            weights: The weights of the maps, (candidates, maps).
            share: How much of c the origin f is.

        Returns:
            The scores (candidates, samples, columns).
        """
        offset = share * (share * self.square - self.towards_centre)
        numerators = self.towards - share * self.centre + offset[..., None]
        squares = self.squares - 2 * share * self.centre + share**2 * self.square[..., None]
        largest = weights @ self.squares.max(axis=2, initial=0.0)
        found: Stack = weights @ numerators.reshape(len(numerators), -1)
        lengths: Stack = weights @ squares.reshape(len(squares), -1)
        lengths = lengths.reshape(len(weights), *squares.shape[1:])
        lengths[lengths <= ROUNDING * largest[..., None]] = np.inf
        scores = found.reshape(len(weights), *numerators.shape[1:])
        return np.divide(scores, np.sqrt(lengths, out=lengths), out=scores)


class LeftOut:
    """Samples that are left out: what each map adds to their scores.

    Args:
        solution: The products before. They may follow lessons later.
        ids: The samples, which the solution follows.
        rows: The class of each sample, ascending.
        counts: The number of samples taught per class.
        scales: The scale of A in each block.
        last: How many of the blocks are from the last map. The others are from the earlier map.
        prior: The weight of the earlier map for choosing the classes that are most similar.
    """

    def __init__(
        self,
        solution: Solution,
        ids: Sequence[str],
        rows: NDArray[np.int64],
        counts: Vector,
        scales: Vector,
        last: int,
        prior: float,
    ) -> None:
        self.ids = tuple(ids)
        self.rows = rows
        self.classes = len(counts)
        self.singleton: NDArray[np.bool_] = counts[rows] < 2
        self.columns: NDArray[np.int64] | None = None
        """(samples, columns): the classes that each sample is scored for; None for all of them."""
        self.places = rows
        """The column of each sample's own class."""
        self._counts = counts[rows]
        self._places = [solution.points.slots[id] for id in ids]
        self._own_places = [solution.means.slots[row] for row in rows.tolist()]
        self._maps = np.zeros((1 + (last < len(scales)), len(scales)))
        self._maps[0, :last], self._maps[-1, last:] = scales[:last], scales[last:]
        if self.classes > MOST_COLUMNS and len(rows):
            maps = np.where(np.arange(len(scales)) < last, 1.0, prior)
            self.columns = self._similar(solution, scales * maps)
            self.places = (self.columns < rows[:, None]).sum(axis=1)
        self._leave_out(solution)

    def _similar(self, solution: Solution, weights: Vector) -> NDArray[np.int64]:
        """Return the classes with the best scores before a sample is left out, and its own."""
        towards = np.zeros((len(self.rows), self.classes))
        for weight, products in zip(weights, solution.points.products, strict=True):
            towards += weight * products[self._places, : self.classes]
        means = solution.mean_products(weights)
        scores = means.scores(towards, 1.0, means.lengths(1.0))
        scores[np.arange(len(scores)), self.rows] = np.inf
        best = np.argpartition(scores, -SIMILAR, axis=1)[:, -SIMILAR:]
        return np.sort(best, axis=1)

    def _columns_of(self, table: Stack) -> Stack:
        """Return the columns of a table (blocks, samples, classes) that the samples have."""
        return table if self.columns is None else np.take_along_axis(table, self.columns[None], 2)

    def _leave_out(self, solution: Solution) -> None:
        """Compute all products with each sample left out: per block, then per map."""
        own = np.s_[:, np.arange(len(self.rows)), self.places]
        mean = solution.means.products[:, self._own_places, : self.classes]
        point = solution.points.products[:, self._places, : self.classes]
        mean_centre, point_centre = mean.mean(axis=2), point.mean(axis=2)
        mean, point = self._columns_of(mean), self._columns_of(point)
        crossed = point - mean  # r A m_j
        r_m, m_m, r_c = crossed[own], mean[own], point_centre - mean_centre
        r_r = solution.points.squares[:, self._places] - m_m - 2 * r_m
        centre, squares = solution.totals / self.classes, solution.squares
        square, own_centre = centre.mean(axis=1)[:, None], centre[:, self.rows]
        wide = np.broadcast_to(centre[:, None], (*crossed.shape[:2], self.classes))
        centre = self._columns_of(wide)
        wide = np.broadcast_to(squares[:, None], (*crossed.shape[:2], self.classes))
        squares = self._columns_of(wide).copy()
        many = self._counts > 1
        shift = np.where(many, 1 / np.maximum(self._counts - 1, 1), 0.0)
        back = shift / self.classes
        removed = shift * self._counts * np.isfinite(solution.ridges())[:, None]
        gain = removed / np.maximum(1 - removed * r_r, LEAST_SHARED)
        z_r = r_m + r_r
        # The mean m of the own class moves, and with it the centre c of all class means.
        towards = point.copy()
        towards[own] -= shift * z_r
        towards_centre = point_centre - back * z_r
        centre = centre - back[:, None] * crossed
        centre[own] = own_centre - shift * r_c - back * r_m + shift * back * r_r
        squares[own] += shift * (shift * r_r - 2 * r_m)
        square = square + back * (back * r_r - 2 * r_c)
        r_m = r_m - shift * r_r
        crossed[own] -= shift * r_r
        r_c = r_c - back * r_r
        # The sample leaves the scatter.
        towards += (gain * z_r)[..., None] * crossed
        centre += (gain * r_c)[..., None] * crossed
        squares += gain[..., None] * crossed**2
        towards_centre = towards_centre + gain * z_r * r_c
        square = square + gain * r_c**2
        self.products = Products(
            *map(self._per_map, (towards, centre, squares, towards_centre, square))
        )
        self._own_mean = mean, gain * r_m - shift, crossed

    def _per_map(self, blocks: Stack) -> Stack:
        """Return the sums over the blocks of each map."""
        total = self._maps @ blocks.reshape(len(blocks), -1)
        return np.asarray(total.reshape(len(total), *blocks.shape[1:]))

    @cached_property
    def _without_own_class(self) -> Products:
        """The products relative to the mean of the other class means."""
        mean, moved, crossed = self._own_mean
        of_own_mean = self._per_map(mean + moved[..., None] * crossed)  # right for other classes
        own = np.s_[:, np.arange(len(self.rows)), self.places]
        found, classes, others = self.products, self.classes, self.classes - 1
        total = classes**2 * found.square - 2 * classes * found.centre[own] + found.squares[own]
        return Products(
            found.towards,
            (classes * found.centre - of_own_mean) / others,
            found.squares,
            (classes * found.towards_centre - found.towards[own]) / others,
            total / others**2,
        )

    def scored(self, weights: Vector, world: float) -> LeaveOneOut:
        """Return the scores.

        Args:
            weights: The weight of each map.
            world: How many class means the world's mean counts as.
        """
        share = self.classes / (self.classes + world)
        scores = self.products.scores(weights[None])[0]
        familiarity = self.products.scores(weights[None], share)[0].max(axis=1, initial=-np.inf)
        if self.columns is not None:
            spread = np.full((len(scores), self.classes), -np.inf)
            np.put_along_axis(spread, self.columns, scores, axis=1)
            scores = spread
        return LeaveOneOut(self.ids, self.rows, self.singleton, scores, familiarity)

    def for_others(self, weights: Vector, world: float) -> Vector:
        """Return the familiarity of each sample for the best other class.

        It is relative to an origin without the sample's own class, so it tells how familiar an
        object looks that was not taught. With a single class there is none; without a world, the
        mean of a single other class is the origin itself.

        Args:
            weights: The weight of each map.
            world: How many class means the world's mean counts as.
        """
        others = self.classes - 1
        if others < (1 if world else 2):
            return np.empty(0)
        scores = self._without_own_class.scores(weights[None], others / (others + world))[0]
        scores[np.arange(len(scores)), self.places] = -np.inf
        return np.asarray(scores.max(axis=1, initial=-np.inf))
