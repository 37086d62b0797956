"""Samples as rows of one class after another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.helmert import contrasts_of
from robocle.classifiers.state import Matrix

# Samples that were computed from sums differ from the taught ones by less than this, relative to
# their largest entry.
ROUNDING = 1e-12


def float32_if_exact(exact: Matrix) -> NDArray[np.float32] | None:
    """Return rows in float32, or None if it does not hold them up to float64's rounding errors."""
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    errors = np.abs(rounded - exact).max(axis=1, initial=0.0)
    fits = (errors <= ROUNDING * np.abs(exact).max(axis=1, initial=0.0)).all()
    return rounded if fits else None


def _class_slices(counts: Sequence[int]) -> list[slice]:
    ends = np.cumsum(np.array(counts, np.int64)).tolist()
    return [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]


def class_means(samples: Matrix, counts: Sequence[int]) -> Matrix:
    """Return the mean of each class."""
    return np.array([samples[own].mean(axis=0) for own in _class_slices(counts)])


def class_contrasts(samples: Matrix, counts: Sequence[int]) -> Matrix:
    """Return the rows that the classes contribute to the scatter, one class after another."""
    contrasts = np.empty((len(samples) - len(counts), samples.shape[1]))
    start = 0
    for own, count in zip(_class_slices(counts), counts, strict=True):
        contrasts[start : start + count - 1] = contrasts_of(samples[own])
        start += count - 1
    return contrasts
