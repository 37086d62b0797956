"""Symmetric matrices of which only the lower triangle is stored, in a Fortran-ordered array.

Large matrices are processed in tiles, because a full copy would double the memory.
"""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.state import Matrix, Vector

TILE = 64


def packed(array: Matrix) -> Vector:
    """Return the lower triangle, column after column.

    >>> packed(np.array([[1.0, 9.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    return np.concatenate([array[column:, column] for column in range(len(array))])


def packed_size(width: int) -> int:
    """Return the length of a packed triangle."""
    return width * (width + 1) // 2


def unpack(triangle: NDArray[Any], array: Matrix) -> None:
    """Fill the lower triangle of an array from a packed triangle."""
    start = 0
    for column in range(len(array)):
        end = start + len(array) - column
        array[column:, column] = triangle[start:end]
        start = end


def mirror(array: Matrix) -> None:
    """Copy the strict lower triangle to the upper triangle, in place."""
    for start in range(0, len(array), TILE):
        end = min(start + TILE, len(array))
        array[start:end, end:] = array[end:, start:end].T
        corner = np.tril(array[start:end, start:end])
        array[start:end, start:end] = corner + np.tril(corner, -1).T


def square(block: Matrix) -> float:
    """Return the squared Frobenius norm of a full matrix."""
    return float(np.einsum("ij,ij->", block, block))


def block_squares(array: Matrix, blocks: int) -> Matrix:
    """Return the squared norm of each of the blocks x blocks equal blocks of the whole matrix."""
    size = len(array) // blocks
    squares = np.zeros((blocks, blocks))
    for a, b in combinations_with_replacement(range(blocks), 2):
        block = array[b * size : (b + 1) * size, a * size : (a + 1) * size]
        squares[a, b] = squares[b, a] = _symmetric_square(block) if a == b else square(block)
    return squares


def _symmetric_square(block: Matrix) -> float:
    """Return the squared norm of the symmetric matrix with this lower triangle."""
    total = 0.0
    for start in range(0, len(block), TILE):
        corner = np.tril(block[start : start + TILE, start : start + TILE])
        below = block[start + TILE :, start : start + TILE]
        total += 2 * (square(corner) + square(below)) - float((np.diagonal(corner) ** 2).sum())
    return total
