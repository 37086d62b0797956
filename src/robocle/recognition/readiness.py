"""Readiness: whether each label was shown enough, and which are taken for one another.

Both come from leave-one-out scores: the classifier's answers to its own samples. That is
honest about the conditions in which things were shown, and knows nothing of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
from robocle.classifiers.softmax import softmax
from robocle.recognition.calibration import Calibration

# A label is ready when this share of its pictures is recognised without having been taught.
READY = 0.8
# Labels are confusable when their pictures are taken for the other with this likelihood.
CONFUSABLE = 0.1
MOST_PAIRS = 10


@dataclass(frozen=True)
class LabelReadiness:
    """How well one label's pictures are recognised when they are left out."""

    label: str
    pictures: int
    left_out: int
    """How many pictures were left out, one at a time."""
    recognised: int
    """How many of those were recognised nevertheless."""

    @property
    def is_ready(self) -> bool:
        """Whether it was shown enough, as far as can be said."""
        return self.left_out > 0 and self.recognised >= READY * self.left_out

    @property
    def advice(self) -> str:
        """What to do next, or nothing."""
        if self.is_ready:
            return ""
        if not self.left_out and self.pictures > 1:
            return "shown often, but before pictures could be left out: nothing can be said"
        if not self.left_out:
            return "show it once more: one picture does not tell how much it varies"
        return "show two more, turned or moved"


@dataclass(frozen=True)
class ConfusablePair:
    """Two labels that are taken for one another."""

    label: str
    other: str
    likelihood: float
    """How likely a picture of the one is taken for the other, the worse way round."""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return f"{self.label} <-> {self.other}: show two more of each, turned or moved"


@dataclass(frozen=True)
class Readiness:
    """What a learner can say about its own labels."""

    labels: tuple[LabelReadiness, ...]
    confusable: tuple[ConfusablePair, ...]


def readiness(counts: dict[str, int], leave_one_out: LeaveOneOut) -> Readiness:
    """The readiness of all labels, in the order they were taught; the worst pairs first."""
    told = ~leave_one_out.singleton
    rows, scores = leave_one_out.rows[told], leave_one_out.scores[told]
    right = scores.argmax(axis=1) == rows if len(rows) else np.zeros(0, bool)
    each = tuple(
        LabelReadiness(label, count, int((rows == row).sum()), int(right[rows == row].sum()))
        for row, (label, count) in enumerate(counts.items())
    )
    calibration = Calibration.of(leave_one_out)
    pairs = _confusable(tuple(counts), leave_one_out, calibration) if calibration else ()
    return Readiness(each, pairs)


def _confusable(
    labels: Sequence[str], leave_one_out: LeaveOneOut, calibration: Calibration
) -> tuple[ConfusablePair, ...]:
    told = ~leave_one_out.singleton
    taken = np.zeros((len(labels), len(labels)))
    likely = softmax(leave_one_out.scores[told] / calibration.temperature)
    np.add.at(taken, leave_one_out.rows[told], likely)
    taken /= np.maximum(np.bincount(leave_one_out.rows[told], minlength=len(labels)), 1)[:, None]
    worse = np.triu(np.maximum(taken, taken.T), 1)
    found = [
        ConfusablePair(labels[one], labels[other], float(worse[one, other]))
        for one, other in np.argwhere(worse >= CONFUSABLE)
    ]
    return tuple(sorted(found, key=lambda pair: -pair.likelihood)[:MOST_PAIRS])
