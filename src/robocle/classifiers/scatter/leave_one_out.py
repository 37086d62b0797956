"""Leave-one-out scores of a classifier's own samples, computed from its statistics alone.

Nothing is retrained. Each sample is scored twice:
- with the sample left out of its class mean and of the covariance, as a known object;
- with its whole class left out, as an unknown object.

The scores are computed from inner products under A = (share S + ridge I)^-1: between the class
means m, and between the means and a sample's residual r, its deviation from its own class mean.
Leaving out one of n samples of a class subtracts n/(n-1) r r^T from S and moves the class mean by
-r/(n-1). By the Sherman-Morrison formula, this adds g A r r^T A to A. The shrinkage is not
estimated again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import distances_from_centre, rooted
from robocle.classifiers.state import Matrix, Vector

# The number of samples to score: enough to estimate a false-rejection rate of 5 %, few enough to
# score after every taught picture. With more labels than this, one sample per label is scored.
MAX_SAMPLES = 128


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Cosine scores of samples that were left out."""

    rows: NDArray[np.int64]
    """The class of each sample."""
    singleton: NDArray[np.bool_]
    """Whether the sample is the only one of its class, so that it cannot be left out."""
    scores: Matrix
    """(samples, classes): the scores with the sample left out."""
    class_left_out: Vector
    """The best score with the sample's class left out; empty with fewer than three classes."""
    lengths: Vector
    """The distance of each class mean from the mean of the class means."""


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products under A within one block of the embedding."""

    share: float
    """The weight of the scatter S in A^-1."""
    means: Matrix
    """m_i A m_j: (classes, classes)."""
    crossed: Matrix
    """r A m_j: (samples, classes)."""
    squares: Vector
    """r A r: (samples,)."""


def chosen_samples(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the samples to score as (class, index within the class), balanced over the classes.

    >>> chosen_samples([2, 0, 1])
    [(0, 0), (0, 1), (2, 0)]
    """
    per_class = max(1, MAX_SAMPLES // max(len(counts), 1))
    return [
        (row, index)
        for row, count in enumerate(counts)
        for index in np.linspace(0, count - 1, min(count, per_class)).astype(int).tolist()
    ]


def leave_one_out_scores(
    blocks: Sequence[Products], rows: NDArray[np.int64], counts: Vector
) -> LeaveOneOut:
    """Return the scores of samples with the sample, and with its class, left out.

    Args:
        blocks: The inner products within each block of the embedding.
        rows: The class of each sample.
        counts: The number of samples taught per class.
    """
    classes, samples = len(counts), len(rows)
    singleton = counts[rows] < 2
    shift = np.where(singleton, 0, 1 / np.maximum(counts[rows] - 1, 1))
    own = np.zeros((samples, classes))
    own[np.arange(samples), rows] = 1
    equal_weights = np.full(own.shape, 1 / classes)
    without_sample = _Geometry(own * shift[:, None], equal_weights, shift / classes)
    scores = _scores(blocks, rows, counts, without_sample)
    class_left_out = np.empty(0)
    if classes > 2:
        weights = (1 - own) / (classes - 1)
        without_class = _Geometry(np.zeros_like(own), weights, np.zeros(samples))
        others = _scores(blocks, rows, counts, without_class)
        class_left_out = np.where(own == 1, -np.inf, others).max(axis=1)
    products = np.sum([block.means for block in blocks], axis=0)
    lengths = distances_from_centre(products)
    return LeaveOneOut(rows, singleton, scores, class_left_out, lengths)


@dataclass(frozen=True, eq=False)
class _Geometry:
    """The class means and their centre for each left-out sample with residual r."""

    mean_shift: Matrix
    """(samples, classes): the class mean is m - mean_shift r."""
    centre_weights: Matrix
    """(samples, classes): the weight of each class mean in the centre c."""
    centre_shift: Vector
    """(samples,): the centre is c - centre_shift r."""


def _scores(
    blocks: Sequence[Products], rows: NDArray[np.int64], counts: Vector, geometry: _Geometry
) -> Matrix:
    """Return (z - c) A (m - c) / |m - c| with each sample z left out of the scatter."""
    shift, weights, back = geometry.mean_shift, geometry.centre_weights, geometry.centre_shift
    zm, mm, cm = (np.zeros(shift.shape) for _ in range(3))
    zc, cc = (np.zeros(len(rows)) for _ in range(2))
    removed = np.where(counts[rows] > 1, counts[rows] / np.maximum(counts[rows] - 1, 1), 0)
    for block in blocks:
        gram, cross, square = block.means, block.crossed, block.squares
        sample = gram[rows] + cross  # z . m
        sample_residual = cross[np.arange(len(rows)), rows] + square  # z . r
        centre = weights @ gram
        centre_cross = (weights * cross).sum(axis=1)
        centre_residual = centre_cross - back * square  # c . r
        mean_residual = cross - shift * square[:, None]  # m . r
        gain = removed * block.share
        gain = gain / np.maximum(1 - gain * square, 1e-9)
        correction = (gain * sample_residual)[:, None] * mean_residual
        zm += sample - shift * sample_residual[:, None] + correction
        mm += np.diagonal(gram) - 2 * shift * cross + shift**2 * square[:, None]
        mm += gain[:, None] * mean_residual**2
        cm += centre - back[:, None] * cross - shift * centre_residual[:, None]
        cm += (gain * centre_residual)[:, None] * mean_residual
        zc += (weights * sample).sum(axis=1) - back * sample_residual
        zc += gain * sample_residual * centre_residual
        cc += (weights * centre).sum(axis=1) - 2 * back * centre_cross
        cc += back**2 * square + gain * centre_residual**2
    lengths = rooted(mm - 2 * cm + cc[:, None], float(mm.max(initial=0.0)))
    numerators = zm - cm - zc[:, None] + cc[:, None]
    scores: Matrix = np.divide(numerators, lengths, out=np.zeros_like(zm), where=lengths > 0)
    return scores
