"""Scatter and class means in full width, for many samples.

A single width x width array is used. Its lower triangle is the scatter S, to which deviations are
added in batches: see `BufferedSum`. Its upper triangle is the Cholesky factor of S + ridge. That is
computed at the first prediction; after that, RidgeSolution updates the solution for new samples
without a new factorisation.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from robocle.blas import blas
from robocle.classifiers.scatter.buffered_sum import BATCH, BufferedSum
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.followed_solution import Move
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.helmert import merged_counts
from robocle.classifiers.scatter.inverses import DenseInverse, Inverse
from robocle.classifiers.scatter.mean_table import MeanTable
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.ridge_solution import RidgeSolution
from robocle.classifiers.scatter.triangle import (
    block_squares,
    packed,
    packed_size,
    square,
    unpack,
)
from robocle.classifiers.scatter.upper_factor import UpperFactor
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector

# Fewer rows than this are multiplied by a symmetric matrix one by one.
FEW_ROWS = 8
# With more samples than this between two predictions, a new factorisation is faster than updates.
MAX_PENDING_UPDATES = 8


class DenseScatter(ScatterForm):
    """Within-class scatter and class means in full width, in a single width x width array.

    Call `begin` or `restore` before any other method.
    """

    def __init__(
        self, width: int, blocks: int, factors: ClassFactors, *, centred: bool = True
    ) -> None:
        super().__init__(width, blocks, factors, centred=centred)
        # The solution and |S|^2 of the last prediction, and the samples since.
        self._solution: RidgeSolution | None = None
        self._fixed = np.empty((0, width))
        self._pending_updates: list[tuple[Vector, int, float, float]] = []
        self._square: float | None = None
        self._pending_squares: list[Vector] = []
        self._traces: Vector | None = None

    def begin(self, means: Matrix, rows: Matrix) -> None:
        """Start from class means and a scatter rows^T rows, which is summed when needed."""
        self._allocate(means, rows)

    def _allocate(self, means: Matrix, *rows: Matrix) -> None:
        self._forget_bounds()
        self._mean_table = MeanTable(means)
        self._sum = BufferedSum(self.width, *rows)

    @property
    def _means(self) -> Matrix:
        """The class means, which must not be modified."""
        return self._mean_table.full()

    @property
    def separable(self) -> bool:
        return self._factors.complete

    def add_row(self) -> None:
        self._mean_table.add_row()
        self._factors.add_class()

    def remove_row(self, row: int) -> None:
        self._forget_bounds()
        self._mean_table = MeanTable(np.delete(self._means, row, axis=0))
        self._factors.remove_class(row)
        if self._factors.complete:
            self._sum.restart(self._factors.all_rows(self.width))
        self._drop_solution()
        self.moves = None

    def merge(self, other: "DenseScatter", rows: list[int], weights: Vector, steps: Vector) -> None:
        """Add what another dense form has learned; see `forms.merged`."""
        other._sum.fold()
        self._forget_bounds()
        means = self._means.copy()
        deviations = other._means - means[rows] if self._centred else other._means
        means[rows] += steps[:, None] * deviations
        self._mean_table = MeanTable(means)
        deviations = np.sqrt(weights)[:, None] * deviations
        self._sum.array += other._sum.array
        self._sum.add(deviations)
        self._factors.merge(other._factors, rows, deviations, merged_counts(weights, steps))
        self._factors.bound(self.width)
        self._drop_solution()
        self.moves = None

    def energies(self, counts: Vector, blocks: int) -> Vector:
        scaled_means = np.sqrt(counts)[:, None] * self._means
        rows = np.vstack([scaled_means, self._factors.all_rows(self.width)])
        return np.asarray((rows**2).reshape(-1, blocks, self.width // blocks).sum(axis=(0, 2)))

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        mean, scaled = self._mean_table.changeable(row), self._sum.next_row
        deviation = sample - mean if self._centred else sample
        np.multiply(deviation, step, out=scaled)
        mean += scaled
        np.multiply(deviation, math.sqrt(weight), out=scaled)
        if self._notes or self._traces is not None:  # else there was no prediction yet
            added = np.einsum("ij,ij->i", *2 * [scaled.reshape(self.blocks, -1)])
            self._traces = None if self._traces is None else self._traces + added
            self._note(float(sample @ sample), float(added.sum()))
        if weight:
            self._factors.add(row, scaled)
            self._factors.bound(self.width)
        if self.moves is not None:
            self._record(Move(deviation, row, weight, step))
        self._sum.append()
        if len(self._pending_updates) == MAX_PENDING_UPDATES:
            self._drop_solution()
        if self._solution is not None:
            self._pending_updates.append((deviation, row, weight, step))
        if self._square is not None:
            self._pending_squares.append(math.sqrt(weight) * deviation)
            if len(self._pending_squares) > BATCH:
                self._square = None
                self._pending_squares.clear()

    def traces(self) -> Vector:
        if self._traces is None:
            self._sum.fold()
            self._traces = np.diagonal(self._sum.array).reshape(self.blocks, -1).sum(axis=1)
        return self._traces

    def largest_square(self) -> float:
        return self._mean_table.largest_square()

    def squares(self) -> Matrix:
        if self.blocks > 1:
            self._sum.fold()
            return block_squares(self._sum.array, self.blocks)
        if self._square is None:
            self._sum.fold()
            self._square = float(block_squares(self._sum.array, 1).sum())
        else:
            self._square += self._added_square()
        self._pending_squares.clear()
        return np.array([[self._square]])

    def solve(
        self, share: float, ridge: Vector, origin: Origin | None = None
    ) -> tuple[Matrix, MeanProducts]:
        origin = origin or Origin.none(self.width)
        means, _ = self._mean_rows(origin)
        if share == 0:
            weights = means / np.repeat(ridge, self.width // self.blocks)
        else:
            weights = self._ridge_weights(ridge / share) / share
        return weights, MeanProducts.of(means, weights, origin.shares(len(self._mean_table)))

    def inverse(self, ridge: float) -> Inverse:
        self._sum.fold()
        self._solution = None  # it uses the triangle that is overwritten
        self._pending_updates.clear()
        return DenseInverse(UpperFactor(self._sum.array, np.full(self.width, ridge)))

    def settle(self) -> None:
        self._sum.fold_several()

    def full_means(self) -> Matrix:
        return self._means

    def times_means(self, rows: Matrix) -> Matrix:
        return self._mean_table.times(rows)

    def some_means(self, classes: Sequence[int]) -> Matrix:
        return self._mean_table.some(classes)

    @property
    def rows_type(self) -> DTypeLike:
        return np.float64 if self._factors.complete else np.float32

    def full_rows(self, number: int) -> Matrix:
        return self._factors.rows(number, self.width)

    def _full_width(self, rows: Matrix) -> Matrix:
        return rows

    def _mean_rows(self, origin: Origin) -> tuple[Matrix, float]:
        if origin.fixed is not self._fixed:
            self._fixed = origin.fixed
            self._drop_solution()
        return np.vstack([self._means, origin.fixed]), 0.0

    def _whitened(self, rows: Matrix, share: float, ridge: Vector) -> Matrix:
        if share == 0:
            return rows / math.sqrt(ridge[0])
        return self._exact_factor(ridge / share).whitened(rows, 1 / math.sqrt(share))

    def state(self) -> Arrays:
        self._sum.fold()
        own = {"means": self._mean_table.shared(), "scatter": packed(self._sum.array)}
        return own | self._factors.state(self.width)

    def restore(self, state: ClassifierState) -> None:
        means = state.checked("means", len(state.labels), self.width)
        # The size is checked first, because memory of that size is allocated next.
        triangle = state.checked("scatter", packed_size(self.width))
        self._allocate(means.astype(np.float64, copy=False))
        unpack(triangle, self._sum.array)
        self._factors.restore(state, self.width)
        self._drop_solution()
        self.moves = None

    def _forget_bounds(self) -> None:
        super()._forget_bounds()
        self._traces = None

    def _drop_solution(self) -> None:
        """Discard what the last prediction computed, because too much has changed."""
        self._solution = self._square = None
        self._pending_updates.clear()
        self._pending_squares.clear()

    def _ridge_weights(self, ridge: Vector) -> Matrix:
        """Return (S + diag(ridge))^-1 m per class and fixed row, by updates if possible."""
        if self._solution is not None and self._solution.can_update_to(ridge):
            for deviation, row, weight, step in self._pending_updates:
                self._solution.update(deviation, row, weight, step)
            self._pending_updates.clear()
            return self._solution.weights(ridge)
        return self._factorised(ridge).weights(ridge)

    def _exact_factor(self, ridge: Vector) -> UpperFactor:
        """Return the factor of S + diag(ridge) itself, not of an S and ridge close to it."""
        solution = self._solution
        if solution is None or self._pending_updates or not solution.is_exact_for(ridge):
            solution = self._factorised(ridge)
        return solution.factor

    def _factorised(self, ridge: Vector) -> RidgeSolution:
        """Compute a new factor and the solution for it."""
        self._sum.fold()
        self._solution = self.moves = None  # they use the triangle that is overwritten
        factor = UpperFactor(self._sum.array, np.repeat(ridge, self.width // self.blocks))
        self._solution = RidgeSolution(factor, self._means, ridge, self._fixed)
        self._pending_updates.clear()
        return self._solution

    def _added_square(self) -> float:
        """Return how much the deviations V since the last call have added to |S|^2.

        S already includes them: |S|^2 - |S - V^T V|^2 = 2 tr(V S V^T) - |V V^T|^2.
        """
        rows = np.array(self._pending_squares).reshape(-1, self.width)
        buffered = square(rows @ self._sum.buffered.T)
        if len(rows) < FEW_ROWS:  # one product each is faster
            products = sum(
                float(row @ blas.dsymv(1.0, self._sum.array, row, lower=1)) for row in rows
            )
        else:
            products = float(np.vdot(rows.T, blas.dsymm(1.0, self._sum.array, rows.T, lower=1)))
        return 2 * (products + buffered) - square(rows @ rows.T)
