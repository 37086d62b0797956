"""Operations that change a state, as values that can be applied, written and read back.

Operations with the same step are undone together. An operation without a step is undone alone.
"""

import re
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers import ClassifierState, StreamingClassifier
from robocle.classifiers.samples import Sample, new_id
from robocle.store.steps import (
    Step,
    listed,
    same_step,
    step_from_words,
    step_words,
    teaching,
)
from robocle.wording import plural

LATEST = 1e11
"""The latest time of a sample, in seconds since 1970: the year 5138."""


@dataclass(frozen=True, eq=False)
class Teach:
    """Teach an embedding under a label."""

    label: str
    embedding: NDArray[Any]
    step: Step | None = None
    id: str = field(default_factory=new_id)
    """The id of the sample."""
    time: float = field(default_factory=time.time)
    """When it was taught, in seconds since 1970."""

    def apply(self, classifier: StreamingClassifier) -> None:
        """Teach the embedding to a classifier."""
        classifier.learn(self.embedding, self.label, id=self.id, time=self.time)

    def __str__(self) -> str:
        return f"teaching {self.label!r}"


@dataclass(frozen=True)
class Forget:
    """Forget a label."""

    label: str
    step: Step | None = None

    def apply(self, classifier: StreamingClassifier) -> None:
        """Make a classifier forget the label."""
        classifier.forget(self.label)

    def __str__(self) -> str:
        return f"forgetting {self.label!r}"


@dataclass(frozen=True)
class Remove:
    """Remove samples."""

    ids: tuple[str, ...]
    step: Step | None = None

    def apply(self, classifier: StreamingClassifier) -> None:
        """Remove the samples from a classifier."""
        classifier.remove(self.ids)

    def __str__(self) -> str:
        return f"removing {plural(len(self.ids), 'picture')}"


@dataclass(frozen=True)
class Rename:
    """Rename a label, or join it with the label that has the new name."""

    label: str
    new: str
    step: Step | None = None

    def apply(self, classifier: StreamingClassifier) -> None:
        """Rename the label in a classifier."""
        classifier.rename(self.label, self.new)

    def __str__(self) -> str:
        return f"renaming {self.label!r} to {self.new!r}"


@dataclass(frozen=True)
class Undo:
    """Undo the last step that has not been undone."""


Operation = Teach | Forget | Remove | Rename


def to_words(operation: Operation | Undo) -> list[Any]:
    """Return an operation as a list of words. The embedding of a Teach is stored separately.

    >>> to_words(Rename("mug", "cup"))
    ['rename', 'mug', 'cup']
    >>> to_words(Forget("mug", Step("tidying up", "5e1f")))
    ['forget', 'mug', {'step': '5e1f', 'description': 'tidying up'}]
    """
    match operation:
        case Teach(label, id=id, time=time):
            words = ["teach", label, id, time]
        case Forget(label):
            words = ["forget", label]
        case Remove(ids):
            words = ["remove", *ids]
        case Rename(label, new):
            words = ["rename", label, new]
        case Undo():
            return ["undo"]
    return [*words, step_words(operation.step)] if operation.step else words


def from_words(words: object, embedding: NDArray[Any] | None) -> Operation | Undo:
    """Return the operation that a list of words describes.

    Args:
        words: The words, as `to_words` returns them.
        embedding: The embedding, if the operation is a Teach.

    Raises:
        ValueError: The words describe no operation.
    """
    step = None
    match words:
        case [*rest, {"step": _} as described]:
            words, step = rest, step_from_words(described)
    match words:
        case ["teach", str(label), id, time] if embedding is not None:
            return Teach(_printable(label), embedding, step, valid_id(id), valid_time(time))
        case ["forget", str(label)]:
            return Forget(_printable(label), step)
        case ["remove", *ids] if ids:
            return Remove(tuple(map(valid_id, ids)), step)
        case ["rename", str(label), str(new)]:
            return Rename(_printable(label), _printable(new), step)
        case ["undo"]:
            return Undo()
    raise ValueError("unknown operation")


def stored_embedding(embedding: ArrayLike) -> NDArray[Any]:
    """Return a copy of an embedding to store: float32 if it is float32, otherwise float64."""
    array = np.asarray(embedding)
    return np.array(array, np.float32 if array.dtype == np.float32 else np.float64)


def start_of_last_step(operations: tuple[Operation, ...]) -> int:
    """Return the position of the first operation of the last step; 0 if there are no operations.

    >>> step = Step()
    >>> start_of_last_step((Forget("mug"), Forget("pan", step), Forget("jar", step)))
    1
    """
    start = max(len(operations) - 1, 0)
    while start and same_step(operations[start - 1].step, operations[start].step):
        start -= 1
    return start


def described(operations: tuple[Operation, ...]) -> str:
    """Return what the operations of a step did.

    >>> lessons = [Teach(label, np.zeros(2)) for label in ("mug", "pan", "mug")]
    >>> described(tuple(lessons))
    "teaching 3 pictures of 'mug', 'pan'"
    """
    step = operations[0].step
    if step is not None and step.description is not None:
        return step.description
    if len(operations) == 1:
        return str(operations[0])
    taught = [operation.label for operation in operations if isinstance(operation, Teach)]
    parts = [teaching(len(taught), dict.fromkeys(taught))] if taught else []
    others = [str(operation) for operation in operations if not isinstance(operation, Teach)]
    return listed([*parts, *others], "other change")


def taught_after(base: ClassifierState, operations: tuple[Operation, ...]) -> ClassifierState:
    """Return what was taught after some operations, with counts of folded samples only.

    >>> lessons = Teach("mug", np.zeros(3)), Rename("mug", "cup"), Teach("cup", np.ones(3))
    >>> taught_after(ClassifierState((), ()), lessons).counts
    {'cup': 2}
    """
    samples = {sample.id: sample for sample in base.samples}
    folded = base.folded_counts
    for operation in operations:
        match operation:
            case Teach(label, embedding, id=id, time=time):
                samples.setdefault(id, Sample(label, embedding, id, time))
            case Remove(ids):
                removed = set(ids)
                samples = {id: each for id, each in samples.items() if id not in removed}
            case Forget(label):
                folded.pop(label, None)
                samples = {id: each for id, each in samples.items() if each.label != label}
            case Rename(label, new) if new != label:
                if new in folded:
                    folded[new] += folded.pop(label, 0)
                folded = {new if each == label else each: n for each, n in folded.items()}
                samples = {
                    id: Sample(new, each.embedding, id, each.time) if each.label == label else each
                    for id, each in samples.items()
                }
    taught = {sample.label for sample in samples.values()}
    known = {label: count for label, count in folded.items() if count or label in taught}
    counts = {"counts": np.array(list(known.values()))} if known else {}
    return ClassifierState(tuple(known), tuple(samples.values()), counts)


def valid_id(id: object) -> str:
    """Return the id of a sample.

    Raises:
        ValueError: It cannot be one.
    """
    if not (isinstance(id, str) and re.fullmatch("[0-9a-f]{32}", id)):
        raise ValueError("sample with an id that is not 32 hexadecimal digits")
    return id


def valid_time(time: object) -> float:
    """Return when a sample was taught.

    Raises:
        ValueError: It cannot be a time: it is no number, or no calendar has it.
    """
    if isinstance(time, bool) or not (isinstance(time, int | float) and 0 <= time <= LATEST):
        raise ValueError("sample with a time that is not a number of seconds since 1970")
    return float(time)


def _printable(label: str) -> str:
    # A printable label cannot send control sequences to a terminal when it is shown.
    if not label.isprintable():
        raise ValueError("label with control characters")
    return label
