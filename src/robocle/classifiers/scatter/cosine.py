"""Cosine scores: the direction of each class mean relative to the mean of all class means.

They are computed from the inner products P_ij = m_i A m_j of the class means under A = C^-1.
"""

import numpy as np

from robocle.classifiers.state import Matrix, Vector

ROUNDING = 1e-12  # a squared length below this, relative to the largest, is rounding error


def cosine_discriminant(weights: Matrix, products: Matrix) -> tuple[Matrix, Vector]:
    """Return W and b with W z + b = (z - c) A (m_j - c) / |m_j - c|.

    Here c is the mean of the class means. The factor 1 / |z - c| is the same for all classes and is
    omitted.

    Args:
        weights: The rows m_j A.
        products: The inner products m_i A m_j.
    """
    lengths = distances_from_centre(products)
    # A class mean that lies on the centre has no direction: its score is 0.
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    towards_centre = products.mean(axis=0)
    bias = towards_centre.mean() - towards_centre
    return (weights - weights.mean(axis=0)) * inverse[:, None], bias * inverse


def distances_from_centre(products: Matrix) -> Vector:
    """Return the distance of each class mean from the mean of the class means."""
    towards_centre = products.mean(axis=0)
    squared = np.diagonal(products) - 2 * towards_centre + towards_centre.mean()
    return rooted(squared, float(np.diagonal(products).max(initial=0.0)))


def rooted(squared: Matrix, scale: float) -> Matrix:
    """Return the square roots. A square that is only rounding error counts as 0.

    Args:
        squared: The squares.
        scale: The size of the terms that the squares were computed from.
    """
    return np.sqrt(np.where(squared > ROUNDING * scale, squared, 0))
