"""Metrics over the steps of a stream: plasticity, transfer and forgetting.

They are computed from a history a[i, j], the accuracy on class j after step i: one row per step,
one column per class, NaN as long as the class has not been taught. In the formulas, j also stands
for the step that taught class j, and T for the last step.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.evaluation.metrics.recognition import mean

History = NDArray[np.float64]


def plasticity(history: ArrayLike) -> float:
    """Return Pla: the mean accuracy on a class right after it was taught, mean a[j, j].

    Example:
        >>> plasticity([[90, np.nan], [60, 80]])
        85.0
    """
    return mean(_when_taught(_columns(history)))


def backward_transfer(history: ArrayLike) -> float:
    """Return BwT: what earlier classes gained by the end, mean (a[T, j] - a[j, j]).

    It is negative for a loss. Earlier classes are those taught before the last step.

    Example:
        >>> backward_transfer([[90, np.nan], [60, 80]])
        -30.0
    """
    earlier = _earlier(_columns(history))
    return mean(earlier[-1] - _when_taught(earlier))


def forgetting(history: ArrayLike) -> float:
    """Return Forg: how far earlier classes end below their best, mean (max a[i, j] - a[T, j]).

    The maximum is over the steps i before T. Earlier classes are those taught before the last step.

    Example:
        >>> forgetting([[90, np.nan], [60, 80]])
        30.0
    """
    earlier = _earlier(_columns(history))
    return mean(np.fmax.reduce(earlier[:-1], axis=0, initial=-np.inf) - earlier[-1])


def forward_transfer(before: ArrayLike) -> float:
    """Return FwT: the accuracy on a class just before it was taught, mean a[j - 1, j].

    From this, the accuracy before anything was taught is to be subtracted. It is 0 here, since a
    label is only predicted once it was taught; so is FwT where every step teaches new classes.

    Args:
        before: The accuracy on each class after the step before the one that taught it, without
            the classes of the first step.

    Example:
        >>> forward_transfer([0, 0])
        0.0
    """
    return mean(before)


def mean_step_gain(baseline: ArrayLike, achieved: ArrayLike) -> float:
    """Return what a method gains over another in percentage points, averaged over the steps.

    Args:
        baseline: The accuracy of the other method after each step.
        achieved: The accuracy of the method after each step.

    Example:
        >>> mean_step_gain([100, 60, 50], [100, 70, 55])
        5.0
    """
    return mean(np.asarray(achieved, np.float64) - np.asarray(baseline, np.float64))


def paper_bwt(history: ArrayLike) -> float:
    """Return what the paper's BwT column fits: the mean accuracy on earlier classes over all steps.

    It is the mean of a[i, j] over all i > j, the lower triangle of the history.

    Example:
        >>> paper_bwt([[90, np.nan], [60, 80]])
        60.0
    """
    columns = _columns(history)
    later = np.arange(len(columns))[:, None] > _steps_taught(columns)
    return mean(columns[later])


def paper_forg(history: ArrayLike) -> float:
    """Return what the paper's Forg column fits: the best class of each step minus the final mean.

    It is the mean over i of max over j of a[i, j], minus mean a[T, j].

    Example:
        >>> paper_forg([[90, np.nan], [60, 80]])
        15.0
    """
    columns = _columns(history)
    best = np.fmax.reduce(columns, axis=1, initial=-np.inf)
    return mean(best[np.isfinite(best)]) - mean(columns[-1])


def _columns(history: ArrayLike) -> History:
    """Return the history without the classes that were never tested."""
    array = np.asarray(history, np.float64)
    if array.ndim != 2 or len(array) == 0:
        raise ValueError(
            f"a history has one row per step and one column per class, not the shape {array.shape}"
        )
    known = ~np.isnan(array)
    if (known[:-1] & ~known[1:]).any():
        raise ValueError("a class that was tested must also be tested after every later step")
    return array[:, known[-1]]


def _steps_taught(columns: History) -> NDArray[np.intp]:
    """Return the step that taught each class."""
    steps: NDArray[np.intp] = np.isnan(columns).argmin(axis=0)
    return steps


def _when_taught(columns: History) -> NDArray[np.float64]:
    """Return the accuracy on each class right after it was taught."""
    return columns[_steps_taught(columns), np.arange(columns.shape[1])]


def _earlier(columns: History) -> History:
    """Return the classes that were taught before the last step."""
    return columns[:, _steps_taught(columns) < len(columns) - 1]
