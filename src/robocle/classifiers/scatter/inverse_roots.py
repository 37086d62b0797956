"""Roots of the matrices with which whole classes are left out of a scatter."""

import numpy as np

from robocle.classifiers.scatter.solving import inverse_root
from robocle.classifiers.state import Matrix, Vector

# LAPACK inverts larger triangles faster than a loop over the rows of all of them.
MOST_ROWS = 64


def inverse_roots(among: Matrix, share: Vector, least: float) -> Matrix:
    """Return T per class and block with T^T T = share (I - share M)^-1; see `inverse_root`.

    Args:
        among: The symmetric matrices M: (blocks, classes, rows, rows).
        share: The share of each block.
        least: Eigenvalues of I - share M that are smaller count as this.
    """
    if not among.size:
        return among
    rest = np.eye(among.shape[-1]) - share[:, None, None, None] * among
    try:
        factors: Matrix = np.asarray(np.linalg.cholesky(rest), np.float64)
    except np.linalg.LinAlgError:
        factors = np.zeros_like(rest)
    if np.diagonal(factors, axis1=-2, axis2=-1).min() ** 2 <= least:
        return np.array(
            [
                [inverse_root(each, float(weight), least) for each in block]
                for block, weight in zip(among, share, strict=True)
            ]
        )
    roots: Matrix = np.sqrt(share)[:, None, None, None] * _inverse_triangles(factors)
    return roots


def _inverse_triangles(factors: Matrix) -> Matrix:
    """Return the inverses of lower triangular matrices: row by row, but of all matrices at once."""
    rows = factors.shape[-1]
    if rows > MOST_ROWS:
        return np.asarray(np.linalg.inv(factors))
    found = np.zeros_like(factors)
    for row in range(rows):
        scale = 1 / factors[..., row, row, None]
        found[..., row, row] = scale[..., 0]
        if row:
            before = factors[..., row, None, :row] @ found[..., :row, :row]
            found[..., row, :row] = -scale * before[..., 0, :]
    return found
