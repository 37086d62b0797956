"""The ridge solution within the span of the samples.

With coordinates c = Q z in an orthonormal basis Q (rank x width), class means M = M_r Q and the
scatter S = Q^T S_r Q, it is

    W = M (s Q^T S_r Q + e I)^-1 = M_r (s S_r + e I)^-1 Q

with no term of size 1/e to cancel. With one ridge per block of the embedding, E = diag(e), the
push-through identity yields the same at the same size:

    W = M_r (s G S_r + I)^-1 Q E^-1        with G = Q E^-1 Q^T
"""

import numpy as np

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.solving import solve_general, solve_positive
from robocle.classifiers.scatter.span_arrays import SpanArrays
from robocle.classifiers.state import Matrix, Vector


def solved_in_span(
    span: SpanArrays, share: float, ridge: float, origin: Origin
) -> tuple[Matrix, MeanProducts]:
    """Return rows w = (share S + ridge I)^-1 m per class mean m, and products m . w.

    Args:
        span: The class means and the scatter.
        share: The weight of the scatter.
        ridge: The weight of the identity.
        origin: The origin of cosine scores. Its fixed row, if it has one, comes after the means.
    """
    shares = origin.shares(len(span.means))
    means, rest = with_fixed(span, origin)
    small = solve_positive(span.regularised(share, ridge), means)
    weights, products = small @ span.basis, MeanProducts.of(means, small, shares)
    if not len(rest):
        return weights, products
    weights[-1] += rest[0] / ridge
    return weights, products.plus(-1, float(rest[0] @ rest[0]) / float(ridge))


def solved_by_blocks(
    span: SpanArrays, grams: Matrix, share: float, ridges: Vector, origin: Origin
) -> tuple[Matrix, MeanProducts]:
    """Return rows w = (share S + diag(ridges))^-1 m per class mean m, and products m . w.

    Args:
        span: The class means and the scatter.
        grams: The Gram matrix of each block of the basis.
        share: The weight of the scatter.
        ridges: One number per block.
        origin: The origin of cosine scores, without a fixed row.
    """
    gram = np.tensordot(1 / ridges, grams, 1)
    matrix = share * gram @ span.scatter + np.eye(span.rank)
    duals = solve_general(matrix.T, span.means)
    weights = duals @ span.basis / np.repeat(ridges, span.basis.shape[1] // len(ridges))
    return weights, MeanProducts.of(span.means @ gram, duals, origin.shares(len(span.means)))


def with_fixed(span: SpanArrays, origin: Origin) -> tuple[Matrix, Matrix]:
    """Return the coordinates of all means, and the part of the fixed row outside the span."""
    if not len(origin.fixed):
        return span.means, origin.fixed
    inside = origin.fixed @ span.basis.T
    return np.vstack([span.means, inside]), origin.fixed - inside @ span.basis
