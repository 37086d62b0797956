"""The temporal filter: the object in a video, from the predictions of its frames.

Frame by frame, a prediction flickers: one blurred frame is called unknown, another is taken for a
similar object. The filter keeps a posterior over what is in front of the camera (each label, an
unknown object, nothing) and updates it with every frame. It is the forward filter of a hidden
Markov model: what is seen stays with probability 1 - 1 / STAY, and otherwise changes to anything
else. A new announcement needs a posterior of `sure`. Until then the last one stands, or the filter
is undecided.

Successive frames are similar, and so are their errors. The evidence of a frame therefore counts as
1 / `frames` of that of an independent picture. No frame counts for more than FLOOR allows.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from robocle.classifiers.samples import Vector
from robocle.spec import require_between
from robocle.types import (
    SURE,
    LabelNumbers,
    Prediction,
    Verdict,
    likelihood_of,
    numbers_of,
    read_as_dicts,
)

# How many frames the same object stays in front of the camera, on average: 4 s at 15 per second.
STAY = 60.0
# The least probability of anything, given one frame: one frame alone never decides.
FLOOR = 0.01
# The weight of the last frame in the mean confidence.
RECENT = 0.2
# How many times as probable as the alternative the answer of a frame is, known or unknown.
AGREES = 2.0
# The posterior below which an announcement no longer stands, although no other one is sure.
DROPPED = 0.01
# Where in the posterior what is not a label is: after the labels.
UNKNOWN, NOTHING = -2, -1

Announced = Verdict | Literal["undecided"]
"""What a video shows: as a prediction says, or "undecided" while the evidence does not suffice."""
Said = tuple[Announced, str | None]
UNDECIDED: Said = ("undecided", None)


@read_as_dicts("confidences")
@dataclass(frozen=True)
class Announcement:
    """What a video shows at present.

    Example:
        >>> seen = Announcement("known", "cup", 0.5, "cup", {"mug": 0.25, "cup": 0.5}, 0.25)
        >>> seen.top(1), seen.known_probability
        ([('cup', 0.5)], 0.75)
    """

    verdict: Announced
    """Whether the object is "known" (it has a label), "unknown", there is "nothing" to see, or it
    is "undecided": the evidence of the frames so far does not suffice."""
    label: str | None
    """The label; None unless the object is known."""
    confidence: float
    """The posterior probability of `nearest`."""
    nearest: str
    """The label or, if there is none, the most probable one; empty if nothing was taught."""
    confidences: dict[str, float]
    """The posterior probability of each label, over the last frames."""
    unknown_probability: float
    """The posterior probability of an unknown object, or of nothing to see. All sum to 1."""
    nothing: str = ""
    """Why there is nothing to see; empty otherwise."""
    sure: bool = False
    """Whether the label can be relied on, as in `Prediction`: the mean confidence over the last
    frames is at least 0.8."""
    likelihood: str = ""
    """How to read the label in words: empty if it is sure, else "probably" or "perhaps"."""
    changed: bool = False
    """Whether another verdict or label was announced for the frame before."""

    @classmethod
    def of(cls, prediction: Prediction) -> "Announcement":
        """Return the announcement of a single frame."""
        return cls(
            prediction.verdict,
            prediction.label,
            prediction.confidence,
            prediction.nearest,
            numbers_of(prediction, "confidences").unread(),
            prediction.unknown_probability,
            prediction.nothing,
            prediction.sure,
            prediction.likelihood,
        )

    @property
    def known_probability(self) -> float:
        """The posterior probability of a taught object."""
        return 1.0 - self.unknown_probability

    def top(self, number: int = 3) -> list[tuple[str, float]]:
        """Return the most probable labels, each with its probability, the best first.

        Unlike `confidences`, this is fast with thousands of labels.

        Args:
            number: How many labels to return, at most.
        """
        return numbers_of(self, "confidences").best(number)


@dataclass
class TemporalFilter:
    """Announces a label when the evidence over the last frames says so.

    Labels may appear, be renamed or be forgotten between two frames.

    Args:
        frames: How many frames count as much as one independent picture, from 1 to 1000. More
            make announcements steadier and later.
        sure: The posterior probability that a new announcement needs, from 0.5 to 0.999.

    Raises:
        SpecError: A number is out of range.

    Example:
        >>> from robocle.types import Prediction
        >>> def frame(mug, pan):
        ...     scores = {"mug": mug, "pan": pan}
        ...     nearest = max(scores, key=scores.get)
        ...     return Prediction(nearest, scores[nearest], scores, nearest, 0.9, scores)
        >>> frames = [frame(0.5, 0.45), frame(0.9, 0.05), frame(0.1, 0.8), frame(0.9, 0.05)]
        >>> seen = TemporalFilter()
        >>> [seen.update(each).label for each in frames]
        [None, 'mug', 'mug', 'mug']
    """

    frames: float = 1.0
    sure: float = 0.7
    # The labels; and the posterior of each, of an unknown object and of nothing.
    _belief: tuple[tuple[str, ...], Vector] = field(init=False, repr=False, compare=False)
    _said: Said = field(init=False, repr=False, compare=False)
    _reason: str = field(init=False, repr=False, compare=False)
    # The mean confidence of the label that is announced, over the last frames.
    _confidence: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_between("frames", self.frames, 1, 1000)
        require_between("sure", self.sure, 0.5, 0.999)
        self.reset()

    def reset(self) -> None:
        """Forget all frames, such as after a cut or a pause of the camera."""
        self._belief = (), np.zeros(2)
        self._said, self._reason = UNDECIDED, ""
        self._confidence = 0.0

    def update(self, prediction: Prediction) -> Announcement:
        """Add one frame.

        Args:
            prediction: The prediction for the frame.

        Returns:
            What the video shows after this frame.
        """
        labels, evidence = evidence_of(prediction)
        # In one assignment: an interrupt must not leave labels with the posterior of others.
        self._belief = labels, self._updated(labels, evidence)
        self._reason = prediction.nothing or self._reason
        before, self._said = self._said, self._decided()
        changed = self._said != before
        confidence = prediction.confidence if prediction.nearest == self._said[1] else 0.0
        weight = 1.0 if changed else RECENT
        self._confidence += weight * (confidence - self._confidence)
        return self._announcement(changed)

    def _updated(self, labels: tuple[str, ...], evidence: Vector) -> Vector:
        """Return the posterior after one more frame."""
        before, entries = self._posterior_of(labels), len(evidence)
        # The probability of labels that are gone, or renamed, goes to everything else.
        before = before + (1 - before.sum()) / entries
        prior = before * (1 - 1 / STAY) + 1 / (STAY * entries)
        after: Vector = prior * np.maximum(evidence, FLOOR) ** (1 / self.frames)
        after /= after.sum()
        return after

    def _posterior_of(self, labels: tuple[str, ...]) -> Vector:
        """Return the posterior of these labels; 0 for new ones."""
        known, posterior = self._belief
        if labels is known or labels == known:
            return posterior
        found = LabelNumbers(known, posterior[:UNKNOWN]).named()
        moved = [found.get(label, 0.0) for label in labels]
        return np.concatenate([moved, posterior[UNKNOWN:]])

    def _decided(self) -> Said:
        labels, posterior = self._belief
        best = int(posterior.argmax())
        if posterior[best] < self.sure:
            return self._said if self._posterior_of_said() >= DROPPED else UNDECIDED
        if best < len(labels):
            return "known", labels[best]
        return ("nothing" if best == len(posterior) + NOTHING else "unknown"), None

    def _posterior_of_said(self) -> float:
        (labels, posterior), (verdict, label) = self._belief, self._said
        if verdict == "undecided" or (label is not None and label not in labels):
            return 0.0
        place = UNKNOWN if verdict == "unknown" else NOTHING
        return float(posterior[place if label is None else labels.index(label)])

    def _announcement(self, changed: bool) -> Announcement:
        (labels, posterior), (verdict, label) = self._belief, self._said
        confidences = LabelNumbers(labels, posterior[:UNKNOWN])
        nearest, confidence = (confidences.best(1) or [("", 0.0)])[0]
        if label is not None and label != nearest:
            nearest, confidence = label, float(posterior[labels.index(label)])
        sure = label is not None and self._confidence >= SURE
        return Announcement(
            verdict,
            label,
            confidence,
            nearest,
            confidences.unread(),
            float(posterior[UNKNOWN] + posterior[NOTHING]),
            self._reason if verdict == "nothing" else "",
            sure,
            likelihood_of(self._confidence, sure) if label is not None else "",
            changed,
        )


def evidence_of(prediction: Prediction) -> tuple[tuple[str, ...], Vector]:
    """Return the labels; and the probability of each, of an unknown object and of nothing.

    Confidences do not depend on the rate that the user chose, but the answer does. So that videos
    follow it, the evidence agrees with the answer of the frame: if that is unknown, an unknown
    object is at least twice as probable as the nearest label, and otherwise at most half.

    Example:
        >>> scores, confidences = {"mug": 1.0, "pan": 0.2}, {"mug": 0.6, "pan": 0.2}
        >>> rejected = Prediction(None, 0.6, scores, "mug", 0.8, confidences)
        >>> evidence_of(rejected)[1].round(3).tolist()
        [0.3, 0.1, 0.6, 0.0]
    """
    found = numbers_of(prediction, "confidences")
    known = found.total()
    if prediction.nothing or known <= 0:
        is_nothing = float(bool(prediction.nothing))
        return found.labels, np.append(0 * found.numbers, [1 - is_nothing, is_nothing])
    share = prediction.confidence / known  # of the nearest label among all labels
    if prediction.label is None:
        agreed = min(known, 1 / (1 + AGREES * share))
    else:
        agreed = max(known, AGREES / (AGREES + share))
    return found.labels, np.append(agreed / known * found.numbers, [max(1 - agreed, 0.0), 0.0])
