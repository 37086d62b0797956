"""Helmert contrasts: n samples of a class as n - 1 rows with the same scatter about their mean.

The contrast of a sample is its deviation from the mean of the c samples before it, multiplied by
sqrt(c / (c + 1)). A class that learns one sample after another produces just these rows. Together
they determine the residuals of the samples, their deviations from the mean of all.
"""

import math
from functools import cache
from itertools import pairwise

import numpy as np

from robocle.classifiers.state import Matrix, Vector

Counts = tuple[int, int]
"""How many samples of a class two classifiers were taught."""


def contrasts_of(residuals: Matrix) -> Matrix:
    """Return the contrasts of samples, from their deviations from any common point.

    >>> contrasts_of(np.array([[1.0], [3.0]])).round(4).tolist()
    [[1.4142]]
    """
    before = np.arange(1, len(residuals), dtype=float)[:, None]
    contrasts = residuals[:-1].copy()
    for sum_before, sum_after in pairwise(contrasts):  # np.cumsum along columns is slow
        sum_after += sum_before
    contrasts /= before  # now the means before each sample
    np.subtract(residuals[1:], contrasts, out=contrasts)
    contrasts *= np.sqrt(before / (before + 1))
    return contrasts


def residuals_of(contrasts: Matrix, start: int = 0) -> Matrix:
    """Return the deviations of the samples from their mean, from their contrasts.

    Args:
        contrasts: The contrasts from `first_contrast(start)` on: all of them for the first sample.
        start: The first sample to return.

    >>> contrasts = contrasts_of(np.array([[1.0], [3.0], [8.0]]))
    >>> residuals_of(contrasts).round(4).tolist()
    [[-3.0], [-1.0], [4.0]]
    >>> residuals_of(contrasts[first_contrast(2) :], 2).round(4).tolist()
    [[4.0]]
    """
    first = first_contrast(start)
    before = np.arange(first + 1, first + len(contrasts) + 1, dtype=float)[:, None]
    residuals: Matrix = np.zeros((len(contrasts) + 1, contrasts.shape[1]))
    residuals[1:] = np.sqrt(before / (before + 1)) * contrasts
    # A sample also enters the contrasts of all later ones.
    later = contrasts / np.sqrt(before * (before + 1))
    residuals[:-1] -= np.cumsum(later[::-1], axis=0)[::-1]
    return residuals[start - first :]


def first_contrast(start: int) -> int:
    """Return the first contrast that depends on a sample or on those after it."""
    return max(start - 1, 0)


@cache
def residual_weights(contrasts: int) -> Matrix:
    """Return the weight of each contrast in each residual, (contrasts + 1, contrasts).

    The first ones are the same for every number of contrasts. The caller must not modify them.

    >>> residual_weights(1).round(4).tolist()
    [[-0.7071], [0.7071]]
    """
    return residuals_of(np.eye(contrasts))


def joined_contrasts(first: Matrix, second: Matrix, between: Vector) -> Matrix:
    """Return the contrasts of two groups of samples, one after the other.

    Args:
        first: The contrasts of the n samples of the first group, about its own mean.
        second: The contrasts of the m samples of the second group, about its own mean.
        between: The mean of the second group minus that of the first, times sqrt(n m / (n + m)).
    """
    n, m = len(first) + 1, len(second) + 1
    total = n + m
    return contrasts_of(
        np.vstack(
            [
                residuals_of(first) - math.sqrt(m / (n * total)) * between,
                residuals_of(second) + math.sqrt(n / (m * total)) * between,
            ]
        )
    )


def merged_counts(weights: Vector, steps: Vector) -> list[Counts]:
    """Return the numbers of samples n, m of two classifiers per class.

    Args:
        weights: n m / (n + m) per class; 0 if the class is new, or its rows are not deviations.
        steps: m / (n + m) per class.

    >>> merged_counts(np.array([2.4, 0.0]), np.array([0.4, 1.0]))
    [(6, 4), (0, 0)]
    """
    pairs = zip(weights.tolist(), steps.tolist(), strict=True)
    return [(round(w / s), round(w / (1 - s))) if w else (0, 0) for w, s in pairs]
