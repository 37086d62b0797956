"""LeaveOneOut: what a classifier would have said of its own samples, had it not learnt them.

From the statistics alone, without a stored picture and without teaching again. Two questions:
- a sample is left out of its class's mean and of the covariance: how well is it known?
- its whole class is left out: how well does an unknown thing pass for one that is known?

All that enters is inner products measured by A = (share S + ridge)^-1, as everywhere in slda:
between class means m, and between means and a sample's deviation r from its own mean. A sample
left out takes n/(n-1) r r^T from the scatter (Sherman and Morrison: A gains g A r r^T A) and moves
its mean by -r/(n-1). The shrinkage is not estimated again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.streaming import Matrix, Vector

# Samples rehearsed: enough to see one in twenty, few enough to be done after every lesson. Of more
# labels than this, one sample each.
MOST = 128
ROUNDING = 1e-12  # of the largest square: less is no distance


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Cosine scores of samples that were left out."""

    rows: NDArray[np.int64]
    """The class of each sample."""
    alone: NDArray[np.bool_]
    """Whether the sample is its class's only one: then it cannot be left out."""
    scores: Matrix
    """(samples, classes): with the sample left out."""
    absent: Vector
    """The best score with the sample's class left out; none with fewer than three classes."""
    lengths: Vector
    """The distance of each class mean from the mean of the class means."""


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products by A within one part of the vector."""

    share: float
    means: Matrix
    """m_i A m_j"""
    crossed: Matrix
    """r A m_j, a row for each sample"""
    squares: Vector
    """r A r"""


def chosen_samples(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Which samples are rehearsed, (class, sample): as many of each class."""
    each = max(1, MOST // max(len(counts), 1))
    return [
        (row, place)
        for row, count in enumerate(counts)
        for place in np.linspace(0, count - 1, min(count, each)).astype(int).tolist()
    ]


def leave_one_out_scores(
    parts: Sequence[Products], rows: NDArray[np.int64], counts: Vector
) -> LeaveOneOut:
    """The scores of samples (their classes are `rows`) from the products of all parts."""
    classes, samples = len(counts), len(rows)
    alone = counts[rows] < 2
    shift = np.where(alone, 0, 1 / np.maximum(counts[rows] - 1, 1))
    own = np.zeros((samples, classes))
    own[np.arange(samples), rows] = 1
    left_out = _Question(own * shift[:, None], np.full(own.shape, 1 / classes), shift / classes)
    scores = _scores(parts, rows, counts, left_out)
    absent = np.empty(0)
    if classes > 2:
        others = _Question(np.zeros_like(own), (1 - own) / (classes - 1), np.zeros(samples))
        without = _scores(parts, rows, counts, others)
        absent = np.where(own == 1, -np.inf, without).max(axis=1)
    products = np.sum([part.means for part in parts], axis=0)
    return LeaveOneOut(rows, alone, scores, absent, distances(products))


@dataclass(frozen=True, eq=False)
class _Question:
    """Whose means are moved, and from where all is seen: means m - moved r, centre c - back r."""

    moved: Matrix
    seen_from: Matrix
    """The weight of each mean in the centre."""
    back: Vector


def _scores(
    parts: Sequence[Products], rows: NDArray[np.int64], counts: Vector, ask: _Question
) -> Matrix:
    """(z - c) . (m - c) / |m - c| with each sample left out of the scatter."""
    zm, mm, cm = (np.zeros(ask.moved.shape) for _ in range(3))
    zc, cc = (np.zeros(len(rows)) for _ in range(2))
    weight = np.where(counts[rows] > 1, counts[rows] / np.maximum(counts[rows] - 1, 1), 0)
    for part in parts:
        gram, cross, square = part.means, part.crossed, part.squares
        sample = gram[rows] + cross  # z . m
        sample_row = cross[np.arange(len(rows)), rows] + square  # z . r
        centre = ask.seen_from @ gram
        centre_cross = (ask.seen_from * cross).sum(axis=1)
        centre_row = centre_cross - ask.back * square  # c . r
        mean_row = cross - ask.moved * square[:, None]  # m . r
        gain = weight * part.share
        gain = gain / np.maximum(1 - gain * square, 1e-9)
        zm += sample - ask.moved * sample_row[:, None] + (gain * sample_row)[:, None] * mean_row
        mm += np.diagonal(gram) - 2 * ask.moved * cross + ask.moved**2 * square[:, None]
        mm += gain[:, None] * mean_row**2
        cm += centre - ask.back[:, None] * cross - ask.moved * centre_row[:, None]
        cm += (gain * centre_row)[:, None] * mean_row
        zc += (ask.seen_from * sample).sum(axis=1) - ask.back * sample_row
        zc += gain * sample_row * centre_row
        cc += (ask.seen_from * centre).sum(axis=1) - 2 * ask.back * centre_cross
        cc += ask.back**2 * square + gain * centre_row**2
    lengths = _rooted(mm - 2 * cm + cc[:, None], float(mm.max(initial=0.0)))
    found: Matrix = np.divide(
        zm - cm - zc[:, None] + cc[:, None], lengths, out=np.zeros_like(zm), where=lengths > 0
    )
    return found


def distances(products: Matrix) -> Vector:
    """How far each class mean lies from their centre, from the products of all; rounding is 0."""
    towards_centre = products.mean(axis=0)
    squared = np.diagonal(products) - 2 * towards_centre + towards_centre.mean()
    scale = float(np.diagonal(products).max(initial=0.0))
    return _rooted(squared, scale)


def _rooted(squared: Matrix, scale: float) -> Matrix:
    return np.sqrt(np.where(squared > ROUNDING * scale, squared, 0))
