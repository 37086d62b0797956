"""Operations that change a state, as values that can be applied, written and read back.

Operations with the same step are undone together. An operation without a step is undone alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers import StreamingClassifier
from robocle.images.sketches import Sketches, sketch
from robocle.store.steps import (
    Step,
    listed,
    same_step,
    step_from_words,
    step_words,
    teaching,
)


@dataclass(frozen=True, eq=False)
class Teach:
    """Teach an embedding under a label."""

    label: str
    embedding: NDArray[Any]
    step: Step | None = None

    def apply(self, classifier: StreamingClassifier) -> None:
        """Teach the embedding to a classifier."""
        classifier.learn(self.embedding, self.label)

    @cached_property
    def sketch(self) -> NDArray[np.int8]:
        """The sketch of the embedding, to notice when the same picture is taught again."""
        return sketch(self.embedding)

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
class Rename:
    """Give a label another name."""

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


Operation = Teach | Forget | Rename


def to_words(operation: Operation | Undo) -> list[Any]:
    """Return an operation as a list of words. The embedding of a Teach is stored separately.

    >>> to_words(Rename("mug", "cup"))
    ['rename', 'mug', 'cup']
    >>> to_words(Forget("mug", Step("tidying up", "5e1f")))
    ['forget', 'mug', {'step': '5e1f', 'description': 'tidying up'}]
    """
    match operation:
        case Teach(label):
            words = ["teach", label]
        case Forget(label):
            words = ["forget", label]
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
        case ["teach", str(label)] if embedding is not None:
            return Teach(_printable(label), embedding, step)
        case ["forget", str(label)]:
            return Forget(_printable(label), step)
        case ["rename", str(label), str(new)]:
            return Rename(_printable(label), _printable(new), step)
        case ["undo"]:
            return Undo()
    raise ValueError("unknown operation")


def stored_embedding(embedding: ArrayLike) -> NDArray[Any]:
    """Return a copy of an embedding to store: float32 if it is float32, otherwise float64."""
    array = np.asarray(embedding)
    return np.array(array, np.float32 if array.dtype == np.float32 else np.float64)


def last_taught(operations: Iterable[Operation], label: str) -> NDArray[Any] | None:
    """Return the last embedding that the operations teach under a label, or None.

    >>> last_taught([Teach("mug", np.ones(2)), Rename("mug", "cup")], "cup").tolist()
    [1.0, 1.0]
    """
    for operation in reversed(list(operations)):
        match operation:
            case Teach(taught, embedding) if taught == label:
                return embedding
            case Forget(forgotten) if forgotten == label:
                return None
            case Rename(before, now) if now == label:
                label = before
    return None


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


def sketches_after(sketches: Sketches, operations: Iterable[Operation]) -> Sketches:
    """Return the sketches of all taught pictures after the operations."""
    taught: list[Teach] = []
    for operation in operations:
        if isinstance(operation, Teach):
            taught.append(operation)
            continue
        sketches = _with_taught(sketches, taught)
        taught = []
        match operation:
            case Forget(label):
                sketches = sketches.without(label)
            case Rename(label, new):
                sketches = sketches.renamed(label, new)
    return _with_taught(sketches, taught)


def _with_taught(sketches: Sketches, taught: list[Teach]) -> Sketches:
    return sketches.added([each.sketch for each in taught], [each.label for each in taught])


def counts_after(counts: dict[str, int], operations: tuple[Operation, ...]) -> dict[str, int]:
    """Return the number of pictures taught per label after the operations.

    >>> counts_after({"mug": 2}, (Rename("mug", "cup"), Teach("cup", np.zeros(3))))
    {'cup': 3}
    """
    counts = dict(counts)
    for operation in operations:
        match operation:
            case Teach(label):
                counts[label] = counts.get(label, 0) + 1
            case Forget(label):
                counts.pop(label, None)
            case Rename(label, new):
                counts = {new if name == label else name: n for name, n in counts.items()}
    return counts


def _printable(label: str) -> str:
    # A printable label cannot send control sequences to a terminal when it is shown.
    if not label.isprintable():
        raise ValueError("label with control characters")
    return label
