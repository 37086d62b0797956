"""Scatter and class means within the span of the samples: exact, and small while samples are few.

An orthonormal basis Q (rank x width) grows by at most one direction per sample. Everything learned
lies in its span, so it is kept in coordinates c = Q z. `robocle.classifiers.scatter.span_solution`
has the ridge solution.

Everything is float64: near-duplicate frames break a float32 basis.

When a class is removed exactly, the basis shrinks to the span of what is left.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.block_grams import BlockGrams
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.followed_solution import Move
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.helmert import merged_counts
from robocle.classifiers.scatter.inverses import Inverse, SpanInverse
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.orthonormal import span, span_of_sums
from robocle.classifiers.scatter.solving import cholesky, solve_triangular
from robocle.classifiers.scatter.span_arrays import SpanArrays
from robocle.classifiers.scatter.span_solution import (
    solved_by_blocks,
    solved_in_span,
    with_fixed,
)
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector

# Samples are collected and projected in batches of this size, by matrix products.
BATCH = 64
# The dense form is faster if the rank, relative to the width, exceeds these limits: the first when
# samples are learned in bulk, the second when each sample is followed by a prediction.
DENSE_FROM_IN_BULK = 1 / 8
DENSE_FROM = 1 / 2


class CompressedScatter(ScatterForm):
    """Within-class scatter and class means of few samples, in coordinates of their own span."""

    def __init__(
        self, width: int, blocks: int, factors: ClassFactors, *, centred: bool = True
    ) -> None:
        super().__init__(width, blocks, factors, centred=centred)
        self._span = SpanArrays(np.empty((0, width)), np.zeros((0, 0)), np.zeros((0, 0)))
        self._grams = BlockGrams(blocks)
        self._pending: list[tuple[Vector, int, float, float]] = []
        self._in_bulk = False

    @property
    def dense_is_faster(self) -> bool:
        """Whether the dense form would be faster."""
        limit = DENSE_FROM_IN_BULK if self._in_bulk else DENSE_FROM
        return self.rank > limit * self.width

    @property
    def rank(self) -> int:
        """The dimension of the span of the samples."""
        return self._span.rank

    @property
    def separable(self) -> bool:
        self._flush()
        return self._factors.complete

    def add_row(self) -> None:
        self._span.add_mean()
        self._factors.add_class()

    def remove_row(self, row: int) -> None:
        self._flush()
        self.moves = None
        self._forget_bounds()
        self._span.remove_mean(row)
        self._factors.remove_class(row)
        if self._factors.complete:
            # Directions that only the removed class used are dropped. The scatter is recomputed.
            self._rotate(span(np.vstack([self._span.means, self._factors.all_rows(self.rank)])))

    def merge(
        self, other: "CompressedScatter", rows: list[int], weights: Vector, steps: Vector
    ) -> None:
        """Add what another compressed form has learned; see `forms.merged`."""
        self._flush()
        self.moves = None
        self._forget_bounds()
        other._flush()
        with one_blas_thread():
            rotation = self._span.coordinates_of(other._span.basis)
            deviations = other._span.means @ rotation
            if self._centred:
                deviations -= self._span.means[rows]
            self._span.means[rows] += steps[:, None] * deviations
            deviations *= np.sqrt(weights)[:, None]
            scatter = self._span.scatter
            scatter += rotation.T @ other._span.scatter @ rotation + deviations.T @ deviations
        counts = merged_counts(weights, steps)
        self._factors.merge(other._factors.transformed(rotation), rows, deviations, counts)
        self._factors.bound(self.width, self.rank)

    def energies(self, counts: Vector, blocks: int) -> Vector:
        self._flush()
        scaled_means = np.sqrt(counts)[:, None] * self._span.means
        rows = np.vstack([scaled_means, self._factors.all_rows(self.rank)]) @ self._span.basis
        return np.asarray((rows**2).reshape(-1, blocks, self.width // blocks).sum(axis=(0, 2)))

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        self._pending.append((sample, row, weight, step))
        self._in_bulk = len(self._pending) == BATCH
        if self._in_bulk:
            self._flush()

    def begin(self, samples: Matrix, counts: Sequence[int]) -> None:
        """Start from the samples of one class after another, which are learned when needed."""
        start = 0
        for row, count in enumerate(counts):
            self.add_row()
            for before in range(count):
                weight, step = before / (before + 1), 1 / (before + 1)
                self._pending.append((samples[start + before], row, weight, step))
            start += count

    def traces(self) -> Vector:
        self._flush()
        if self.blocks == 1:
            return np.array([np.trace(self._span.scatter)])
        traces: Vector = np.einsum(
            "ij,bji->b", self._span.scatter, self._grams.of(self._span.basis)
        )
        return traces

    def largest_square(self) -> float:
        self._flush()
        means = self._span.means
        return float(np.einsum("ij,ij->i", means, means).max(initial=0.0))

    def squares(self) -> Matrix:
        self._flush()
        if self.blocks == 1:
            scatter = self._span.scatter
            return np.array([[np.einsum("ij,ij->", scatter, scatter)]])
        products = self._span.scatter @ self._grams.of(self._span.basis)
        squares: Matrix = np.einsum("aij,bji->ab", products, products)
        return squares

    def solve(
        self, share: float, ridge: Vector, origin: Origin | None = None
    ) -> tuple[Matrix, MeanProducts]:
        self._flush()
        origin = origin or Origin.none(self.width)
        if self.blocks == 1:
            return solved_in_span(self._span, share, ridge[0], origin)
        grams = self._grams.of(self._span.basis)
        return solved_by_blocks(self._span, grams, share, ridge, origin)

    def residual_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        self._flush()
        return super().residual_counts(counts)

    def settle(self) -> None:
        self._flush()

    def inverse(self, ridge: float) -> Inverse:
        self._flush()
        return SpanInverse(self._span.basis, self._span.scatter, ridge)

    def full_means(self) -> Matrix:
        self._flush()
        return self._span.means @ self._span.basis

    def times_means(self, rows: Matrix) -> Matrix:
        self._flush()
        products: Matrix = rows @ self._span.basis.T @ self._span.means.T
        return products

    @property
    def compressed(self) -> bool:
        return True

    def spanned(self, coordinates: Vector) -> tuple[Vector, Vector]:
        size = len(coordinates)
        return coordinates @ self._span.basis[:size], self._span.means[:, :size] @ coordinates

    def full_rows(self, number: int) -> Matrix:
        self._flush()
        return self._factors.rows(number, self.rank) @ self._span.basis

    def _full_width(self, rows: Matrix) -> Matrix:
        return rows @ self._span.basis

    def _mean_rows(self, origin: Origin) -> tuple[Matrix, float]:
        self._flush()
        means, rest = with_fixed(self._span, origin)
        return means, float((rest**2).sum())

    def _whitened(self, rows: Matrix, share: float, ridge: Vector) -> Matrix:
        # Products of rows L^-1 r are products of r under (L L^T)^-1.
        return solve_triangular(cholesky(self._span.regularised(share, ridge[0])), rows)

    def to_dense(self) -> DenseScatter:
        """Return the same scatter and means in full width."""
        self._flush()
        factors = self._factors.transformed(self._span.basis)
        dense = DenseScatter(self.width, self.blocks, factors, centred=self._centred)
        rows = factors.all_rows(self.width) if factors.complete else self._span.scatter_rows()
        dense.begin(self._span.means @ self._span.basis, rows)
        dense.moves = self.moves
        return dense

    def discard_order(self) -> None:
        """Replace the basis by one that depends only on the means and the scatter.

        The original basis grows sample by sample, so it would reveal the samples even without class
        factors.
        """
        self._flush()
        self.moves = None
        assert not len(self._factors)
        with one_blas_thread():
            rows = span_of_sums(self._span.means, self._span.scatter)
            self._span = self._span.rotated(rows, rows @ self._span.scatter @ rows.T)
        self._grams = BlockGrams(self.blocks)

    def state(self) -> Arrays:
        self._flush()
        return {
            "basis": self._span.basis.copy(),
            "mean_coordinates": self._span.means.copy(),
            "span_scatter": self._span.scatter.copy(),
        } | self._factors.state(self.rank)

    def restore(self, state: ClassifierState) -> None:
        basis = state.copied("basis", None, self.width)
        means = state.copied("mean_coordinates", len(state.labels), len(basis))
        self._factors.restore(state, len(basis))
        scatter = state.copied("span_scatter", len(basis), len(basis))
        self._span = SpanArrays(basis, means, scatter)
        self.moves = None
        self._forget_bounds()

    def _flush(self) -> None:
        """Project the pending samples and learn them in order."""
        if self._pending:
            with one_blas_thread():
                self._learn_pending()

    def _learn_pending(self) -> None:
        coordinates = self._span.coordinates_of(np.array([sample for sample, *_ in self._pending]))
        means = self._span.means
        for index, (_, row, weight, step) in enumerate(self._pending):
            deviation = coordinates[index] - means[row] if self._centred else coordinates[index]
            means[row] += step * deviation
            if self.moves is not None:
                full = deviation @ self._span.basis
                self._record(Move(full, row, weight, step, coordinates=deviation))
            square = float(coordinates[index] @ coordinates[index])
            self._note(square, weight * float(deviation @ deviation))
            coordinates[index] = np.sqrt(weight) * deviation
            if weight:
                self._factors.add(row, coordinates[index])
        self._span.add_to_scatter(coordinates)
        self._pending.clear()
        self._factors.bound(self.width, self.rank)

    def _rotate(self, rows: Matrix) -> None:
        """Express everything in another basis, and sum the scatter from the factors.

        Args:
            rows: The basis, as orthonormal rows in the coordinates of the present one.
        """
        self._factors = self._factors.transformed(rows.T)
        factors = self._factors.all_rows(len(rows))
        self._span = self._span.rotated(rows, factors.T @ factors)
        self._grams = BlockGrams(self.blocks)
