"""Inner products of left-out samples, from those of means, residuals and centre before the change.

For each sample z = m + r of a class with mean m, the class means, the origin c and the matrix A
change when the sample, or its class, is left out. Scores are wanted for some columns: all means
m_j, with the world's mean last if there is one, or only the most similar classes of each sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts, rooted
from robocle.classifiers.scatter.solving import inverse_root
from robocle.classifiers.state import Matrix, Vector

# The part of a direction that others share is at least this: less is rounding error.
LEAST_SHARED = 1e-9

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassGroup:
    """Inner products under A of the rows R of classes that have equally many rows and samples."""

    samples: Numbers
    """(classes, samples): which of the samples belong to each class."""
    among: Matrix
    """R A R^T: (classes, rows, rows)."""
    means: Matrix
    """R A m_j: (classes, rows, columns)."""
    own: Matrix
    """R A m: (classes, rows), with the mean m of the class itself."""
    centre: Matrix
    """R A c: (classes, rows)."""
    residuals: Matrix
    """r A R^T: (classes, samples, rows)."""


@dataclass(frozen=True, eq=False)
class SampleProducts:
    """Inner products under A within one block of the embedding, for some samples.

    Columns (samples, 1) belong to a sample; (samples, columns) and (1, columns) to pairs with m_j.
    """

    own_place: Numbers
    """The column of each sample's own class."""
    own_share: Matrix
    """The share of the sample's class in the origin: (samples, 1)."""
    mm: Matrix
    """m_j A m_j."""
    cm: Matrix
    """c A m_j."""
    cc: float
    """c A c."""
    own: Matrix
    """m A m_j."""
    own_square: Matrix
    """m A m: (samples, 1)."""
    own_centre: Matrix
    """m A c: (samples, 1)."""
    crossed: Matrix
    """r A m_j."""
    crossed_centre: Matrix
    """r A c: (samples, 1)."""
    squares: Matrix
    """r A r: (samples, 1)."""
    groups: Sequence[ClassGroup]
    """What the classes of these samples contribute to the scatter."""
    share: float
    """The weight of the scatter S in A^-1."""
    scale: float = 1.0
    """What all products must be multiplied by."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Inner products for each sample after the change. Those without m_j are columns."""

    zm: Matrix
    """z A m_j: (samples, columns)."""
    mm: Matrix
    """m_j A m_j: (samples, columns)."""
    cm: Matrix
    """c A m_j: (samples, columns)."""
    zc: Matrix
    """z A c: (samples, 1)."""
    cc: Matrix
    """c A c: (samples, 1)."""


@dataclass(frozen=True, eq=False)
class CosineParts:
    """What a block of the embedding adds to cosine scores, per sample and column."""

    numerators: Matrix
    """(z - c) A (m_j - c)."""
    squares: Matrix
    """|m_j - c|^2."""
    largest: float
    """The largest m_j A m_j: squares that are tiny beside it are rounding errors."""

    @classmethod
    def of(cls, block: LeftOut, scale: float) -> "CosineParts":
        """Return the parts of one block, with all products multiplied by a scale."""
        return cls(
            scale * (block.zm - block.cm + (block.cc - block.zc)),
            scale * (block.mm - 2 * block.cm + block.cc),
            scale * float(block.mm.max(initial=0.0)),
        )


def cosine_scores(blocks: Sequence[CosineParts], weights: Sequence[float]) -> Matrix:
    """Return (z - c) A (m_j - c) / |m_j - c| per sample and column, for weighted blocks."""
    pairs = list(zip(blocks, weights, strict=True))
    numerators: Matrix = sum(weight * block.numerators for block, weight in pairs)  # type: ignore[assignment]
    squares: Matrix = sum(weight * block.squares for block, weight in pairs)  # type: ignore[assignment]
    lengths = rooted(squares, sum(weight * block.largest for block, weight in pairs))
    return np.divide(numerators, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def relative_to_means(
    block: SampleProducts, means: MeanProducts, world_share: float
) -> SampleProducts:
    """Return the products for another origin: the mean of the class means alone, without a world.

    They do to leave samples out, not to leave classes out.

    Args:
        block: The products for all columns; that of the world's mean is the last one.
        means: The products of the class means, with the other origin.
        world_share: The share of the world's mean in the origin of the block.
    """
    rows = block.own_place
    towards_world = world_share * block.crossed[:, -1:]
    return replace(
        block,
        own_share=means.shares[rows][:, None],
        cm=means.towards_centre[None],
        cc=means.centre_square,
        own_centre=means.towards_centre[rows][:, None],
        crossed_centre=(block.crossed_centre - towards_world) / (1 - world_share),
        groups=(),
    )


def without_sample(block: SampleProducts, taught: Vector) -> LeftOut:
    """Leave each sample out of its class mean, of the origin and of the scatter.

    Args:
        block: The products before the change.
        taught: The number of samples taught of each sample's class.
    """
    own = np.arange(len(taught)), block.own_place
    shift = np.where(taught < 2, 0, 1 / np.maximum(taught - 1, 1))
    back, rr = shift[:, None] * block.own_share, block.squares
    zm, mr = block.own + block.crossed, block.crossed.copy()
    mm, cm = (_per_sample(each, len(zm)) for each in (block.mm, block.cm))
    cr, zc = block.crossed_centre, block.own_centre + block.crossed_centre
    zr = mr[own][:, None] + rr
    # The mean of the sample's own class moves.
    zm[own] -= shift * zr[:, 0]
    mm[own] += shift * (shift * rr[:, 0] - 2 * mr[own])
    cm[own] -= shift * cr[:, 0]
    mr[own] -= shift * rr[:, 0]
    # The origin moves with it.
    cm -= back * mr
    zc = zc - back * zr
    cc = block.cc + back * (back * rr - 2 * cr)
    cr = cr - back * rr
    # The sample is removed from the scatter.
    gain = _gain(block, taught)[:, None]
    zm += (gain * zr) * mr
    cm += (gain * cr) * mr
    mm += gain * mr**2
    return LeftOut(zm, mm, cm, zc + gain * zr * cr, cc + gain * cr**2)


def _gain(block: SampleProducts, taught: Vector) -> Vector:
    """Return g, with which removing a sample from the scatter adds g A r r^T A to A."""
    removed = np.where(taught > 1, taught / np.maximum(taught - 1, 1), 0) * block.share
    gain: Vector = removed / np.maximum(1 - removed * block.squares[:, 0], LEAST_SHARED)
    return gain


def without_class(block: SampleProducts) -> LeftOut:
    """Leave the whole class of each sample out of the origin and of the scatter.

    Products with the mean of the class itself are meaningless.

    Args:
        block: The products before the change.
    """
    # The origin without the class is (c - s m) / rest, with the share s of the class.
    s, rest = block.own_share, 1 - block.own_share
    zm = block.own + block.crossed
    mm = _per_sample(block.mm, len(zm))
    cm = (block.cm - s * block.own) / rest
    zc = block.own_centre + block.crossed_centre
    zc = (zc - s * (block.own_square + _towards_own(block))) / rest
    cc = (block.cc - 2 * s * block.own_centre + s**2 * block.own_square) / rest**2
    for group in block.groups:
        # x A y becomes x A y + e_x . e_y, where e_x = root R A x.
        root = _roots(group.among, block.share)
        e_m = root @ group.means
        e_own = root @ group.own[:, :, None]
        e_z = (group.residuals @ root.transpose(0, 2, 1)) + e_own.transpose(0, 2, 1)
        share = s[group.samples[:, 0]][:, :, None]
        e_c = (root @ group.centre[:, :, None] - share * e_own) / (1 - share)
        zm[group.samples] += e_z @ e_m
        mm[group.samples] += np.einsum("nkj,nkj->nj", e_m, e_m)[:, None]
        cm[group.samples] += e_c.transpose(0, 2, 1) @ e_m
        zc[group.samples] += e_z @ e_c
        cc[group.samples] += np.einsum("nkj,nkj->nj", e_c, e_c)[:, None]
    return LeftOut(zm, mm, cm, zc, cc)


def _towards_own(block: SampleProducts) -> Matrix:
    """Return r A m, with the mean m of the sample's own class: (samples, 1)."""
    return block.crossed[np.arange(len(block.crossed)), block.own_place][:, None]


def _per_sample(columns: Matrix, samples: int) -> Matrix:
    """Return a copy with one row per sample."""
    return np.array(np.broadcast_to(columns, (samples, columns.shape[1])))


def _roots(among: Matrix, share: float) -> Matrix:
    """Return T per class with T^T T = share (I - share R A R^T)^-1; see `inverse_root`."""
    rest = np.eye(among.shape[1]) - share * among
    try:
        factors = np.linalg.cholesky(rest)
    except np.linalg.LinAlgError:
        factors = np.zeros_like(rest)
    if among.size and (np.diagonal(factors, axis1=1, axis2=2).min() ** 2) <= LEAST_SHARED:
        return np.array([inverse_root(each, share, LEAST_SHARED) for each in among])
    roots: Matrix = np.sqrt(share) * np.linalg.inv(factors)
    return roots
