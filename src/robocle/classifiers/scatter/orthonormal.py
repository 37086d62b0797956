"""Orthonormal rows: what new samples add to a basis, and the span of what is left of old ones."""

import numpy as np
from scipy.linalg import qr

from robocle.classifiers.streaming import Matrix, Vector

# A sample this close to the span (relative to its length) adds no direction: float32 features
# are not known any better.
TOLERANCE = 1e-8
# What is left of a sample outside the span, when shorter than this, is rounded enough to lean on
# the basis once it is stretched to length 1: it is set upright a third time.
SHORT = 1e-3


def directions(rest: Matrix, lengths: Vector, basis: Matrix) -> Matrix:
    """Orthonormal rows that span what `rest` adds to the basis beyond the tolerance.

    `lengths` are those of the samples that `rest` was left over from.
    """
    relative = rest / np.where(lengths > 0, lengths, 1)[:, None]
    if len(rest) == 1:
        found = relative if np.linalg.norm(relative) > TOLERANCE else relative[:0]
    else:
        # Pivoted, so that all after the first direction under the tolerance is under it too.
        orthogonal, triangle, _ = qr(relative.T, mode="economic", pivoting=True, check_finite=False)
        found = orthogonal.T[: int((np.abs(np.diag(triangle)) > TOLERANCE).sum())]
    if len(found) and np.linalg.norm(relative, axis=1).min() < SHORT:
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
        found = found - (found @ basis.T) @ basis
    upright: Matrix = found / np.linalg.norm(found, axis=1, keepdims=True)
    return upright


def span(rows: Matrix) -> Matrix:
    """Orthonormal rows that span the given ones, each known to the tolerance of its length."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = float(lengths.max(initial=0))
    relative = rows / np.maximum(lengths, TOLERANCE * longest or 1)
    if not rows.size:
        return rows[:0]
    orthogonal, triangle, _ = qr(relative.T, mode="economic", pivoting=True, check_finite=False)
    found: Matrix = orthogonal.T[: int((np.abs(np.diag(triangle)) > TOLERANCE).sum())]
    return found
