"""Array types and vector arithmetic of the renderer.

Nothing here calls BLAS: the last bits of its results differ between processors, and rendered
pictures must be equal byte for byte.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Vector = Sequence[float] | Floats
Triple = tuple[float, float, float]


def unit(vectors: Floats) -> Floats:
    """Scale vectors to length one; a zero vector stays zero.

    >>> unit(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.6, 0.0, 0.8], [0.0, 0.0, 0.0]]
    """
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    scaled: Floats = vectors / np.maximum(length, 1e-12)
    return scaled


def dot(vectors: Floats, fixed: Floats) -> Floats:
    """Return the dot product of each row with one fixed vector.

    >>> dot(np.array([[1.0, 2.0, 3.0]]), np.array([1.0, 0.0, 10.0])).tolist()
    [31.0]
    """
    product: Floats = vectors[:, 0] * fixed[0] + vectors[:, 1] * fixed[1] + vectors[:, 2] * fixed[2]
    return product


def combine(coordinates: Floats, basis: Sequence[Floats] | Floats) -> Floats:
    """Return the vectors that have these coordinates in a basis of three vectors.

    >>> combine(np.array([[1.0, 2.0, 3.0]]), np.eye(3)[[1, 0, 2]]).tolist()
    [[2.0, 1.0, 3.0]]
    """
    x, y, z = (coordinates[:, k : k + 1] * basis[k] for k in range(3))
    vectors: Floats = x + y + z
    return vectors


def triple(values: Floats) -> Triple:
    """Return three numbers of an array as Python floats."""
    x, y, z = (float(value) for value in values)
    return x, y, z
