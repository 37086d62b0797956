"""Operations that change a state, as values that can be applied, written and read back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers import StreamingClassifier


@dataclass(frozen=True, eq=False)
class Teach:
    """Teach an embedding under a label."""

    label: str
    embedding: NDArray[Any]

    def apply(self, classifier: StreamingClassifier) -> None:
        """Teach the embedding to a classifier."""
        classifier.learn(self.embedding, self.label)

    def __str__(self) -> str:
        return f"teaching {self.label!r}"


@dataclass(frozen=True)
class Forget:
    """Forget a label."""

    label: str

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

    def apply(self, classifier: StreamingClassifier) -> None:
        """Rename the label in a classifier."""
        classifier.rename(self.label, self.new)

    def __str__(self) -> str:
        return f"renaming {self.label!r} to {self.new!r}"


@dataclass(frozen=True)
class Undo:
    """Undo the last operation that has not been undone."""


Operation = Teach | Forget | Rename


def to_words(operation: Operation | Undo) -> list[str]:
    """Return an operation as a list of words. The embedding of a Teach is stored separately.

    >>> to_words(Rename("mug", "cup"))
    ['rename', 'mug', 'cup']
    """
    match operation:
        case Teach(label):
            return ["teach", label]
        case Forget(label):
            return ["forget", label]
        case Rename(label, new):
            return ["rename", label, new]
        case Undo():
            return ["undo"]


def from_words(words: object, embedding: NDArray[Any] | None) -> Operation | Undo:
    """Return the operation that a list of words describes.

    Args:
        words: The words, as `to_words` returns them.
        embedding: The embedding, if the operation is a Teach.

    Raises:
        ValueError: The words describe no operation.
    """
    match words:
        case ["teach", str(label)] if embedding is not None:
            return Teach(_printable(label), embedding)
        case ["forget", str(label)]:
            return Forget(_printable(label))
        case ["rename", str(label), str(new)]:
            return Rename(_printable(label), _printable(new))
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


def applied(operations: list[Operation], changes: list[Operation | Undo]) -> list[Operation]:
    """Return the operations followed by the changes; each Undo removes the operation before it.

    Raises:
        IndexError: There is nothing left to undo.
    """
    remaining = list(operations)
    for change in changes:
        if isinstance(change, Undo):
            remaining.pop()
        else:
            remaining.append(change)
    return remaining


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
