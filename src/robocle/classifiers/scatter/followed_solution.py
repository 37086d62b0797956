"""The ridge solution of one block, which follows the samples instead of being computed again.

For B = S + ridge I, A = B^-1 and the class means m_j, the rows A (m_j - o) are needed to score
pictures; o is a fixed point, the mean of the class means when the solution was computed. A sample
adds a v v^T to S and moves the mean of its class by step * v. By the Sherman-Morrison formula,

    A' = A - g u u^T    with u = A v and g = a / (1 + a v.u),

so every row changes by a multiple of u. The rows are kept as those of the last computation, plus
coefficients times directions u. The former never change, and coefficients are only added: what a
prediction has read of them stays valid while a lesson goes on.

This needs a ridge that stands still: see `shrinkage=stepped`. Fixed vectors, such as the world's
mean, are rows beside the class means that never move.
"""

from dataclasses import dataclass

import numpy as np

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.followed_directions import FollowedDirections
from robocle.classifiers.scatter.followed_span import FollowedSpan
from robocle.classifiers.scatter.inverses import Inverse, SpanInverse
from robocle.classifiers.state import Matrix, Vector

# With more rows than this, the rows that score pictures are float32. Relative to o, the error is
# below 1e-6 of the scores.
MOST_FLOAT64 = 512
# At most this many samples are followed at once. With more between two predictions, a new solution
# is faster.
MAX_MOVES = 32
# If the rows differ from a new solution by more than this, all are computed again.
MAX_DRIFT = 1e-8


@dataclass(frozen=True, eq=False)
class Move:
    """A sample: weight v v^T was added to S and step v to the mean of a class."""

    deviation: Vector
    """v."""
    row: int
    weight: float
    step: float
    coordinates: Vector | None = None
    """v in coordinates of the span of the samples, if the scatter is compressed."""


@dataclass(frozen=True, eq=False)
class Update:
    """How a sample changed A and one class mean."""

    move: Move
    direction: Vector
    """u = A v, with the A before."""
    square: float
    """v A v."""
    gain: float
    """g: A changed by -g u u^T."""
    products: Vector
    """m_j . u before the move: of all class means and, if there is one, of the fixed row."""

    @property
    def column(self) -> int:
        """The index of the moved class among the products."""
        return self.move.row

    @property
    def kept(self) -> float:
        """The factor k with A' v = k u."""
        return 1 - self.gain * self.square

    @property
    def moved(self) -> float:
        """The factor with which the row of the moved class changes along u."""
        return self.move.step * self.kept


@dataclass(frozen=True, eq=False)
class BlockScorer:
    """What scores pictures within one block. It never changes."""

    base: Matrix
    """A (m_j - o) when the solution was computed; later classes have no row."""
    directions: Matrix
    coefficients: Matrix
    """(directions, classes)"""
    origin: Vector
    """The origin c of the scores."""
    offset: Vector
    """A (c - o)."""

    def numerators(self, embeddings: Matrix) -> Matrix:
        """Return (z - c) A (m_j - c) per embedding z and class j."""
        rest = embeddings - self.origin
        found = (rest @ self.directions.T) @ self.coefficients
        found[:, : len(self.base)] += self._base_products(rest.astype(self.base.dtype, copy=False))
        found -= (rest @ self.offset)[:, None]
        return found

    def _base_products(self, rest: Matrix) -> Matrix:
        if len(rest) != 1:
            return rest @ self.base.T
        # One dot product per class: in BLAS, these read memory faster than a product with a matrix.
        return (self.base[:, None] @ rest.T)[None, :, 0, 0]

    def rows(self) -> Matrix:
        """Return A (m_j - c) per class."""
        rows = self.coefficients.T @ self.directions
        rows[: len(self.base)] += self.base
        return rows - self.offset


class FollowedSolution:
    """A and the rows A (m_j - o) of one block, updated for each sample.

    Args:
        inverse: A.
        rows: The class means m_j and, if there is one, the fixed row.
        solved: A m_j for each of these rows.
        fixed: The fixed rows: none, or the world's mean.
        most: The number of samples after which A is factorised again.
    """

    def __init__(
        self, inverse: Inverse, rows: Matrix, solved: Matrix, fixed: Matrix, most: int
    ) -> None:
        self.fixed = fixed
        self._most = most
        classes = len(rows) - len(fixed)
        means = rows[:classes]
        self._centre = means.mean(axis=0)
        self._mean_sum = means.sum(axis=0)
        self.squares = np.einsum("ij,ij->i", rows, solved)
        self._totals = solved @ self._mean_sum
        self._beside = solved @ fixed[0] if len(fixed) else np.zeros(len(rows))
        self._solved_centre = solved[:classes].mean(axis=0)
        self._solved_fixed = solved[classes:] - self._solved_centre
        base = solved[:classes] - self._solved_centre
        self._base = base.astype(_dtype(len(base)), copy=False)
        self._row_sum = np.zeros(rows.shape[1])
        self._changes = FollowedDirections(rows.shape[1], classes)
        self._continue_with(inverse)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.squares) - len(self.fixed)

    @property
    def is_full(self) -> bool:
        """Whether A should be factorised again."""
        return len(self._changes) >= self._most

    @property
    def followed(self) -> int:
        """The number of samples since A was factorised."""
        return len(self._changes)

    def _continue_with(self, inverse: Inverse) -> None:
        self._inverse = inverse
        self.span = None
        """A in coordinates of the span, while these are known."""
        if isinstance(inverse, SpanInverse):
            self.span = FollowedSpan(inverse, self._most + MAX_MOVES)

    def apply(self, rows: Matrix) -> Matrix:
        """Return A row for each row."""
        solved = self._inverse.solve(rows)
        if self._changes:
            directions = self._changes.directions
            solved = solved - (rows @ directions.T * self._changes.gains) @ directions
        return solved

    def update(
        self,
        move: Move,
        weight: float,
        products: Vector,
        direction: Vector,
        inside: Vector | None,
    ) -> Update:
        """Follow a sample.

        Args:
            move: The sample.
            weight: Its weight in A^-1: that of the sample, or 0 if the scatter does not count.
            products: m_j . u of all class means before the move. That of a new class is 0.
            direction: u = A v.
            inside: u in coordinates of the span, if they are known.
        """
        square = float(move.deviation @ direction)
        gain = weight / (1 + weight * square)
        if move.row == self.classes:
            self._add_class()
        beside = self.fixed @ direction
        found = Update(move, direction, square, gain, np.concatenate([products, beside]))
        self._follow_products(found)
        self._follow_rows(found, products)
        if inside is None:
            self.span = None
        elif self.span is not None:
            self.span.change(gain, inside)
        return found

    def _follow_products(self, update: Update) -> None:
        """With M' = M + step e v^T, M' A' M'^T follows from M A M^T and p = M u."""
        p, moved, column = update.products, update.moved, update.column
        total = float(p[: self.classes].sum())
        square = update.move.step * moved * update.square
        self._totals += (moved - update.gain * total) * p
        self._totals[column] += moved * total + square
        self.squares -= update.gain * p**2
        self.squares[column] += 2 * moved * p[column] + square
        if len(self.fixed):
            self._beside -= update.gain * p[-1] * p
            self._beside[column] += moved * p[-1]

    def _follow_rows(self, update: Update, products: Vector) -> None:
        move, direction, gain = update.move, update.direction, update.gain
        towards = float(self._centre @ direction)
        if move.step == 1:  # the first sample of a class, which adds nothing to S
            coefficients, gain = np.zeros(self.classes), 0.0
            coefficients[move.row] = 1
            direction = direction - self._solved_centre
        else:
            coefficients = -gain * (products - towards)
            coefficients[move.row] += update.moved
        self._changes.add(direction, gain, coefficients)
        # New arrays: predictions may still use those before.
        self._row_sum = self._row_sum + coefficients.sum() * direction
        self._solved_centre = self._solved_centre - update.gain * towards * update.direction
        beside = update.gain * (update.products[self.classes :] - towards)
        self._solved_fixed = self._solved_fixed - beside[:, None] * update.direction
        self._mean_sum = self._mean_sum + move.step * move.deviation

    def _add_class(self) -> None:
        self.squares, self._totals, self._beside = (
            np.insert(each, self.classes, 0.0)
            for each in (self.squares, self._totals, self._beside)
        )

    def renew(self, inverse: Inverse, since: int, row: int, mean: Vector) -> bool:
        """Continue with a new factorisation; return False if the rows have drifted.

        Args:
            inverse: What A was after the first of the samples that were followed.
            since: The number of these samples. Those after them are still followed.
            row: A class to check.
            mean: Its mean.
        """
        changes = self._changes
        base = changes.coefficients(self.classes)[:since].T @ changes.directions[:since]
        base[: len(self._base)] += self._base
        self._base = base.astype(_dtype(len(base)), copy=False)
        changes.drop(since)
        self._continue_with(inverse)
        coefficients, directions = changes.coefficients(self.classes), changes.directions
        self._row_sum = base.sum(axis=0) + coefficients.sum(axis=1) @ directions
        given = np.vstack([self._centre, mean - self._centre, self.fixed - self._centre])
        self._solved_centre, expected, *beside = self.apply(given)
        self._solved_fixed = np.array(beside).reshape(self.fixed.shape)
        drift = base[row] + coefficients[:, row] @ directions - expected
        allowed = max(MAX_DRIFT, 2 * float(np.finfo(self._base.dtype).eps))
        return bool(np.abs(drift).max(initial=0.0) <= allowed * np.abs(expected).max(initial=0.0))

    def mean_products(self, shares: Vector) -> MeanProducts:
        """Return the products of the class means, then of the fixed row.

        Args:
            shares: The share of each class mean, then of the fixed row, in the origin.
        """
        towards = shares[0] * self._totals
        if len(self.fixed):
            towards = towards + shares[-1] * self._beside
        return MeanProducts(self.squares, towards, shares)

    def scorer(self, shares: Vector) -> BlockScorer:
        """Return what scores pictures; see `mean_products`."""
        origin = shares[0] * self._mean_sum
        if len(self.fixed):
            origin = origin + shares[-1] * self.fixed[0]
        offset = self.solved_origin(shares)
        coefficients = self._changes.coefficients(self.classes)
        return BlockScorer(self._base, self._changes.directions, coefficients, origin, offset)

    def solved_origin(self, shares: Vector) -> Vector:
        """Return A (c - o), with the origin c of these shares; see `mean_products`."""
        fixed = self._solved_fixed.sum(axis=0)  # of the fixed row, or 0
        solved: Vector = shares[0] * self._row_sum + shares[-1] * fixed
        return solved


def _dtype(rows: int) -> type[np.float32] | type[np.float64]:
    return np.float32 if rows > MOST_FLOAT64 else np.float64
