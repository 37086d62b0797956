"""Scatter and class means in full width: for more samples than the compressed form is good for.

One width x width array holds it all. Its lower triangle is the scatter S; new deviations wait in a
buffer and are folded in together. Its upper triangle is the Cholesky factor of S + ridge, made at
the first prediction; after that RidgeSolution follows new samples without factoring again. The
diagonal belongs to both, so the factor's is kept aside and put in place while it is used.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import ClassFactors, Pick
from robocle.classifiers.scatter.leave_one_out import Products
from robocle.classifiers.scatter.ridge_solution import RidgeSolution
from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, Vector
from robocle.errors import FeatureError

# Deviations folded in together: enough for the matrix product to reach its full speed.
BATCH = 128
# More samples than this between two predictions: factoring again is cheaper than following.
MAX_FOLLOWED = 8
TILE = 64


class DenseScatter:
    """Within-class scatter and class means in full width, one width x width array in all."""

    def __init__(
        self, width: int, means: Matrix, blocks: int, parts: ClassFactors, *, centred: bool = True
    ) -> None:
        self.width = width
        self.blocks = blocks
        self._centred = centred
        self._array = np.zeros((width, width), order="F")
        self._means = means
        self._parts = parts
        self._buffer = np.empty((BATCH, width))
        self._waiting = 0
        self._factor_diagonal = np.empty(width)
        # What the last prediction worked out, and the samples that it does not know yet.
        self._solution: RidgeSolution | None = None
        self._unfollowed: list[tuple[Vector, int, float, float]] = []
        self._square: float | None = None
        self._unsquared: list[Vector] = []

    def add_row(self) -> None:
        """Make room for a new class; its mean starts at zero."""
        self._means = np.vstack([self._means, np.zeros(self.width)])
        self._parts.add_class()

    @property
    def separable(self) -> bool:
        """Whether each class's part of the scatter is known."""
        return self._parts.complete

    def remove_row(self, row: int) -> None:
        """Drop a class: its mean, and its part of the scatter if that is known."""
        self._means = np.delete(self._means, row, axis=0)
        self._parts.remove_class(row)
        if self._parts.complete:
            self._waiting = 0
            self._array[:] = 0
            self._add_products(self._parts.all_rows(self.width))
        self._give_up()

    def merge(self, other: "DenseScatter", rows: list[int], weights: Vector, steps: Vector) -> None:
        """Add what another form has learnt; its classes are `rows` here.

        With v the way from a mean here to the mean there, step * v is added to the mean and
        weight * v v^T to the scatter.
        """
        other._fold()
        deviations = other._means - self._means[rows] if self._centred else other._means
        self._means[rows] += steps[:, None] * deviations
        deviations = np.sqrt(weights)[:, None] * deviations
        self._array += other._array
        self._add_products(deviations)
        self._parts.take(other._parts, rows, deviations)
        self._parts.bound(self.width)
        self._give_up()

    def energies(self, counts: Vector, blocks: int) -> Vector:
        """The sums of squares of all samples, for each block of the vector."""
        rows = np.vstack([np.sqrt(counts)[:, None] * self._means, self._parts.all_rows(self.width)])
        found: Vector = (rows**2).reshape(-1, blocks, self.width // blocks).sum(axis=(0, 2))
        return found

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add weight * v v^T to the scatter and step * v to the mean, v = sample - mean.

        Without centring v is the sample itself, and with steps of 1 the means are sums.
        """
        deviation = sample - self._means[row] if self._centred else sample
        self._means[row] += step * deviation
        np.multiply(deviation, math.sqrt(weight), out=self._buffer[self._waiting])
        if weight:
            self._parts.add(row, self._buffer[self._waiting])
            self._parts.bound(self.width)
        self._waiting += 1
        if self._waiting == BATCH:
            self._fold()
        if len(self._unfollowed) == MAX_FOLLOWED:
            self._give_up()
        if self._solution is not None:
            self._unfollowed.append((deviation, row, weight, step))
        if self._square is not None:
            self._unsquared.append(math.sqrt(weight) * deviation)

    def add_deviations(self, rows: Matrix) -> None:
        """Add the sum of v v^T over rows v to the scatter; the means stay."""
        self._add_products(rows)
        self._give_up()

    def traces(self) -> Vector:
        """The trace of each diagonal block of the scatter."""
        waiting = self._buffer[: self._waiting]
        diagonal = np.diagonal(self._array) + np.einsum("ij,ij->j", waiting, waiting)
        traces: Vector = diagonal.reshape(self.blocks, -1).sum(axis=1)
        return traces

    def largest_square(self) -> float:
        """The largest sum of squares of a class mean."""
        return float(np.einsum("ij,ij->i", self._means, self._means).max(initial=0.0))

    def squares(self) -> Matrix:
        """The squared Frobenius norm of each block of the scatter."""
        if self.blocks > 1:
            self._fold()
            return self._block_squares()
        if self._square is None:
            self._fold()
            self._square = float(self._block_squares().sum())
        else:
            self._square += self._square_of_unsquared()
        self._unsquared.clear()
        return np.array([[self._square]])

    def solve(self, share: float, ridge: Vector) -> tuple[Matrix, Matrix]:
        """Rows w = (share * S + diag(ridge))^-1 m for each class mean m, and all products m . w."""
        if share == 0:
            weights = self._means / np.repeat(ridge, self.width // self.blocks)
        else:
            weights = self._ridge_weights(ridge / share) / share
        return weights, self._means @ weights.T

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        """How many samples of each class can be rehearsed."""
        return self._parts.residual_counts(counts)

    def products(
        self, share: float, ridge: Vector, picked: Sequence[Pick], counts: Sequence[int]
    ) -> Products:
        """What rehearsing the picked samples needs; for a form of one block."""
        weights, means = self.solve(share, ridge)
        rows = self._parts.residuals(picked, counts, self.width)
        solved = rows / ridge[0]
        if share:
            assert self._solution is not None
            solved = self._solution.applied(rows, ridge / share) / share
        return Products(share, means, rows @ weights.T, np.einsum("ij,ij->i", rows, solved))

    def state(self) -> Arrays:
        self._fold()
        own = {"means": self._means.copy(), "scatter": _packed(self._array)}
        return own | self._parts.state(self.width)

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
    ) -> "DenseScatter":
        means = state.take(f"{prefix}means", len(state.labels), width)
        name = f"{prefix}scatter"  # looked at before any memory of that size is taken
        if state.arrays.get(name, means).ndim == 2:  # as format 1 of states has it
            whole = state.take(name, width, width)
            form = cls(width, means, blocks, parts, centred=centred)
            form._array = whole.T  # symmetric, and in the order that it is kept in
        else:
            packed = state.look(name, width * (width + 1) // 2)
            form = cls(width, means, blocks, parts, centred=centred)
            _unpack(packed, form._array)
        parts.restore(state, prefix, width)
        return form

    def _fold(self) -> None:
        """Bring the waiting deviations into the lower triangle."""
        if self._waiting:
            self._add_products(self._buffer[: self._waiting])
            self._waiting = 0

    def _add_products(self, rows: Matrix) -> None:
        with one_blas_thread():
            blas.dsyrk(1.0, rows.T, beta=1.0, c=self._array, lower=1, overwrite_c=1)

    def _give_up(self) -> None:
        """Forget what the last prediction worked out: too much has changed."""
        self._solution = self._square = None
        self._unfollowed.clear()
        self._unsquared.clear()

    def _ridge_weights(self, ridge: Vector) -> Matrix:
        """(S + diag(ridge))^-1 m for each class, by following the last solution if that is near."""
        if self._solution is not None and self._solution.reaches(ridge):
            for deviation, row, weight, step in self._unfollowed:
                self._solution.follow(deviation, row, weight, step)
        else:
            self._fold()
            self._factorise(ridge)
            self._solution = RidgeSolution(self._solve_factored, self._means, ridge)
        self._unfollowed.clear()
        return self._solution.weights(ridge)

    def _square_of_unsquared(self) -> float:
        """How much the unsquared deviations V have added to |S|^2; they are in S already.

        |S|^2 - |S - V^T V|^2 = 2 tr(V S V^T) - |V V^T|^2
        """
        rows = np.array(self._unsquared).reshape(-1, self.width)
        products = sum(float(row @ self._times(row)) for row in rows)
        return 2 * products - _square(rows @ rows.T)

    def _times(self, vector: Vector) -> Vector:
        """S vector, the waiting deviations included."""
        rows = self._buffer[: self._waiting]
        product: Vector = blas.dsymv(1.0, self._array, vector, lower=1)
        return product + rows.T @ (rows @ vector)

    def _factorise(self, ridge: Vector) -> None:
        """The Cholesky factor of S + diag(ridge) in the upper triangle."""
        _mirror(self._array)
        scatter_diagonal = np.diagonal(self._array).copy()
        self._factor_diagonal = scatter_diagonal + np.repeat(ridge, self.width // self.blocks)
        with self._factor_in_place():
            _, failed = lapack.dpotrf(self._array, lower=0, clean=0, overwrite_a=1)
            self._factor_diagonal = np.diagonal(self._array).copy()
        if failed:
            self._give_up()
            raise FeatureError("the covariance cannot be solved: raise the classifier's shrinkage")

    def _solve_factored(self, rows: Matrix) -> Matrix:
        """Rows x with (S + diag(ridge)) x = row, for the S and ridge last factored."""
        with self._factor_in_place():
            if len(rows) == 1:  # two triangular solves read less than LAPACK's general one
                half = blas.dtrsv(self._array, rows[0], lower=0, trans=1)
                return blas.dtrsv(self._array, half, lower=0, overwrite_x=1)[None]  # type: ignore[no-any-return]
            solution, _ = lapack.dpotrs(self._array, rows.T, lower=0)
            return np.asarray(solution).T

    @contextmanager
    def _factor_in_place(self) -> Iterator[None]:
        diagonal = self._array.reshape(-1, order="F")[:: self.width + 1]
        scatter_diagonal = diagonal.copy()
        diagonal[:] = self._factor_diagonal
        try:
            yield
        finally:
            diagonal[:] = scatter_diagonal

    def _block_squares(self) -> Matrix:
        """The squared norm of each block, from the lower triangle alone."""
        starts = range(0, self.width, self.width // self.blocks)
        squares = np.zeros((self.blocks, self.blocks))
        for a, b in combinations_with_replacement(range(self.blocks), 2):
            rows, columns = (slice(at, at + starts.step) for at in (starts[b], starts[a]))
            block = self._array[rows, columns]
            squares[a, b] = squares[b, a] = _lower_square(block) if a == b else _square(block)
        return squares


def _square(block: Matrix) -> float:
    return float(np.einsum("ij,ij->", block, block))


def _lower_square(block: Matrix) -> float:
    """The squared norm of the symmetric matrix with this lower triangle, tile by tile."""
    total = 0.0
    for start in range(0, len(block), TILE):
        corner = np.tril(block[start : start + TILE, start : start + TILE])
        below = block[start + TILE :, start : start + TILE]
        total += 2 * (_square(corner) + _square(below)) - float((np.diagonal(corner) ** 2).sum())
    return total


def _mirror(array: Matrix) -> None:
    """Copy the strict lower triangle over the upper, tile by tile, in place."""
    for start in range(0, len(array), TILE):
        end = min(start + TILE, len(array))
        array[start:end, end:] = array[end:, start:end].T
        corner = np.tril(array[start:end, start:end])
        array[start:end, start:end] = corner + np.tril(corner, -1).T


def _packed(array: Matrix) -> Vector:
    """The lower triangle, column after column."""
    return np.concatenate([array[column:, column] for column in range(len(array))])


def _unpack(packed: NDArray[Any], array: Matrix) -> None:
    start = 0
    for column in range(len(array)):
        end = start + len(array) - column
        array[column:, column] = packed[start:end]
        start = end
