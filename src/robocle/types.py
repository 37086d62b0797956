"""The values passed between the parts: pixels, feature maps, embeddings and predictions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robocle.label_numbers import LabelNumbers, built, numbers_of, read_as_dicts, unread_numbers

Pixels = NDArray[np.uint8]
"""RGB pixels of one square picture (side, side, 3), or of several (n, side, side, 3)."""

Embeddings = NDArray[np.float32]
"""Embeddings of pictures, one per row: (n, width)."""

Scores = NDArray[np.float64]
"""How well each picture fits each label: (n, labels), higher is better."""

Verdict = Literal["known", "unknown", "nothing"]
"""What a prediction says about an object: it has a label, it has none, or there is none to see."""

SURE, PROBABLE = 0.8, 0.5
"""The confidence from which on a prediction is called sure, or probable."""


def likelihood_of(confidence: float, sure: bool) -> str:
    """Return how to read a label in words: empty if it is sure, else "probably" or "perhaps"."""
    return "" if sure else "probably" if confidence >= PROBABLE else "perhaps"


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled picture of a data set, with what the data set records about it."""

    path: Path
    label: str
    split: str = ""
    """"train" or "test", if the data set has a split."""
    instance: str = ""
    """Which object of its class, such as "mug_01"."""
    domain: str = ""
    """Where or how it was taken: a place, a source, a condition."""
    video: str = ""
    """The video that the picture is a frame of. The frames of a video are listed in order."""


@dataclass(frozen=True)
class FeatureMaps:
    """The output of a backbone for n pictures."""

    grid: NDArray[np.float32]
    """(n, positions, channels)"""
    token: NDArray[np.float32] | None = None
    """The class token, (n, channels), if the backbone has one."""
    earlier: NDArray[np.float32] | None = None
    """The earlier map, (n, positions, channels), if the backbone has one. `grid` is the last."""

    def __len__(self) -> int:
        return len(self.grid)


@read_as_dicts("scores", "confidences")
@dataclass(frozen=True)
class Prediction:
    """What a learner predicts for one picture.

    The dicts of a learner's prediction are built when they are first read, which takes a while
    with thousands of labels. The other fields, `unknown_probability` and `top` do not need them.
    """

    label: str | None
    """The recognised label, or None if the object is unknown or there is nothing to see."""
    confidence: float
    """The probability, from 0 to 1, that `nearest` is right, if half of all objects seen were
    taught."""
    scores: dict[str, float]
    """The classifier's score of every label, in the order they were taught."""
    nearest: str
    """The label with the best score, even if the object is unknown."""
    known_probability: float
    """The probability, from 0 to 1, that the object is a taught one, if half of all objects are."""
    confidences: dict[str, float]
    """The probability of every label, in the order they were taught. That of `nearest` is
    `confidence`. They sum to `known_probability`, and with
    `unknown_probability` to 1."""
    nothing: str = ""
    """Why there is nothing to see, such as "the picture is black"; empty otherwise. If there is
    nothing to see, `label` is None and the confidences are 0."""
    familiarity: float = 0.0
    """How much the picture looks like something taught: below `Learner.unknown_below`, the object
    is unknown. Without a world, it is the best score."""
    sure: bool = False
    """Whether the label can be relied on: there is one, and its confidence is at least 0.8. Teach
    an object where it is not sure."""

    @classmethod
    def of_numbers(
        cls,
        label: str | None,
        confidence: float,
        scores: LabelNumbers,
        nearest: str,
        known_probability: float,
        confidences: LabelNumbers,
        nothing: str = "",
        familiarity: float = 0.0,
        sure: bool = False,
    ) -> "Prediction":
        """Return a prediction whose dicts are built when they are first read.

        The arguments are the fields.

        Args:
            scores: The score of every label.
            confidences: The probability of every label, in the same order.
        """
        return built(
            cls,
            label=label,
            confidence=confidence,
            scores=scores,
            nearest=nearest,
            known_probability=known_probability,
            confidences=confidences,
            nothing=nothing,
            familiarity=familiarity,
            sure=sure,
        )

    @classmethod
    def of_nothing(cls, why: str) -> "Prediction":
        """Return the prediction for a picture when there is no label, and why."""
        return cls(None, 0.0, {}, "", 0.0, {}, why)

    @property
    def verdict(self) -> Verdict:
        """Whether the object is "known" (it has a label), "unknown", or there is "nothing" to see.

        Example:
            >>> Prediction("cup", 0.75, {"cup": 5.0}, "cup", 0.9, {"cup": 0.75}).verdict
            'known'
        """
        return "nothing" if self.nothing else "unknown" if self.label is None else "known"

    @property
    def likelihood(self) -> str:
        """How to read the label in words: empty if it is sure, else "probably" or "perhaps".

        Example:
            >>> Prediction("cup", 0.75, {"cup": 5.0}, "cup", 0.9, {"cup": 0.75}).likelihood
            'probably'
        """
        return likelihood_of(self.confidence, self.sure)

    @property
    def unknown_probability(self) -> float:
        """The probability that the object is none of the taught ones: 1 - sum of `confidences`.

        Example:
            >>> Prediction("cup", 0.75, {"cup": 5.0}, "cup", 0.9, {"cup": 0.75}).unknown_probability
            0.25
        """
        return max(0.0, 1.0 - numbers_of(self, "confidences").total())

    def top(self, number: int = 3) -> list[tuple[str, float]]:
        """Return the labels with the best scores, each with its confidence, the best first.

        Args:
            number: How many labels to return, at most.

        Example:
            >>> scores, confidences = {"mug": 3.0, "cup": 5.0}, {"mug": 0.1, "cup": 0.85}
            >>> Prediction("cup", 0.85, scores, "cup", 0.9, confidences).top()
            [('cup', 0.85), ('mug', 0.1)]
        """
        scores, confidences = (unread_numbers(self, name) for name in ("scores", "confidences"))
        if scores is not None and confidences is not None:
            return confidences.at(scores.best_rows(number))
        best = sorted(self.scores, key=self.scores.__getitem__, reverse=True)
        return [(label, self.confidences[label]) for label in best[:number]]
