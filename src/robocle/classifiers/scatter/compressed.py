"""Scatter and class means in the span of the samples met: exact and small while samples are few.

An orthonormal basis Q (rank x width) grows by at most one direction a sample. All that is learnt
lies in its span, so it is learnt in coordinates c = Q z, and the ridge solution is

    W = M (s Q^T S_r Q + e I)^-1 = M_r (s S_r + e I)^-1 Q            (M = M_r Q)

with no term of size 1/e to cancel. With a ridge of its own for each block of the vector,
E = diag(e), the push-through identity gives the same at the same size:

    W = M_r (s G S_r + I)^-1 Q E^-1        with G = Q E^-1 Q^T

Everything is float64: near-duplicate frames break a float32 basis.

Beside their sum, each class's own part of the scatter is kept as rows of coordinates while these
are few: a class can be forgotten as if it had never been taught, and then the basis, too, shrinks
to the span of what is left.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import blas, lapack

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import ClassFactors, Pick
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.leave_one_out import Products
from robocle.classifiers.scatter.orthonormal import directions, span
from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector
from robocle.errors import FeatureError

# Samples are projected together, as matrix products, when this many wait.
BATCH = 64
# From which share of the width on the dense form is better: when samples are learnt in bulk, and
# when each is followed by a question.
DENSE_FROM_IN_BULK = 1 / 8
DENSE_FROM = 1 / 2


class CompressedScatter:
    """Within-class scatter and class means of few samples, in coordinates of their own span."""

    def __init__(
        self, width: int, blocks: int, parts: ClassFactors, *, centred: bool = True
    ) -> None:
        self.width = width
        self.blocks = blocks
        self._centred = centred
        self._parts = parts
        self.rank = 0
        # The first `rank` directions are in use; the rest is room to grow.
        self._basis_room = np.empty((0, width))
        self._means_room = np.zeros((0, 0))
        self._scatter_room = np.zeros((0, 0))
        self._grams = np.zeros((blocks, 0, 0))
        self._pending: list[tuple[Vector, int, float, float]] = []
        self._in_bulk = False

    @property
    def crowded(self) -> bool:
        """Whether the dense form would serve these samples better."""
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

    def add_row(self) -> None:
        """Make room for a new class; its mean starts at zero."""
        empty = np.zeros(self._means_room.shape[1])
        self._means_room = np.vstack([self._means_room, empty])
        self._parts.add_class()

    @property
    def separable(self) -> bool:
        """Whether each class's part of the scatter is known."""
        self._flush()
        return self._parts.complete

    def remove_row(self, row: int) -> None:
        """Drop a class: its mean, and its part of the scatter if that is known."""
        self._flush()
        self._means_room = np.delete(self._means_room, row, axis=0)
        self._parts.remove_class(row)
        if self._parts.complete:
            self._tighten()

    def merge(
        self, other: "CompressedScatter", rows: list[int], weights: Vector, steps: Vector
    ) -> None:
        """Add what another form has learnt; its classes are `rows` here.

        With v the way from a mean here to the mean there, step * v is added to the mean and
        weight * v v^T to the scatter.
        """
        self._flush()
        other._flush()
        with one_blas_thread():
            turn = self._coordinates(other._basis)
            deviations = other._means @ turn
            if self._centred:
                deviations -= self._means[rows]
            self._means[rows] += steps[:, None] * deviations
            deviations *= np.sqrt(weights)[:, None]
            scatter = self._scatter
            scatter += turn.T @ other._scatter @ turn + deviations.T @ deviations
        self._parts.take(other._parts.turned(turn), rows, deviations)
        self._parts.bound(self.width, self.rank)

    def energies(self, counts: Vector, blocks: int) -> Vector:
        """The sums of squares of all samples, for each block of the vector."""
        self._flush()
        rows = np.vstack([np.sqrt(counts)[:, None] * self._means, self._parts.all_rows(self.rank)])
        found: Vector = (
            ((rows @ self._basis) ** 2).reshape(-1, blocks, self.width // blocks).sum(axis=(0, 2))
        )
        return found

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add weight * v v^T to the scatter and step * v to the mean, v = sample - mean.

        Without centring v is the sample itself, and with steps of 1 the means are sums.
        """
        self._pending.append((sample, row, weight, step))
        self._in_bulk = len(self._pending) == BATCH
        if self._in_bulk:
            self._flush()

    def traces(self) -> Vector:
        """The trace of each diagonal block of the scatter."""
        self._flush()
        if self.blocks == 1:
            return np.array([np.trace(self._scatter)])
        traces: Vector = np.einsum("ij,bji->b", self._scatter, self._block_grams())
        return traces

    def largest_square(self) -> float:
        """The largest sum of squares of a class mean."""
        self._flush()
        return float((self._means**2).sum(axis=1).max(initial=0.0))

    def squares(self) -> Matrix:
        """The squared Frobenius norm of each block of the scatter."""
        self._flush()
        if self.blocks == 1:
            return np.array([[np.vdot(self._scatter, self._scatter)]])
        products = self._scatter @ self._block_grams()
        squares: Matrix = np.einsum("aij,bji->ab", products, products)
        return squares

    def solve(self, share: float, ridge: Vector) -> tuple[Matrix, Matrix]:
        """Rows w = (share * S + diag(ridge))^-1 m for each class mean m, and all products m . w."""
        self._flush()
        if self.blocks == 1:
            matrix = share * self._scatter
            matrix[np.diag_indices(self.rank)] += ridge[0]
            small = _solve_positive(matrix, self._means)
            return small @ self._basis, self._means @ small.T
        gram = np.tensordot(1 / ridge, self._block_grams(), 1)
        matrix = share * gram @ self._scatter + np.eye(self.rank)
        duals = _solve_general(matrix.T, self._means)
        weights = duals @ self._basis / np.repeat(ridge, self.width // self.blocks)
        return weights, self._means @ gram @ duals.T

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        """How many samples of each class can be rehearsed."""
        self._flush()
        return self._parts.residual_counts(counts)

    def products(
        self, share: float, ridge: Vector, picked: Sequence[Pick], counts: Sequence[int]
    ) -> Products:
        """What rehearsing the picked samples needs; for a form of one block."""
        self._flush()
        matrix = share * self._scatter
        matrix[np.diag_indices(self.rank)] += ridge[0]
        residuals = self._parts.residuals(picked, counts, self.rank)
        whitened = _whitened(matrix, np.vstack([self._means, residuals]))
        means, rows = np.split(whitened, [len(self._means)])
        return Products(share, means @ means.T, rows @ means.T, (rows**2).sum(axis=1))

    def to_dense(self) -> DenseScatter:
        """The same scatter and means, written out in full width."""
        self._flush()
        parts = self._parts.turned(self._basis)
        means = self._means @ self._basis
        dense = DenseScatter(self.width, means, self.blocks, parts, centred=self._centred)
        # S = R^T R with R = |S_r|^1/2 Q: half the work of the product Q^T S_r Q.
        with one_blas_thread():
            values, vectors = np.linalg.eigh(self._scatter)
        dense.add_deviations(np.sqrt(np.maximum(values, 0))[:, None] * (vectors.T @ self._basis))
        return dense

    def state(self) -> Arrays:
        self._flush()
        return {
            "basis": self._basis.copy(),
            "mean_coordinates": self._means.copy(),
            "span_scatter": self._scatter.copy(),
        } | self._parts.state(self.rank)

    @classmethod
    def restored(
        cls,
        state: ClassifierState,
        prefix: str,
        width: int,
        blocks: int,
        parts: ClassFactors,
        *,
        centred: bool = True,
    ) -> "CompressedScatter":
        form = cls(width, blocks, parts, centred=centred)
        form._basis_room = state.take(f"{prefix}basis", None, width)
        form.rank = len(form._basis_room)
        form._means_room = state.take(f"{prefix}mean_coordinates", len(state.labels), form.rank)
        parts.restore(state, prefix, form.rank)
        form._scatter_room = state.take(f"{prefix}span_scatter", form.rank, form.rank)
        return form

    def _flush(self) -> None:
        """Bring the waiting samples into coordinates and learn them in order."""
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
                self._parts.add(row, coordinates[index])
        scatter = self._scatter
        scatter += coordinates.T @ coordinates
        self._pending.clear()
        self._parts.bound(self.width, self.rank)

    def _tighten(self) -> None:
        """Keep no direction that only a forgotten class had, and sum the scatter anew."""
        means, parts = self._means, self._parts
        rows = np.vstack([means, parts.all_rows(self.rank)])
        turn = span(rows).T
        basis = turn.T @ self._basis
        self._parts = parts.turned(turn)
        self._basis_room, self.rank = basis, len(basis)
        self._means_room = means @ turn
        rows = self._parts.all_rows(self.rank)
        self._scatter_room = rows.T @ rows
        self._grams = np.zeros((self.blocks, 0, 0))

    def _coordinates(self, samples: Matrix) -> Matrix:
        """The samples' coordinates; the basis grows by the directions it lacks."""
        basis = self._basis
        known = samples @ basis.T
        rest = samples - known @ basis
        again = rest @ basis.T  # twice is enough (Kahan): the first pass left rounding
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

    def _block_grams(self) -> Matrix:
        """Q_b Q_b^T for the columns of each block; only new directions are multiplied."""
        known = self._grams.shape[1]
        if known < self.rank:
            parts = self._basis.reshape(self.rank, self.blocks, -1).transpose(1, 0, 2)
            grams = np.empty((self.blocks, self.rank, self.rank))
            grams[:, :known, :known] = self._grams
            grams[:, known:] = parts[:, known:] @ parts.transpose(0, 2, 1)
            grams[:, :known, known:] = grams[:, known:, :known].transpose(0, 2, 1)
            self._grams = grams
        return self._grams


def _whitened(matrix: Matrix, rows: Matrix) -> Matrix:
    """Rows L^-1 row with L L^T = matrix: their products are row A row with A = matrix^-1."""
    if not matrix.size:
        return rows
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    return _solved(blas.dtrsm(1.0, factor, rows.T, lower=1), failed)


def _solve_positive(matrix: Matrix, rows: Matrix) -> Matrix:
    """Rows x with matrix x = row, for a symmetric positive definite matrix."""
    if not matrix.size:
        return rows
    _, solution, failed = lapack.dposv(matrix, rows.T, lower=1, overwrite_a=1)
    return _solved(solution, failed)


def _solve_general(matrix: Matrix, rows: Matrix) -> Matrix:
    if not matrix.size:
        return rows
    _, _, solution, failed = lapack.dgesv(matrix, rows.T)
    return _solved(solution, failed)


def _solved(solution: Matrix, failed: int) -> Matrix:
    if failed:
        raise FeatureError("the covariance cannot be solved: raise the classifier's shrinkage")
    return solution.T
