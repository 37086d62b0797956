"""Cosine scores of left-out samples, from inner products of means, residuals and centre.

For each sample z = m + r of a class with mean m, the class mean and the centre c of all class means
move, and so does A. Every inner product follows from those before the change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts, rooted
from robocle.classifiers.state import Matrix, Vector


@dataclass(frozen=True, eq=False)
class ChunkProducts:
    """Inner products under A within one block of the embedding, for some samples."""

    means: MeanProducts
    """The products between the class means m_j, and between them and their centre."""
    own: Matrix
    """m A m_j: (samples, classes), where m is the mean of the sample's class."""
    crossed: Matrix
    """r A m_j: (samples, classes)."""
    squares: Vector
    """r A r: (samples,)."""
    share: float
    """The weight of the scatter S in A^-1."""


@dataclass(frozen=True, eq=False)
class Change:
    """How class means and centre differ when something is left out.

    The mean of the sample's class becomes m - mean_shift r. The centre becomes
    centre_scale c - own_weight m - centre_shift r.
    """

    mean_shift: Vector
    centre_shift: Vector
    centre_scale: float
    own_weight: float

    @classmethod
    def without_sample(cls, taught: Vector, classes: int) -> "Change":
        """Leave each sample out of its class, which was taught so many samples."""
        shift = np.where(taught < 2, 0, 1 / np.maximum(taught - 1, 1))
        return cls(shift, shift / classes, 1.0, 0.0)

    @classmethod
    def without_class(cls, taught: Vector, classes: int) -> "Change":
        """Leave the whole class of each sample out of the centre."""
        none = np.zeros(len(taught))
        return cls(none, none, classes / (classes - 1), 1 / (classes - 1))


def cosine_scores(
    blocks: Sequence[ChunkProducts], rows: NDArray[np.int64], taught: Vector, change: Change
) -> Matrix:
    """Return (z - c) A (m_j - c) / |m_j - c|, with each sample z left out of the scatter.

    Args:
        blocks: The products within each block of the embedding.
        rows: The class of each sample.
        taught: The number of samples taught of each sample's class.
        change: What else is left out.
    """
    numerators, squares, largest = (np.zeros((len(rows), 1)) for _ in range(3))
    for block in blocks:
        zm, mm, cm, zc, cc = _changed(block, rows, taught, change)
        numerators = numerators + (zm - cm - zc + cc)
        squares = squares + (mm - 2 * cm + cc)
        largest = largest + mm
    lengths = rooted(squares, float(largest.max(initial=0.0)))
    return np.divide(numerators, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _changed(
    block: ChunkProducts, rows: NDArray[np.int64], taught: Vector, change: Change
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Return z.m_j, m_j.m_j, c.m_j, z.c and c.c after the change.

    Products that do not depend on j are columns.
    """
    own = np.arange(len(rows)), rows
    shift, back, rr = change.mean_shift, change.centre_shift[:, None], block.squares[:, None]
    zm, mr = block.own + block.crossed, block.crossed.copy()
    zr = mr[own][:, None] + rr
    mm = np.repeat(block.means.squares[None], len(rows), axis=0)
    cm, cr, zc, cc = _moved_centre(block, zm, own, change)
    # The mean of the sample's own class moves.
    zm[own] -= shift * zr[:, 0]
    mm[own] += shift * (shift * block.squares - 2 * mr[own])
    cm[own] -= shift * cr[:, 0]
    mr[own] -= shift * block.squares
    # The centre moves with it.
    cm -= back * mr
    zc = zc - back * zr
    cc = cc + back * (back * rr - 2 * cr)
    cr = cr - back * rr
    # The sample is removed from the scatter.
    gain = _gain(block, taught)[:, None]
    zm += gain * zr * mr
    cm += gain * cr * mr
    mm += gain * mr**2
    return zm, mm, cm, zc + gain * zr * cr, cc + gain * cr**2


def _moved_centre(
    block: ChunkProducts, zm: Matrix, own: tuple[NDArray[np.int64], ...], change: Change
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return c.m_j, c.r, z.c and c.c for the centre without its own class, if that is left out."""
    scale, weight = change.centre_scale, change.own_weight
    towards = block.means.towards_centre
    cm = scale * towards - weight * block.own
    cr = scale * block.crossed.mean(axis=1) - weight * block.crossed[own]
    zc = scale * zm.mean(axis=1) - weight * zm[own]
    cc = scale**2 * towards.mean() - 2 * scale * weight * towards[own[1]]
    cc = cc + weight**2 * block.own[own]
    return cm, cr[:, None], zc[:, None], cc[:, None]


def _gain(block: ChunkProducts, taught: Vector) -> Vector:
    """Return g, with which removing a sample from the scatter adds g A r r^T A to A."""
    removed = np.where(taught > 1, taught / np.maximum(taught - 1, 1), 0) * block.share
    gain: Vector = removed / np.maximum(1 - removed * block.squares, 1e-9)
    return gain
