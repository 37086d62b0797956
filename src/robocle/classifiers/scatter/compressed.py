"""Scatter and class means within the span of the samples: exact, and small while samples are few.

An orthonormal basis Q (rank x width) grows by at most one direction per sample. Everything learned
lies in its span, so it is kept in coordinates c = Q z, and the ridge solution is

    W = M (s Q^T S_r Q + e I)^-1 = M_r (s S_r + e I)^-1 Q            (M = M_r Q)

with no term of size 1/e to cancel. With one ridge per block of the embedding, E = diag(e), the
push-through identity gives the same at the same size:

    W = M_r (s G S_r + I)^-1 Q E^-1        with G = Q E^-1 Q^T

Everything is float64: near-duplicate frames break a float32 basis.

When a class is removed exactly, the basis shrinks to the span of what is left.
"""

from collections.abc import Sequence

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.block_grams import BlockGrams
from robocle.classifiers.scatter.class_factors import ClassFactors, SampleIndex
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.leave_one_out import Products
from robocle.classifiers.scatter.orthonormal import directions, span, span_of_sums
from robocle.classifiers.scatter.solving import (
    cholesky,
    solve_general,
    solve_positive,
    solve_triangular,
)
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector

# So many samples wait until they are projected together, by matrix products.
BATCH = 64
# The rank, relative to the width, from which on the dense form is faster: when samples are learned
# in bulk, and when a prediction follows each sample.
DENSE_FROM_IN_BULK = 1 / 8
DENSE_FROM = 1 / 2


class CompressedScatter(ScatterForm):
    """Within-class scatter and class means of few samples, in coordinates of their own span."""

    def __init__(
        self, width: int, blocks: int, factors: ClassFactors, *, centred: bool = True
    ) -> None:
        super().__init__(width, blocks, factors, centred=centred)
        self.rank = 0
        # The first `rank` directions are in use; the rest is room to grow.
        self._basis_room = np.empty((0, width))
        self._means_room = np.zeros((0, 0))
        self._scatter_room = np.zeros((0, 0))
        self._grams = BlockGrams(blocks)
        self._pending: list[tuple[Vector, int, float, float]] = []
        self._in_bulk = False

    @property
    def crowded(self) -> bool:
        """Whether the dense form would be faster."""
        limit = DENSE_FROM_IN_BULK if self._in_bulk else DENSE_FROM
        return self.rank > limit * self.width

    @property
    def _basis(self) -> Matrix:
        return self._basis_room[: self.rank]

    @property
    def _means(self) -> Matrix:
        return self._means_room[:, : self.rank]

    @property
    def _scatter(self) -> Matrix:
        return self._scatter_room[: self.rank, : self.rank]

    @property
    def separable(self) -> bool:
        self._flush()
        return self._factors.complete

    def add_row(self) -> None:
        empty = np.zeros(self._means_room.shape[1])
        self._means_room = np.vstack([self._means_room, empty])
        self._factors.add_class()

    def remove_row(self, row: int) -> None:
        self._flush()
        self._means_room = np.delete(self._means_room, row, axis=0)
        self._factors.remove_class(row)
        if self._factors.complete:
            # No direction that only the removed class had is kept, and the scatter is summed anew.
            rows = np.vstack([self._means, self._factors.all_rows(self.rank)])
            self._rotate(span(rows))
            rows = self._factors.all_rows(self.rank)
            self._scatter_room = rows.T @ rows

    def merge(
        self, other: "CompressedScatter", rows: list[int], weights: Vector, steps: Vector
    ) -> None:
        """Add what another compressed form has learned; see `forms.merged`."""
        self._flush()
        other._flush()
        with one_blas_thread():
            rotation = self._coordinates(other._basis)
            deviations = other._means @ rotation
            if self._centred:
                deviations -= self._means[rows]
            self._means[rows] += steps[:, None] * deviations
            deviations *= np.sqrt(weights)[:, None]
            scatter = self._scatter
            scatter += rotation.T @ other._scatter @ rotation + deviations.T @ deviations
        self._factors.merge(other._factors.transformed(rotation), rows, deviations)
        self._factors.bound(self.width, self.rank)

    def energies(self, counts: Vector, blocks: int) -> Vector:
        self._flush()
        scaled_means = np.sqrt(counts)[:, None] * self._means
        rows = np.vstack([scaled_means, self._factors.all_rows(self.rank)]) @ self._basis
        return np.asarray((rows**2).reshape(-1, blocks, self.width // blocks).sum(axis=(0, 2)))

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        self._pending.append((sample, row, weight, step))
        self._in_bulk = len(self._pending) == BATCH
        if self._in_bulk:
            self._flush()

    def traces(self) -> Vector:
        self._flush()
        if self.blocks == 1:
            return np.array([np.trace(self._scatter)])
        traces: Vector = np.einsum("ij,bji->b", self._scatter, self._grams.of(self._basis))
        return traces

    def largest_square(self) -> float:
        self._flush()
        return float((self._means**2).sum(axis=1).max(initial=0.0))

    def squares(self) -> Matrix:
        self._flush()
        if self.blocks == 1:
            return np.array([[np.vdot(self._scatter, self._scatter)]])
        products = self._scatter @ self._grams.of(self._basis)
        squares: Matrix = np.einsum("aij,bji->ab", products, products)
        return squares

    def solve(self, share: float, ridge: Vector) -> tuple[Matrix, Matrix]:
        self._flush()
        if self.blocks == 1:
            small = solve_positive(self._regularised(share, ridge), self._means)
            return small @ self._basis, self._means @ small.T
        gram = np.tensordot(1 / ridge, self._grams.of(self._basis), 1)
        matrix = share * gram @ self._scatter + np.eye(self.rank)
        duals = solve_general(matrix.T, self._means)
        weights = duals @ self._basis / np.repeat(ridge, self.width // self.blocks)
        return weights, self._means @ gram @ duals.T

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        self._flush()
        return super().residual_counts(counts)

    def products(
        self, share: float, ridge: Vector, samples: Sequence[SampleIndex], counts: Sequence[int]
    ) -> Products:
        self._flush()
        residuals = self._factors.residuals(samples, counts, self.rank)
        factor = cholesky(self._regularised(share, ridge))
        # Products of rows L^-1 r are products of r under (L L^T)^-1.
        whitened = solve_triangular(factor, np.vstack([self._means, residuals]))
        means, rows = np.split(whitened, [len(self._means)])
        return Products(share, means @ means.T, rows @ means.T, (rows**2).sum(axis=1))

    def to_dense(self) -> DenseScatter:
        """Return the same scatter and means in full width."""
        self._flush()
        factors = self._factors.transformed(self._basis)
        dense = DenseScatter(self.width, self.blocks, factors, centred=self._centred)
        # S = R^T R with R = |S_r|^1/2 Q: half the work of the product Q^T S_r Q.
        with one_blas_thread():
            values, vectors = np.linalg.eigh(self._scatter)
        rows = np.sqrt(np.maximum(values, 0))[:, None] * (vectors.T @ self._basis)
        dense.begin(self._means @ self._basis, rows)
        return dense

    def discard_order(self) -> None:
        """Replace the basis by one that depends on means and scatter alone.

        The basis grows sample by sample. Kept as it is, it would tell the samples apart even
        without class factors.
        """
        self._flush()
        with one_blas_thread():
            rows = span_of_sums(self._means, self._scatter)
            scatter = rows @ self._scatter @ rows.T
            self._rotate(rows)
            self._scatter_room = scatter

    def state(self) -> Arrays:
        self._flush()
        return {
            "basis": self._basis.copy(),
            "mean_coordinates": self._means.copy(),
            "span_scatter": self._scatter.copy(),
        } | self._factors.state(self.rank)

    def restore(self, state: ClassifierState) -> None:
        self._basis_room = state.copied("basis", None, self.width)
        self.rank = len(self._basis_room)
        self._means_room = state.copied("mean_coordinates", len(state.labels), self.rank)
        self._factors.restore(state, self.rank)
        self._scatter_room = state.copied("span_scatter", self.rank, self.rank)

    def _regularised(self, share: float, ridge: Vector) -> Matrix:
        """Return share S + ridge I in coordinates, for a single block."""
        matrix = share * self._scatter
        matrix[np.diag_indices(self.rank)] += ridge[0]
        return matrix

    def _flush(self) -> None:
        """Project the pending samples and learn them in order."""
        if self._pending:
            with one_blas_thread():
                self._learn_pending()

    def _learn_pending(self) -> None:
        coordinates = self._coordinates(np.array([sample for sample, *_ in self._pending]))
        means = self._means
        for index, (_, row, weight, step) in enumerate(self._pending):
            deviation = coordinates[index] - means[row] if self._centred else coordinates[index]
            means[row] += step * deviation
            coordinates[index] = np.sqrt(weight) * deviation
            if weight:
                self._factors.add(row, coordinates[index])
        scatter = self._scatter
        scatter += coordinates.T @ coordinates
        self._pending.clear()
        self._factors.bound(self.width, self.rank)

    def _rotate(self, rows: Matrix) -> None:
        """Express means and factors in another basis; the scatter is left to the caller.

        Args:
            rows: The basis, as orthonormal rows in the coordinates of the present one.
        """
        rotation = rows.T
        self._factors = self._factors.transformed(rotation)
        self._means_room = self._means @ rotation
        self._basis_room = rows @ self._basis
        self.rank = len(rows)
        self._grams = BlockGrams(self.blocks)

    def _coordinates(self, samples: Matrix) -> Matrix:
        """Return the coordinates of samples; the basis grows by the directions it lacks."""
        basis = self._basis
        known = samples @ basis.T
        rest = samples - known @ basis
        again = rest @ basis.T  # the first pass left rounding; twice is enough (Kahan)
        rest -= again @ basis
        fresh = directions(rest, np.linalg.norm(samples, axis=1), basis)
        self._extend(fresh)
        return np.hstack([known + again, rest @ fresh.T])

    def _extend(self, fresh: Matrix) -> None:
        grown = self.rank + len(fresh)
        if grown > len(self._basis_room):
            self._make_room(max(grown, BATCH, 3 * self.rank // 2))
        self._basis_room[self.rank : grown] = fresh
        self.rank = grown

    def _make_room(self, size: int) -> None:
        basis, means, scatter = self._basis, self._means, self._scatter
        self._basis_room = np.empty((size, self.width))
        self._basis_room[: self.rank] = basis
        self._means_room = np.zeros((len(means), size))
        self._means_room[:, : self.rank] = means
        self._scatter_room = np.zeros((size, size))
        self._scatter_room[: self.rank, : self.rank] = scatter
