"""Cosine scores: the direction of each class mean relative to the origin.

They are computed from inner products of the class means under A = C^-1. Of these, only those of
each mean with itself and with the origin are needed, so the cost is proportional to the number of
classes. The world's mean, if there is one, is a row after the class means: see `scatter.origin`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.classifiers.state import Matrix, Vector

ROUNDING = 1e-12  # a squared length below this, relative to the largest, is rounding error


@dataclass(frozen=True, eq=False)
class MeanProducts:
    """Inner products of the class means m_j and the origin c under A.

    They are those of whole embeddings, or of all blocks: then there is one row per block.
    """

    squares: Vector
    """m_j A m_j."""
    towards_centre: Vector
    """c A m_j."""
    shares: Vector
    """The share of each m_j in c."""

    @classmethod
    def of(cls, means: Matrix, weights: Matrix, shares: Vector) -> "MeanProducts":
        """Return the products, where m_i A m_j is the dot product of means_i and weights_j."""
        squares = np.einsum("ij,ij->i", means, weights)
        return cls(squares, weights @ (shares @ means), shares)

    @classmethod
    def stacked(cls, blocks: Sequence["MeanProducts"]) -> "MeanProducts":
        """Return the products of several blocks of embeddings: one row per block."""
        return cls(
            np.array([block.squares for block in blocks]),
            np.array([block.towards_centre for block in blocks]),
            blocks[0].shares,
        )

    def weighted(self, weights: Sequence[float] | Vector) -> "MeanProducts":
        """Return the products of whole embeddings from those of their blocks.

        Args:
            weights: The weight of each block.
        """
        each = np.asarray(weights)
        return MeanProducts(each @ self.squares, each @ self.towards_centre, self.shares)

    def without_last(self, beside: Vector) -> "MeanProducts":
        """Return the products with another origin, the mean of all rows but the last one.

        Args:
            beside: m A m_j, with the last row m.
        """
        rows = len(self.shares) - 1
        total = (self.towards_centre - self.shares[-1] * beside) / self.shares[0]
        shares = np.append(np.full(rows, 1 / rows), 0.0)
        return MeanProducts(self.squares, total / rows, shares)

    @property
    def centre_square(self) -> Vector:
        """The product c A c of the origin with itself: a number, or one per block."""
        return np.asarray(self.towards_centre @ self.shares)

    def distances_from_centre(self) -> Vector:
        """Return the distance of each class mean from the origin."""
        squared = self.squares - 2 * self.towards_centre + self.centre_square
        return rooted(squared, float(self.squares.max(initial=0.0)))

    def plus(self, row: int, square: float) -> "MeanProducts":
        """Return the products if m A m of one row is larger by this."""
        squares, towards = self.squares.copy(), self.towards_centre.copy()
        squares[row] += square
        towards[row] += self.shares[row] * square
        return MeanProducts(squares, towards, self.shares)


def cosine_discriminant(weights: Matrix, products: MeanProducts) -> tuple[Matrix, Vector]:
    """Return W and b with W z + b = (z - c) A (m_j - c) / |m_j - c|.

    Here c is the origin. The factor 1 / |z - c| is the same for all classes and is omitted.

    Args:
        weights: The rows m_j A.
        products: The inner products of these rows.
    """
    inverse = inverse_lengths(products.distances_from_centre())
    bias = products.centre_square - products.towards_centre
    towards = weights - products.shares @ weights
    return towards * inverse[:, None], bias * inverse


def inverse_lengths(lengths: Vector) -> Vector:
    """Return 1 / length. A class mean that lies on the centre has no direction: its score is 0."""
    inverse: Vector = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return inverse


def rooted(squared: Matrix, scale: float) -> Matrix:
    """Return the square roots. A square that is only rounding error counts as 0.

    Args:
        squared: The squares.
        scale: The size of the terms that the squares were computed from.
    """
    return np.sqrt(np.where(squared > ROUNDING * scale, squared, 0))
