"""Metrics of recognition: accuracies, and what one method gains over another."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels = Sequence[object] | NDArray[Any]


def accuracy(truth: Labels, predicted: Labels) -> float:
    """Return the percentage of pictures whose prediction is right (micro accuracy).

    Args:
        truth: The true label of each picture.
        predicted: The predicted label of each picture. None ("unknown") is never right.

    Example:
        >>> accuracy(["mug", "mug", "mug", "book"], ["mug", "mug", None, "mug"])
        50.0
    """
    return percentage(_correct(truth, predicted))


def macro_accuracy(truth: Labels, predicted: Labels) -> float:
    """Return the mean over the classes of each one's accuracy, however many pictures it has.

    Args:
        truth: The true label of each picture.
        predicted: The predicted label of each picture.

    Example:
        >>> macro_accuracy(["mug", "mug", "mug", "book"], ["mug", "mug", "mug", "mug"])
        50.0
    """
    return mean(class_accuracies(truth, predicted, list(dict.fromkeys(truth))))


def class_accuracies(truth: Labels, predicted: Labels, classes: Labels) -> NDArray[np.float64]:
    """Return the accuracy on each class: one row of a history.

    Args:
        truth: The true label of each picture.
        predicted: The predicted label of each picture.
        classes: The classes, in the order of the result. One without pictures is NaN.

    Example:
        >>> class_accuracies(["mug", "mug", "book"], ["mug", None, "book"], ["book", "mug", "pen"])
        array([100.,  50.,  nan])
    """
    total = Counter(truth)
    right = Counter(
        label for label, is_right in zip(truth, _correct(truth, predicted), strict=True) if is_right
    )
    return np.array(
        [100 * right[label] / total[label] if total[label] else np.nan for label in classes],
        np.float64,
    )


def room_aware_gain(baseline: float, achieved: float) -> float:
    """Return the RARG: the percentage of the baseline's errors that is gone.

    It is negative if there are more errors than before, and NaN for a baseline without errors.

    Args:
        baseline: The accuracy of the baseline.
        achieved: The accuracy of the method that is compared with it.

    Example:
        >>> room_aware_gain(baseline=96, achieved=98)
        50.0
    """
    room = 100.0 - baseline
    return 100.0 * (achieved - baseline) / room if room else float("nan")


def avg_other_domain(accuracies: ArrayLike, trained_on: int | None) -> float:
    """Return the Avg OD: the mean over the test conditions other than the one trained on.

    Args:
        accuracies: One accuracy per test condition.
        trained_on: The index of the condition trained on. None if it was not tested.

    Raises:
        IndexError: There is no such condition.

    Example:
        >>> avg_other_domain([90, 40, 60], trained_on=0)
        50.0
    """
    left_out: list[int] = [] if trained_on is None else [trained_on]
    return mean(np.delete(np.asarray(accuracies, np.float64), left_out))


def percentage(flags: Iterable[object] | NDArray[Any]) -> float:
    """Return the percentage of the values that are true; NaN if there are none.

    Example:
        >>> percentage([True, False, False, False])
        25.0
    """
    values = np.array(list(flags), bool)
    return 100 * int(values.sum()) / values.size if values.size else float("nan")


def mean(values: ArrayLike) -> float:
    """Return the mean; NaN if there are no values.

    Example:
        >>> mean([90, 40])
        65.0
    """
    array = np.asarray(values, np.float64)
    return float(array.mean()) if array.size else float("nan")


def standard_deviation(values: ArrayLike) -> float:
    """Return the standard deviation of a sample (divided by n - 1); NaN for fewer than two values.

    Example:
        >>> standard_deviation([46, 47, 48])
        1.0
    """
    array = np.asarray(values, np.float64)
    return float(array.std(ddof=1)) if array.size > 1 else float("nan")


def _correct(truth: Labels, predicted: Labels) -> list[bool]:
    return [bool(a == b) for a, b in zip(truth, predicted, strict=True)]
