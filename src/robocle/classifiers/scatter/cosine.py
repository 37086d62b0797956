"""Cosine scores: the direction of each class mean relative to the mean of all class means.

They are computed from inner products of the class means under A = C^-1. Of these, only those of
each mean with itself and with the centre are needed, so the cost is proportional to the number of
classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.classifiers.state import Matrix, Vector

ROUNDING = 1e-12  # a squared length below this, relative to the largest, is rounding error


@dataclass(frozen=True, eq=False)
class MeanProducts:
    """Inner products of the class means m_j and their mean, the centre c, under A."""

    squares: Vector
    """m_j A m_j."""
    towards_centre: Vector
    """c A m_j."""

    @classmethod
    def of(cls, means: Matrix, weights: Matrix) -> "MeanProducts":
        """Return the products, where m_i A m_j is the dot product of means_i and weights_j."""
        squares = np.einsum("ij,ij->i", means, weights)
        return cls(squares, weights @ means.mean(axis=0))

    @classmethod
    def total(cls, blocks: Sequence["MeanProducts"], weights: Sequence[float]) -> "MeanProducts":
        """Return the products of whole embeddings from those of their weighted blocks."""
        pairs = list(zip(blocks, weights, strict=True))
        squares = np.sum([weight * block.squares for block, weight in pairs], axis=0)
        towards = np.sum([weight * block.towards_centre for block, weight in pairs], axis=0)
        return cls(squares, towards)

    def distances_from_centre(self) -> Vector:
        """Return the distance of each class mean from the centre."""
        squared = self.squares - 2 * self.towards_centre + self.towards_centre.mean()
        return rooted(squared, float(self.squares.max(initial=0.0)))


def cosine_discriminant(weights: Matrix, products: MeanProducts) -> tuple[Matrix, Vector]:
    """Return W and b with W z + b = (z - c) A (m_j - c) / |m_j - c|.

    Here c is the mean of the class means. The factor 1 / |z - c| is the same for all classes and is
    omitted.

    Args:
        weights: The rows m_j A.
        products: The inner products of the class means.
    """
    lengths = products.distances_from_centre()
    # A class mean that lies on the centre has no direction: its score is 0.
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    bias = products.towards_centre.mean() - products.towards_centre
    return (weights - weights.mean(axis=0)) * inverse[:, None], bias * inverse


def rooted(squared: Matrix, scale: float) -> Matrix:
    """Return the square roots. A square that is only rounding error counts as 0.

    Args:
        squared: The squares.
        scale: The size of the terms that the squares were computed from.
    """
    return np.sqrt(np.where(squared > ROUNDING * scale, squared, 0))
