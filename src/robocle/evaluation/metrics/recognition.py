"""Metrics of recognition: accuracies, gains, differences, known or unknown, and calibration.

An object is known if its label was taught.

The difference of two methods has a confidence interval. Both learn the same orderings and are
tested on the same pictures, so whatever makes an ordering or a picture hard is the same for both,
and only the difference counts. The interval is that of a bootstrap over orderings and pictures:
both are drawn with replacement, independently of each other, since most pictures are tested in
several orderings (Owen 2007, the pigeonhole bootstrap).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle._internal.randomness import keyed_rng

Labels = Sequence[object] | NDArray[Any]
BINS = 15
REPLICATES = 2000
LEVEL = 95
"""The percentage of the replicates of a difference that its confidence interval contains."""
NOT_TESTED = 2
NUMBERS_AT_ONCE = 4_000_000


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


class Paired(NamedTuple):
    """The predictions of two methods in one ordering: one value per test picture each."""

    places: NDArray[np.int64]
    """Which picture of the data set it is."""
    baseline: NDArray[np.bool_]
    """Whether the method that is compared with predicts it right."""
    achieved: NDArray[np.bool_]
    """Whether the method itself does."""


class Difference(NamedTuple):
    """The difference in accuracy in percentage points, and its confidence interval."""

    mean: float
    low: float
    high: float


def paired_difference(orderings: Sequence[Paired]) -> Difference:
    """Return by how much a method is more accurate than another, averaged over the orderings.

    Args:
        orderings: The predictions of both methods in each ordering. With one ordering, the interval
            is about other pictures, not about other orderings.

    Example:
        >>> one = Paired(np.arange(4), np.array([1, 0, 0, 1], bool), np.array([1, 1, 1, 1], bool))
        >>> paired_difference([one, one])
        Difference(mean=50.0, low=0.0, high=100.0)
    """
    gained = [each.achieved.astype(np.int8) - each.baseline for each in orderings]
    pictures = np.unique(np.concatenate([each.places for each in orderings]))
    table = np.full((len(pictures), len(orderings)), NOT_TESTED, np.int8)
    for column, (each, its_gain) in enumerate(zip(orderings, gained, strict=True)):
        table[np.searchsorted(pictures, each.places), column] = its_gain
    low, high = np.percentile(_replicates(table), [50 - LEVEL / 2, 50 + LEVEL / 2])
    return Difference(mean([100 * each.mean() for each in gained]), float(low), float(high))


def _replicates(table: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the mean difference of each draw of pictures (rows) and orderings (columns).

    Pictures with the same differences in all orderings are alike, so it is enough to draw how often
    each pattern comes.
    """
    patterns, counts = np.unique(table, axis=0, return_counts=True)
    is_tested = (patterns != NOT_TESTED).astype(np.float64)
    gained = np.where(is_tested, patterns, 0).astype(np.float64)
    pictures, orderings = table.shape
    rng = keyed_rng(0, "paired difference", pictures, orderings)
    found: list[NDArray[np.float64]] = []
    at_once = max(1, NUMBERS_AT_ONCE // len(patterns))
    for start in range(0, REPLICATES, at_once):
        size = min(at_once, REPLICATES - start)
        drawn = rng.multinomial(pictures, counts / pictures, size)
        weights = rng.multinomial(orderings, [1 / orderings] * orderings, size).astype(np.float64)
        tested = drawn @ is_tested
        weights *= tested > 0  # a draw may contain no picture of an ordering
        of_each = 100 * (drawn @ gained) / np.maximum(tested, 1)
        found.append((weights * of_each).sum(1) / np.maximum(weights.sum(1), 1))
    return np.concatenate(found)


@dataclass(frozen=True)
class OpenSetPredictions:
    """Predictions for pictures of known and unknown objects: one value per picture each."""

    is_known: NDArray[np.bool_]
    """Whether the true label was taught."""
    score: NDArray[np.float64]
    """The familiarity; without a world, the best score."""
    confidence: NDArray[np.float64]
    """The confidence in the label with the best score, from 0 to 1."""
    rejected: NDArray[np.bool_]
    """Whether the prediction is "unknown"."""
    correct: NDArray[np.bool_]
    """Whether the label with the best score is the true one."""

    @property
    def auroc(self) -> float:
        """How well the familiarity separates known from unknown objects."""
        return area_under_curve(self.score[self.is_known], self.score[~self.is_known])

    @property
    def false_rejection_rate(self) -> float:
        """The percentage of known objects that are called unknown."""
        return percentage(self.rejected[self.is_known])

    @property
    def right_rate(self) -> float:
        """The percentage of known objects that get their own label."""
        return percentage((self.correct & ~self.rejected)[self.is_known])

    @property
    def wrong_rate(self) -> float:
        """The percentage of known objects that get another label."""
        return percentage((~self.correct & ~self.rejected)[self.is_known])

    @property
    def unknown_detection_rate(self) -> float:
        """The percentage of unknown objects that are called unknown."""
        return percentage(self.rejected[~self.is_known])

    @property
    def calibration_error(self) -> float:
        """The calibration error on a mix of known and unknown objects, half each.

        Without unknown objects, it is that of the known ones.
        """
        known = self.confidence[self.is_known], self.correct[self.is_known]
        if self.is_known.all():
            return calibration_error(*known)
        return mixed_calibration_error(*known, self.confidence[~self.is_known])


def area_under_curve(known: ArrayLike, unknown: ArrayLike) -> float:
    """Return the AUROC: how often a known object scores above an unknown one; 50 is chance.

    Args:
        known: The familiarity of known objects.
        unknown: The familiarity of unknown objects.

    Example:
        >>> area_under_curve(known=[3, 2, 1], unknown=[1, 0])
        91.66666666666666
    """
    ordered = np.sort(np.asarray(unknown, np.float64))
    if not len(ordered):
        return float("nan")
    scores = np.asarray(known, np.float64)
    below = np.searchsorted(ordered, scores, "left")
    not_above = np.searchsorted(ordered, scores, "right")
    return 100 * mean((below + not_above) / 2 / len(ordered))


def calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> float:
    """Return the ECE: the distance of confidence from accuracy, averaged over equal bins.

    Args:
        confidence: The confidence of each prediction, from 0 to 1.
        right: Whether each prediction is right.
        bins: The number of bins of equal width.

    Example:
        >>> calibration_error([0.75, 0.75, 0.5, 0.5], [True, True, True, False])
        12.5
    """
    confidences = np.asarray(confidence, np.float64)
    gap = _calibration_gap(confidences - np.asarray(right, np.float64), confidences, bins)
    return 100 * gap / len(confidences) if len(confidences) else float("nan")


def mixed_calibration_error(
    confidence: ArrayLike, right: ArrayLike, unknown: ArrayLike, bins: int = BINS
) -> float:
    """Return the ECE on a mix in which known and unknown objects have the same weight.

    Args:
        confidence: The confidence of each prediction for a known object, from 0 to 1.
        right: Whether each of these is right.
        unknown: The confidence of each prediction for an unknown object. None of these is right.
        bins: The number of bins of equal width.

    Example:
        >>> mixed_calibration_error([0.75, 0.75], [True, True], unknown=[0.25])
        25.0
    """
    known, others = np.asarray(confidence, np.float64), np.asarray(unknown, np.float64)
    if not (len(known) and len(others)):
        return float("nan")
    confidences, correct = np.r_[known, others], np.r_[right, np.zeros(len(others))]
    weights = np.r_[np.full(len(known), 1 / len(known)), np.full(len(others), 1 / len(others))]
    return 50 * _calibration_gap(weights * (confidences - correct), confidences, bins)


def _calibration_gap(
    excess: NDArray[np.float64], confidences: NDArray[np.float64], bins: int
) -> float:
    """Return the sum over the bins of how far confidence exceeds accuracy in each."""
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(places, excess, bins)).sum())


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
