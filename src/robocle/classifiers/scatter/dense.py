"""Scatter and class means in full width, for many samples.

The scatter S is a `ScatterSum`, to which deviations are added in batches. The Cholesky factor of
S + ridge takes as much memory again: half of a width x width array. It is computed at the first
prediction. After that, the solution is updated for new samples without a new factorisation, by
RidgeSolution here, or by FollowedSolution if the shrinkage is stepped.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from robocle.blas import blas
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.followed_solution import Move
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.helmert import merged_counts
from robocle.classifiers.scatter.inverses import DenseInverse, Inverse
from robocle.classifiers.scatter.mean_table import MeanTable
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.ridge_solution import RidgeSolution
from robocle.classifiers.scatter.scatter_sum import BATCH, ScatterSum
from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.scatter.symmetric_matrix import SymmetricMatrix
from robocle.classifiers.scatter.triangle import packed_size, square
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector

# Up to this width, a factorisation takes less time than a lesson: it is completed at once.
NARROW = 800
# With more samples than this between two predictions, a new factorisation is faster than updates.
MAX_PENDING_UPDATES = 8


class DenseScatter(ScatterForm):
    """Within-class scatter and class means in full width.

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
        self._start(means, ScatterSum(self.width, rows))

    def _start(self, means: Matrix, scatter: ScatterSum) -> None:
        self._forget_bounds()
        self._mean_table = MeanTable(means)
        self._sum = scatter

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
            self._sum = ScatterSum(self.width, self._factors.all_rows(self.width))
        self._drop_solution()
        self.moves = None

    def merge(self, other: "DenseScatter", rows: list[int], weights: Vector, steps: Vector) -> None:
        """Add what another dense form has learned; see `forms.merged`."""
        self._forget_bounds()
        means = self._means.copy()
        deviations = other._means - means[rows] if self._centred else other._means
        means[rows] += steps[:, None] * deviations
        self._mean_table = MeanTable(means)
        deviations = np.sqrt(weights)[:, None] * deviations
        self._sum.add_sum(other._sum)
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
        mean, contribution = self._mean_table.changeable(row), self._sum.next_row
        # In place: a stream of samples without predictions needs no other array.
        np.subtract(sample, mean if self._centred else 0.0, out=contribution)
        blas.daxpy(contribution, mean, a=step)
        deviation = contribution.copy() if self._has_followers else contribution
        blas.dscal(math.sqrt(weight), contribution)
        if self._notes or self._traces is not None:  # else there was no prediction yet
            added = np.einsum("ij,ij->i", *2 * [contribution.reshape(self.blocks, -1)])
            self._traces = None if self._traces is None else self._traces + added
            self._note(float(sample @ sample), float(added.sum()))
        if weight and self._factors.keeps_rows:
            self._factors.add(row, contribution)
            self._factors.bound(self.width)
        if self.moves is not None:
            self._record(Move(deviation, row, weight, step))
        if self._solution is not None or self._square is not None:
            self._note_pending(deviation, contribution, row, weight, step)
        self._sum.append()

    @property
    def _has_followers(self) -> bool:
        """Whether deviations are needed after they were added to the sum."""
        return self.moves is not None or self._solution is not None

    def _note_pending(
        self, deviation: Vector, contribution: Vector, row: int, weight: float, step: float
    ) -> None:
        """Note a sample that the last solution and |S|^2 do not have yet."""
        if len(self._pending_updates) == MAX_PENDING_UPDATES:
            self._drop_solution()
        if self._solution is not None:
            self._pending_updates.append((deviation, row, weight, step))
        if self._square is not None:
            self._pending_squares.append(contribution.copy())
            if len(self._pending_squares) > BATCH:
                self._square = None
                self._pending_squares.clear()

    def traces(self) -> Vector:
        if self._traces is None:
            self._traces = self._sum.diagonal().reshape(self.blocks, -1).sum(axis=1)
        return self._traces

    def largest_square(self) -> float:
        return self._mean_table.largest_square()

    def squares(self) -> Matrix:
        if self.blocks > 1:
            return self._sum.block_squares(self.blocks)
        if self._square is None:
            self._square = float(self._sum.block_squares(1).sum())
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
        factor = SymmetricFactor(self._sum.stored(), np.full(self.width, ridge))
        return DenseInverse(factor.complete() if self.width <= NARROW else factor)

    def tidy(self) -> bool:
        return self._sum.fold_several()

    def full_means(self) -> Matrix:
        return self._means

    def times_means(self, rows: Matrix) -> Matrix:
        return self._mean_table.times(rows)

    def some_means(self, classes: Sequence[int]) -> Matrix:
        return self._mean_table.some(classes)

    def shared_rows(self) -> tuple[Matrix, list[range]] | None:
        return self._factors.joined(self.width)

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
        own: Arrays = {"means": self._mean_table.shared(), "scatter": self._sum.stored()}
        return own | self._factors.state(self.width)

    def restore(self, state: ClassifierState) -> None:
        means = state.checked("means", len(state.labels), self.width)
        # The size is checked first, because memory of that size is allocated next.
        triangle = state.checked("scatter", packed_size(self.width))
        scatter = ScatterSum.of(SymmetricMatrix.unpacked(triangle, self.width))
        self._start(means.astype(np.float64, copy=False), scatter)
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

    def _exact_factor(self, ridge: Vector) -> SymmetricFactor:
        """Return the factor of S + diag(ridge) itself, not of an S and ridge close to it."""
        solution = self._solution
        if solution is None or self._pending_updates or not solution.is_exact_for(ridge):
            solution = self._factorised(ridge)
        return solution.factor

    def _factorised(self, ridge: Vector) -> RidgeSolution:
        """Compute a new factor and the solution for it."""
        self._sum.fold_own()
        self._solution = None  # its memory is free for the new one
        whole = np.repeat(ridge, self.width // self.blocks)
        factor = SymmetricFactor(self._sum.stored(), whole).complete()
        self._solution = RidgeSolution(factor, self._means, ridge, self._fixed)
        self._pending_updates.clear()
        return self._solution

    def _added_square(self) -> float:
        """Return how much the deviations V since the last call have added to |S|^2.

        S already includes them: |S|^2 - |S - V^T V|^2 = 2 tr(V S V^T) - |V V^T|^2.
        """
        rows = np.array(self._pending_squares).reshape(-1, self.width)
        return 2 * self._sum.quadratic(rows) - square(rows @ rows.T)
