"""Symmetric matrices of which only the lower triangle is stored."""

import numpy as np

from robocle.classifiers.state import Matrix, Vector


def packed(array: Matrix) -> Vector:
    """Return the lower triangle, column after column.

    >>> packed(np.array([[1.0, 9.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    return np.concatenate([array[column:, column] for column in range(len(array))])


def packed_size(width: int) -> int:
    """Return the length of a packed triangle."""
    return width * (width + 1) // 2


def square(block: Matrix) -> float:
    """Return the squared Frobenius norm of a full matrix."""
    return float(np.einsum("ij,ij->", block, block))


def symmetric_square(panel: Matrix) -> float:
    """Return the squared norm of some columns of a lower triangle and of what mirrors them.

    >>> symmetric_square(np.array([[1.0, 9.0], [2.0, 3.0], [4.0, 5.0]]))
    100.0
    """
    columns = panel.shape[1]
    corner = np.tril(panel[:columns])
    diagonal = float((np.diagonal(corner) ** 2).sum())
    return 2 * (square(corner) + square(panel[columns:])) - diagonal
