"""Inner products of left-out samples, from those of means, residuals and centre before the change.

For each sample z = m + r of a class with mean m, the class means, the origin c and the matrix A
change when the sample, or its class, is left out. The world's mean, if there is one, is the last of
the rows m_j: it counts in the origin, and nobody leaves it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts, rooted
from robocle.classifiers.scatter.solving import inverse_root
from robocle.classifiers.state import Matrix, Vector

# The part of a direction that others share is at least this: less is rounding error.
LEAST_SHARED = 1e-9

Rows = NDArray[np.int64]
"""The class of each sample, ascending."""


@dataclass(frozen=True, eq=False)
class ClassProducts:
    """Inner products under A of the rows R that one class contributes to the scatter."""

    among: Matrix
    """R A R^T: (rows, rows)."""
    means: Matrix
    """m_j A R^T: (classes, rows)."""
    residuals: Matrix
    """r A R^T: (samples of the class, rows)."""


@dataclass(frozen=True, eq=False)
class ChunkProducts:
    """Inner products under A within one block of the embedding, for some samples."""

    means: MeanProducts
    """The products between the class means m_j, and between them and the origin."""
    own: Matrix
    """m A m_j: (samples, classes), where m is the mean of the sample's class."""
    crossed: Matrix
    """r A m_j: (samples, classes)."""
    squares: Vector
    """r A r: (samples,)."""
    contributions: dict[int, ClassProducts]
    """What each class of these samples contributes to the scatter."""
    share: float
    """The weight of the scatter S in A^-1."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Inner products for each sample after the change. Those without m_j are columns."""

    zm: Matrix
    """z A m_j: (samples, classes)."""
    mm: Matrix
    """m_j A m_j: (samples, classes)."""
    cm: Matrix
    """c A m_j: (samples, classes)."""
    zc: Matrix
    """z A c: (samples, 1)."""
    cc: Matrix
    """c A c: (samples, 1)."""


@dataclass(frozen=True, eq=False)
class CosineParts:
    """What a block of the embedding adds to cosine scores, per sample and class."""

    numerators: Matrix
    """(z - c) A (m_j - c)."""
    squares: Matrix
    """|m_j - c|^2."""
    largest: float
    """The largest m_j A m_j: squares that are tiny beside it are rounding errors."""

    @classmethod
    def of(cls, block: LeftOut) -> "CosineParts":
        """Return the parts of one block."""
        return cls(
            block.zm - block.cm - block.zc + block.cc,
            block.mm - 2 * block.cm + block.cc,
            float(block.mm.max(initial=0.0)),
        )


def cosine_scores(blocks: Sequence[CosineParts], weights: Sequence[float]) -> Matrix:
    """Return (z - c) A (m_j - c) / |m_j - c| per sample and class, for weighted blocks."""
    pairs = list(zip(blocks, weights, strict=True))
    numerators: Matrix = sum(weight * block.numerators for block, weight in pairs)  # type: ignore[assignment]
    squares: Matrix = sum(weight * block.squares for block, weight in pairs)  # type: ignore[assignment]
    lengths = rooted(squares, sum(weight * block.largest for block, weight in pairs))
    return np.divide(numerators, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def without_sample(block: ChunkProducts, rows: Rows, taught: Vector) -> LeftOut:
    """Leave each sample out of its class mean, of the origin and of the scatter.

    Args:
        block: The products before the change.
        rows: The class of each sample.
        taught: The number of samples taught of each sample's class.
    """
    own = np.arange(len(rows)), rows
    shift = np.where(taught < 2, 0, 1 / np.maximum(taught - 1, 1))
    towards, shares = block.means.towards_centre, block.means.shares
    back, rr = (shift * shares[rows])[:, None], block.squares[:, None]
    zm, mr = block.own + block.crossed, block.crossed.copy()
    mm, cm = (np.repeat(each[None], len(rows), axis=0) for each in (block.means.squares, towards))
    cr, zc = (mr @ shares)[:, None], (zm @ shares)[:, None]
    zr = mr[own][:, None] + rr
    # The mean of the sample's own class moves.
    zm[own] -= shift * zr[:, 0]
    mm[own] += shift * (shift * block.squares - 2 * mr[own])
    cm[own] -= shift * cr[:, 0]
    mr[own] -= shift * block.squares
    # The origin moves with it.
    cm -= back * mr
    zc = zc - back * zr
    cc = block.means.centre_square + back * (back * rr - 2 * cr)
    cr = cr - back * rr
    # The sample is removed from the scatter.
    gain = _gain(block, taught)[:, None]
    zm += gain * zr * mr
    cm += gain * cr * mr
    mm += gain * mr**2
    return LeftOut(zm, mm, cm, zc + gain * zr * cr, cc + gain * cr**2)


def _gain(block: ChunkProducts, taught: Vector) -> Vector:
    """Return g, with which removing a sample from the scatter adds g A r r^T A to A."""
    removed = np.where(taught > 1, taught / np.maximum(taught - 1, 1), 0) * block.share
    gain: Vector = removed / np.maximum(1 - removed * block.squares, LEAST_SHARED)
    return gain


def without_class(block: ChunkProducts, rows: Rows) -> LeftOut:
    """Leave the whole class of each sample out of the origin and of the scatter.

    Products with the mean of the class itself are meaningless.

    Args:
        block: The products before the change.
        rows: The class of each sample.
    """
    own, shares = (np.arange(len(rows)), rows), block.means.shares
    # The origin without the class is (c - s m) / rest, with the share s of the class.
    towards, s = block.means.towards_centre, shares[rows]
    rest = 1 - s
    zm = block.own + block.crossed
    mm = np.repeat(block.means.squares[None], len(rows), axis=0)
    cm = (towards - s[:, None] * block.own) / rest[:, None]
    zc = (zm @ shares - s * zm[own]) / rest
    cc = (block.means.centre_square - 2 * s * towards[rows] + s**2 * block.own[own]) / rest**2
    for number, removed in block.contributions.items():
        chosen = slice(*np.searchsorted(rows, [number, number + 1]))
        # x A y becomes x A y + e_x . e_y, where e_x = root R A x.
        root = inverse_root(removed.among, block.share, LEAST_SHARED)
        e_m = removed.means @ root.T
        e_z = e_m[number] + removed.residuals @ root.T
        e_c = (shares @ e_m - shares[number] * e_m[number]) / (1 - shares[number])
        zm[chosen] += e_z @ e_m.T
        mm[chosen] += (e_m**2).sum(axis=1)
        cm[chosen] += e_m @ e_c
        zc[chosen] += e_z @ e_c
        cc[chosen] += e_c @ e_c
    return LeftOut(zm, mm, cm, zc[:, None], cc[:, None])
