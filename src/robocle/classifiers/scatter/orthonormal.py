"""Orthonormal rows: the directions that new samples add to a basis, and the span of given rows."""

import numpy as np

from robocle.classifiers.state import Matrix, Vector

# A sample this close to the span, relative to its length, adds no direction: the difference is
# below the precision of float32 features.
TOLERANCE = 1e-8
# Normalising a residual shorter than this, relative to its sample, amplifies rounding errors, so it
# is orthogonalised against the basis a third time.
SHORT = 1e-3


def directions(rest: Matrix, lengths: Vector, basis: Matrix) -> Matrix:
    """Return orthonormal rows that extend a basis to the span of new samples.

    Args:
        rest: The samples minus their projections on the basis.
        lengths: The lengths of the samples.
        basis: Orthonormal rows.
    """
    relative = rest / np.where(lengths > 0, lengths, 1)[:, None]
    if len(rest) == 1:
        found = relative if np.linalg.norm(relative) > TOLERANCE else relative[:0]
    else:
        found = _leading_directions(relative)
    if len(found) and np.linalg.norm(relative, axis=1).min() < SHORT:
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
        found = found - (found @ basis.T) @ basis
    normalised: Matrix = found / np.linalg.norm(found, axis=1, keepdims=True)
    return normalised


def span(rows: Matrix) -> Matrix:
    """Return orthonormal rows that span the given rows, each up to the tolerance."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = float(lengths.max(initial=0))
    if not rows.size:
        return rows[:0]
    return _leading_directions(rows / np.maximum(lengths, TOLERANCE * longest or 1))


def span_of_sums(means: Matrix, scatter: Matrix) -> Matrix:
    """Return orthonormal rows that span the means and the scatter, and depend on nothing else.

    The eigenvectors of the scatter come first, in order of decreasing eigenvalue. They are followed
    by the directions of the means outside their span.
    """
    values, vectors = np.linalg.eigh(scatter)
    rounding = np.finfo(np.float64).eps * len(scatter) * values.max(initial=0.0)
    found = np.ascontiguousarray(vectors[:, values > rounding][:, ::-1].T)
    rest = means
    for _ in range(2):
        rest = rest - (rest @ found.T) @ found
    if not rest.size:
        return found
    return np.vstack([found, directions(rest, np.linalg.norm(means, axis=1), found)])


def _leading_directions(relative: Matrix) -> Matrix:
    """Return orthonormal rows that span the given rows, up to the tolerance."""
    from scipy.linalg import qr  # imported here: it is as slow as the rest of robocle

    # With pivoting, the diagonal decreases, so the directions above the tolerance come first.
    orthogonal, triangle, _ = qr(relative.T, mode="economic", pivoting=True, check_finite=False)
    found: Matrix = orthogonal.T[: int((np.abs(np.diag(triangle)) > TOLERANCE).sum())]
    return found
