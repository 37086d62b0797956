"""Open-set metrics: how well unknown objects are separated from known ones, and calibration.

An object is known if its label was taught.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.evaluation.metrics.recognition import mean, percentage

BINS = 15


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
    confidences, correct = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    gaps = np.bincount(places, confidences - correct, bins)
    return 100 * float(np.abs(gaps).sum()) / len(confidences) if len(confidences) else float("nan")


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
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    gaps = np.bincount(places, weights * (confidences - correct), bins)
    return 50 * float(np.abs(gaps).sum())
