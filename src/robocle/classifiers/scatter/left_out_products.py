"""Inner products of left-out samples, from those before the change: see `sample_products`.

For each sample z = m + r of a class with mean m, the class means m_j, the origin c and the matrix A
change when the sample, or its class, is left out.
"""

from dataclasses import dataclass

import numpy as np

from robocle.classifiers.scatter.cosine import rooted
from robocle.classifiers.scatter.inverse_roots import inverse_roots
from robocle.classifiers.scatter.sample_products import SampleProducts
from robocle.classifiers.state import Matrix, Vector

# The part of a direction that others share is at least this: less is rounding error.
LEAST_SHARED = 1e-9


@dataclass(frozen=True, eq=False)
class CosineParts:
    """What each block of the embedding adds to cosine scores, per sample and column."""

    numerators: Matrix
    """(z - c) A (m_j - c): (blocks, samples, columns)."""
    squares: Matrix
    """|m_j - c|^2: (blocks, samples, columns)."""
    largest: Vector
    """The largest m_j A m_j per block: squares that are tiny beside it are rounding errors."""

    def summed(self, first: int) -> "CosineParts":
        """Return the sums of the first blocks and of the others, as two blocks."""
        starts = [0, first]
        return CosineParts(*(np.add.reduceat(each, starts) for each in vars(self).values()))

    def scores(self, weights: Matrix) -> Matrix:
        """Return (z - c) A (m_j - c) / |m_j - c| per sample and column, for weighted blocks.

        Args:
            weights: The weight of each block, or several rows of such weights: then there are as
                many scores, (rows, samples, columns).
        """
        numerators, squares = (
            np.tensordot(weights, each, axes=1) for each in (self.numerators, self.squares)
        )
        lengths = rooted(squares, (weights @ self.largest)[..., None, None])
        return np.divide(numerators, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _cosine_parts(
    block: SampleProducts, zm: Matrix, mm: Matrix, cm: Matrix, zc: Matrix, cc: Matrix
) -> CosineParts:
    """Return the parts from inner products after the change.

    Args:
        block: The products before the change.
        zm: z A m_j; (blocks, samples, columns), as all with m_j.
        mm: m_j A m_j.
        cm: c A m_j.
        zc: z A c; (blocks, samples, 1), as all without m_j.
        cc: c A c.
    """
    scale = block.scale[:, None, None]
    largest = block.scale * mm.max(axis=(1, 2), initial=0.0)
    cm = cm - cc
    numerators = scale * (zm - cm - zc)
    squares = scale * (mm - 2 * cm - cc)
    return CosineParts(numerators, squares, largest)


def without_sample(block: SampleProducts, taught: Vector) -> list[CosineParts]:
    """Leave each sample out of its class mean, of the origin and of the scatter.

    Args:
        block: The products before the change.
        taught: The number of samples taught of each sample's class.

    Returns:
        The parts of cosine scores relative to each of the origins.
    """
    own = np.s_[:, np.arange(len(taught)), block.own_place]
    shift = np.where(taught < 2, 0, 1 / np.maximum(taught - 1, 1))[:, None]
    rr, mr = block.squares, block.crossed.copy()
    towards_own = mr[own][..., None]
    zm, zr = block.own + mr, towards_own + rr
    mm = _per_sample(block.mm, zm)
    # The mean of the sample's own class moves.
    zm[own] -= (shift * zr)[..., 0]
    mm[own] += (shift * (shift * rr - 2 * towards_own))[..., 0]
    mr[own] -= (shift * rr)[..., 0]
    # The sample is removed from the scatter.
    gain = _gain(block, taught)
    zm += (gain * zr) * mr
    mm += gain * mr**2
    parts = []
    for centre in block.centres:
        # The origin moves with the mean.
        back, cr = shift * centre.own_share, centre.crossed
        moved = cr - back * rr
        cm = centre.cm + (gain * moved - back) * mr
        cm[own] -= (shift * cr)[..., 0]
        zc = centre.own + cr - back * zr + gain * zr * moved
        cc = centre.cc + back * (back * rr - 2 * cr) + gain * moved**2
        parts.append(_cosine_parts(block, zm, mm, cm, zc, cc))
    return parts


def _gain(block: SampleProducts, taught: Vector) -> Matrix:
    """Return g, with which removing a sample from the scatter adds g A r r^T A to A."""
    removed = np.where(taught > 1, taught / np.maximum(taught - 1, 1), 0)[:, None]
    removed = block.share[:, None, None] * removed
    gain: Matrix = removed / np.maximum(1 - removed * block.squares, LEAST_SHARED)
    return gain


def without_class(block: SampleProducts) -> CosineParts:
    """Leave the whole class of each sample out of the origin and of the scatter.

    Scores for the class itself are meaningless.

    Args:
        block: The products before the change.
    """
    # The origin without the class is (c - s m) / rest, with the share s of the class.
    centre = block.centres[0]
    s, rest = centre.own_share, 1 - centre.own_share
    towards_own = block.crossed[:, np.arange(len(s)), block.own_place, None]
    zm = block.own + block.crossed
    mm = _per_sample(block.mm, zm)
    cm = (centre.cm - s * block.own) / rest
    zc = (centre.own + centre.crossed - s * (block.own_square + towards_own)) / rest
    cc = (centre.cc - 2 * s * centre.own + s**2 * block.own_square) / rest**2
    for group in block.groups:
        # x A y becomes x A y + e_x . e_y, where e_x = root R A x.
        root = inverse_roots(group.among, block.share, LEAST_SHARED)
        e_m, e_own = root @ group.means, root @ group.own
        e_z = group.residuals @ np.swapaxes(root, -1, -2) + np.swapaxes(e_own, -1, -2)
        share = s[group.samples[:, 0]][..., None]
        e_c = (root @ group.centre - share * e_own) / (1 - share)
        zm[:, group.samples] += e_z @ e_m
        mm[:, group.samples] += np.einsum("bnkj,bnkj->bnj", e_m, e_m)[:, :, None]
        cm[:, group.samples] += np.swapaxes(e_c, -1, -2) @ e_m
        zc[:, group.samples] += e_z @ e_c
        cc[:, group.samples] += np.einsum("bnkj,bnkj->bnj", e_c, e_c)[:, :, None]
    return _cosine_parts(block, zm, mm, cm, zc, cc)


def _per_sample(columns: Matrix, like: Matrix) -> Matrix:
    """Return a copy with one row per sample."""
    return np.array(np.broadcast_to(columns, like.shape))
