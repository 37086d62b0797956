"""Readiness: whether each label was taught enough pictures, and which labels are confused.

Both are computed from leave-one-out scores: the scores of the taught samples by a classifier that
did not learn them. They are valid only for the conditions in which the objects were taught.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
from robocle.classifiers.softmax import softmax
from robocle.recognition.calibration import Calibration

# A label is ready if this fraction of its pictures is recognised when left out.
READY = 0.8
# Two labels are confusable if a picture of one is taken for the other with this probability.
CONFUSABLE = 0.1
MOST_PAIRS = 10


@dataclass(frozen=True)
class LabelReadiness:
    """How well the pictures of one label are recognised when they are left out."""

    label: str
    pictures: int
    left_out: int
    """How many pictures were left out, one at a time."""
    recognised: int
    """How many of these were recognised."""

    @property
    def is_ready(self) -> bool:
        """Whether enough of the left-out pictures were recognised."""
        return self.left_out > 0 and self.recognised >= READY * self.left_out

    @property
    def advice(self) -> str:
        """What to do next; empty if nothing."""
        if self.is_ready:
            return ""
        if not self.left_out and self.pictures > 1:
            return "its pictures cannot be left out: its readiness is unknown"
        if not self.left_out:
            return "teach another picture: a single one cannot be left out"
        return "teach two more pictures, with the object turned or moved"


@dataclass(frozen=True)
class ConfusablePair:
    """Two labels that are easily confused."""

    label: str
    other: str
    likelihood: float
    """The probability of a mistake, in the worse of the two directions."""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return f"{self.label} <-> {self.other}: teach two more pictures of each, turned or moved"


@dataclass(frozen=True)
class Readiness:
    """The readiness of all labels, and the pairs that are easily confused."""

    labels: tuple[LabelReadiness, ...]
    confusable: tuple[ConfusablePair, ...]


def readiness(counts: dict[str, int], found: LeaveOneOut) -> Readiness:
    """Return the readiness of all labels.

    Args:
        counts: The number of pictures taught per label.
        found: The leave-one-out scores.

    Returns:
        The labels in the order they were taught, and the confusable pairs, worst first.
    """
    usable = ~found.singleton
    rows, scores = found.rows[usable], found.scores[usable]
    right = scores.argmax(axis=1) == rows if len(rows) else np.zeros(0, bool)
    each = tuple(
        LabelReadiness(label, count, int((rows == row).sum()), int(right[rows == row].sum()))
        for row, (label, count) in enumerate(counts.items())
    )
    calibration = Calibration.of(found)
    pairs = _confusable(tuple(counts), found, calibration) if calibration else ()
    return Readiness(each, pairs)


def _confusable(
    labels: Sequence[str], found: LeaveOneOut, calibration: Calibration
) -> tuple[ConfusablePair, ...]:
    usable = ~found.singleton
    mistaken = np.zeros((len(labels), len(labels)))
    probabilities = softmax(found.scores[usable] / calibration.temperature)
    np.add.at(mistaken, found.rows[usable], probabilities)
    mistaken /= np.maximum(np.bincount(found.rows[usable], minlength=len(labels)), 1)[:, None]
    worse = np.triu(np.maximum(mistaken, mistaken.T), 1)
    pairs = [
        ConfusablePair(labels[one], labels[other], float(worse[one, other]))
        for one, other in np.argwhere(worse >= CONFUSABLE)
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.likelihood)[:MOST_PAIRS])
