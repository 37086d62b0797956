"""The rows A m_j of one block, with which embeddings are scored, and inner products of all m_j.

The rows follow lessons without being rewritten: a lesson appends one direction and its
coefficients. So a view of them never changes, and predictions can use it while a lesson is taught.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.scatter import Rows
from robocle.types import Scores

LARGEST_FLOAT32 = 1e15  # sums of products of larger values might be infinite
MOST_FLOAT64 = 512  # with more classes, the rows are float32
MOST_DIRECTIONS = 56  # few enough that predictions hardly notice them
ROUNDING = 1e-12  # a squared length below this, relative to the largest, is rounding error
ROOM = 96  # new classes for which coefficients have room: a lesson adds one, and a direction


@dataclass(frozen=True, eq=False)
class Weights:
    """The rows A m_j of one block: base + coefficients^T directions. They never change."""

    base: NDArray[Any]
    directions: Matrix
    coefficients: Matrix
    """(directions, classes). The base lacks the last classes, if they are new."""

    def times(self, points: Matrix) -> Matrix:
        """Return x A m_j for points x, (n, classes)."""
        found: Matrix = (points @ self.directions.T) @ self.coefficients
        near = points.astype(self.base.dtype, copy=False)
        # One dot product per class reads memory faster than a product with a matrix.
        many = (
            near @ self.base.T if len(near) != 1 else (self.base[:, None] @ near.T)[None, :, 0, 0]
        )
        found[:, : len(self.base)] += many
        return found

    def rows(self) -> Matrix:
        """Return the rows, (classes, width)."""
        rows: Matrix = self.coefficients.T @ self.directions
        rows[: len(self.base)] += self.base
        return rows


class FollowedWeights:
    """The rows A m_j of one block, while they follow lessons.

    Args:
        rows: The rows.
        number: The number of the block: blocks get a new base in different lessons.
        may_narrow: Whether float32 is enough for many classes.
    """

    def __init__(self, rows: Matrix, number: int, may_narrow: bool) -> None:
        self._number = number
        self._may_narrow = may_narrow
        self._begin(rows)

    def _begin(self, rows: Matrix) -> None:
        classes, width = rows.shape
        self._base = narrow(rows) if self._may_narrow and classes > MOST_FLOAT64 else rows
        self._room = classes + ROOM
        self._directions, self._coefficients = Rows(width), Rows(self._room)
        stagger = 4 * self._number if classes > 256 else 0
        self._most = min(min(max(classes // 8, 1), MOST_DIRECTIONS) + stagger, ROOM - 1)

    def view(self, classes: int) -> Weights:
        """Return the rows as they are now."""
        return Weights(self._base, self._directions.view, self._coefficients.view[:, :classes])

    def turn(self, direction: Vector, coefficients: Vector) -> None:
        """Add coefficient * direction to each row."""
        if len(self._directions) >= self._most:
            self._begin(self.view(len(coefficients)).rows())
        padded = np.zeros(self._room)
        padded[: len(coefficients)] = coefficients
        self._directions.append(direction)
        self._coefficients.append(padded)


def narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values in float32, if they are small enough."""
    small = np.abs(values).max(initial=0) < LARGEST_FLOAT32
    return values.astype(np.float32 if small else np.float64)


@dataclass(frozen=True, eq=False)
class MeanProducts:
    """Inner products of the class means m_j and their mean c, in all blocks together."""

    squares: Vector
    """m_j A m_j."""
    centre: Vector
    """m_j A c."""

    def lengths(self, share: float) -> Vector:
        """Return the distance of each class mean from share c."""
        squared = self.squares - 2 * share * self.centre + share**2 * self.centre.mean()
        return np.sqrt(np.where(squared > ROUNDING * self.squares.max(), squared, 0))

    def scores(self, towards: Matrix, share: float, lengths: Vector) -> Scores:
        """Return (z - f) A (m_j - f) / |m_j - f| with f = share c, from z A m_j."""
        offset = share * (share * self.centre.mean() - towards.mean(axis=1))
        scores: Scores = towards + (offset[:, None] - share * self.centre)
        scores *= inverted(lengths)
        return scores


def inverted(lengths: Vector) -> Vector:
    """Return 1 / length. A class mean that lies on the origin has no direction: its score is 0."""
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
