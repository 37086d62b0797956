"""Metrics: how well a learner recognises, what it gains on another, and what it forgets.

Accuracies are in percent, and so is every metric. A history holds a[i, j], the accuracy on class j
after step i: one row a step, one column a class, NaN as long as the class is not taught. A metric
that nothing is known of is NaN: accuracy on no pictures, forgetting where nothing came later.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels = Sequence[object] | NDArray[Any]
History = NDArray[np.float64]


def accuracy(truth: Labels, predicted: Labels) -> float:
    """The share of pictures that are recognised (micro accuracy); None is never right.

    >>> accuracy(["mug", "mug", "mug", "book"], ["mug", "mug", None, "mug"])
    50.0
    """
    return 100 * _mean(_correct(truth, predicted))


def macro_accuracy(truth: Labels, predicted: Labels) -> float:
    """The mean over the classes of each one's accuracy, however many pictures it has.

    >>> macro_accuracy(["mug", "mug", "mug", "book"], ["mug", "mug", "mug", "mug"])
    50.0
    """
    return _mean(class_accuracies(truth, predicted, list(set(truth))))


def class_accuracies(truth: Labels, predicted: Labels, classes: Labels) -> NDArray[np.float64]:
    """The accuracy on each class, NaN for one without pictures: a row of a history.

    >>> class_accuracies(["mug", "mug", "book"], ["mug", None, "book"], ["book", "mug", "pen"])
    array([100.,  50.,  nan])
    """
    correct, of = _correct(truth, predicted), np.array(truth, dtype=object)
    return 100 * np.array([_mean(correct[of == label]) for label in classes], np.float64)


def room_aware_gain(baseline: float, achieved: float) -> float:
    """RARG: how much of the baseline's errors is gone; negative if there are more of them.

    A baseline without errors leaves no room: NaN.

    >>> room_aware_gain(baseline=96, achieved=98)
    50.0
    """
    room = 100.0 - baseline
    return 100.0 * (achieved - baseline) / room if room else float("nan")


def avg_other_domain(accuracies: ArrayLike, trained_on: int) -> float:
    """Avg OD: the mean over the test conditions other than the one trained on.

    >>> avg_other_domain([90, 40, 60], trained_on=0)
    50.0
    """
    return _mean(np.delete(np.asarray(accuracies, np.float64), trained_on))


def area_under_curve(known: ArrayLike, unknown: ArrayLike) -> float:
    """AUROC: how often a known thing scores above an unknown one; 50 is chance.

    >>> area_under_curve(known=[3, 2, 1], unknown=[1, 0])
    91.66666666666666
    """
    ordered = np.sort(np.asarray(unknown, np.float64))
    scores = np.asarray(known, np.float64)
    below = np.searchsorted(ordered, scores, "left")
    not_above = np.searchsorted(ordered, scores, "right")
    return 100 * _mean((below + not_above) / 2 / max(len(ordered), 1))


def calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = 15) -> float:
    """ECE: how far confidence is from the share of right answers, on average over equal bins.

    >>> calibration_error([0.75, 0.75, 0.5, 0.5], [True, True, True, False])
    12.5
    """
    sure, correct = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    places = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = np.bincount(places, sure - correct, bins)
    return 100 * float(np.abs(gaps).sum()) / len(sure) if len(sure) else float("nan")


def plasticity(history: ArrayLike) -> float:
    """Pla: the mean accuracy on a class right after it was taught, mean a[j, j]."""
    return _mean(_when_taught(_columns(history)))


def backward_transfer(history: ArrayLike) -> float:
    """BwT: what earlier classes gained by the end, mean (a[T, j] - a[j, j]); mostly a loss.

    Earlier classes are those taught before the last step.
    """
    earlier = _earlier(_columns(history))
    return _mean(earlier[-1] - _when_taught(earlier))


def forgetting(history: ArrayLike) -> float:
    """Forg: how far earlier classes end below their best before, mean (max a[i, j] - a[T, j]).

    Earlier classes are those taught before the last step.
    """
    earlier = _earlier(_columns(history))
    return _mean(np.fmax.reduce(earlier[:-1], axis=0, initial=-np.inf) - earlier[-1])


def paper_bwt(history: ArrayLike) -> float:
    """What the paper's BwT column fits: the mean accuracy on earlier classes over all steps.

    That is the mean of a[i, j] over all i > j, the lower triangle of the history.
    """
    columns = _columns(history)
    later = np.arange(len(columns))[:, None] > _steps_taught(columns)
    return _mean(columns[later])


def paper_forg(history: ArrayLike) -> float:
    """What the paper's Forg column fits: the best class of each step less the classes at the end.

    That is mean over i of max over j of a[i, j], minus mean a[T, j].
    """
    columns = _columns(history)
    best = np.fmax.reduce(columns, axis=1, initial=-np.inf)
    return _mean(best[np.isfinite(best)]) - _mean(columns[-1])


def _columns(history: ArrayLike) -> History:
    """The history without the classes that were never tested."""
    array = np.asarray(history, np.float64)
    if array.ndim != 2 or len(array) == 0:
        raise ValueError(f"a history has a row a step and a column a class, not {array.shape}")
    known = ~np.isnan(array)
    if (known[:-1] & ~known[1:]).any():
        raise ValueError("a class that was tested must be tested after every later step, too")
    return array[:, known[-1]]


def _steps_taught(columns: History) -> NDArray[np.intp]:
    """The first step that knows each class."""
    steps: NDArray[np.intp] = np.isnan(columns).argmin(axis=0)
    return steps


def _when_taught(columns: History) -> NDArray[np.float64]:
    """The accuracy on each class right after it was taught."""
    return columns[_steps_taught(columns), np.arange(columns.shape[1])]


def _earlier(columns: History) -> History:
    """The classes that were taught before the last step."""
    return columns[:, _steps_taught(columns) < len(columns) - 1]


def _correct(truth: Labels, predicted: Labels) -> NDArray[np.bool_]:
    return np.array([a == b for a, b in zip(truth, predicted, strict=True)], bool)


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else float("nan")
