"""The values passed between the parts: pixels, feature maps, embeddings and predictions.

A prediction has one number per label, kept as an array and read as a dict. With 10,000 labels,
building such a dict takes longer than the rest of a prediction, and most programs read one label or
a few of the best. So a dict is built when it is first read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")

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


# The best rows are selected before they are sorted if fewer than one in so many is wanted.
FEW = 8


@dataclass(frozen=True, eq=False, slots=True)
class LabelNumbers:
    """One number per label. They never change.

    >>> found = LabelNumbers(("mug", "pan", "cup"), np.array([0.25, 0.125, 0.5]))
    >>> found.named()
    {'mug': 0.25, 'pan': 0.125, 'cup': 0.5}
    >>> found.total(), found.best(2)
    (0.875, [('cup', 0.5), ('mug', 0.25)])
    """

    labels: tuple[str, ...]
    """The labels, in the order they were taught."""
    numbers: NDArray[np.float64]
    """The number of each label."""

    @classmethod
    def of(cls, named: dict[str, float]) -> "LabelNumbers":
        """Return the numbers of a dict."""
        return cls(tuple(named), np.fromiter(named.values(), np.float64, len(named)))

    def named(self) -> dict[str, float]:
        """Return a new dict of the numbers by label."""
        return dict(zip(self.labels, self.numbers.tolist(), strict=True))

    def unread(self) -> dict[str, float]:
        """Return the numbers for a field that is read as a dict, which is built when it is read."""
        return cast("dict[str, float]", self)

    def total(self) -> float:
        """Return the sum of the numbers."""
        return float(self.numbers.sum())

    def best(self, number: int) -> list[tuple[str, float]]:
        """Return the labels with the largest numbers, each with its number, the best first."""
        return self.at(self.best_rows(number))

    def at(self, rows: list[int]) -> list[tuple[str, float]]:
        """Return the labels of some rows, each with its number."""
        numbers = self.numbers[rows].tolist()
        return [(self.labels[row], number) for row, number in zip(rows, numbers, strict=True)]

    def best_rows(self, number: int) -> list[int]:
        """Return the rows of the largest numbers, the best first; of equal ones, the first first.

        Args:
            number: How many rows to return, at most. A negative number leaves out as many.
        """
        numbers, rows = self.numbers, None
        if 0 < FEW * number < len(numbers):
            rows = np.flatnonzero(numbers >= np.partition(numbers, -number)[-number])
            numbers = numbers[rows]
        order = (-numbers).argsort(kind="stable")[:number]
        best: list[int] = (order if rows is None else rows[order]).tolist()
        return best


class _ReadAsDict:
    """A field of a dataclass that is given as a dict or as label numbers, and read as a dict."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> dict[str, float]:
        values: dict[str, Any] = {} if instance is None else vars(instance)
        if self._name not in values:  # also of the class, so that a dataclass finds no default
            raise AttributeError(f"{owner.__name__!r} has no attribute {self._name!r}")
        found: dict[str, float] | LabelNumbers = values[self._name]
        if isinstance(found, LabelNumbers):
            found = values[self._name] = found.named()
        return found

    def __set__(self, instance: object, value: dict[str, float] | LabelNumbers) -> None:
        vars(instance)[self._name] = value


def read_as_dicts(*names: str) -> Callable[[type[Value]], type[Value]]:
    """Return a decorator of a dataclass, some fields of which are read as dicts.

    Args:
        names: The fields that are dicts of a number per label. They must have no default.
    """

    def decorated(kind: type[Value]) -> type[Value]:
        for name in names:
            setattr(kind, name, _ReadAsDict(name))
        return kind

    return decorated


def numbers_of(instance: object, name: str) -> LabelNumbers:
    """Return the numbers of a field that is read as a dict, without building the dict."""
    return _unread(instance, name) or LabelNumbers.of(getattr(instance, name))


def _unread(instance: object, name: str) -> LabelNumbers | None:
    """Return the numbers of a field; None if there is a dict, which a program may have changed."""
    found = vars(instance)[name]
    return found if isinstance(found, LabelNumbers) else None


@read_as_dicts("scores", "confidences")
@dataclass(frozen=True)
class Prediction:
    """What a learner predicts for one picture.

    With thousands of labels, the dicts take a while to read for the first time. The other fields,
    `unknown_probability` and `top` do not need them.
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
    `confidence`. They sum to `known_probability`, and with `unknown_probability` to 1."""
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
        scores, confidences = (_unread(self, name) for name in ("scores", "confidences"))
        if scores is not None and confidences is not None:
            return confidences.at(scores.best_rows(number))
        best = sorted(self.scores, key=self.scores.__getitem__, reverse=True)
        return [(label, self.confidences[label]) for label in best[:number]]
