"""What can be done to a state, as values: to be applied, written down and read again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier


@dataclass(frozen=True, eq=False)
class Teach:
    """Teach a vector."""

    label: str
    vector: NDArray[Any]

    def apply(self, classifier: StreamingClassifier) -> None:
        classifier.learn(self.vector, self.label)

    def __str__(self) -> str:
        return f"teaching {self.label!r}"


@dataclass(frozen=True)
class Forget:
    """Forget a label."""

    label: str

    def apply(self, classifier: StreamingClassifier) -> None:
        classifier.forget(self.label)

    def __str__(self) -> str:
        return f"forgetting {self.label!r}"


@dataclass(frozen=True)
class Rename:
    """Give a label another name."""

    label: str
    new: str

    def apply(self, classifier: StreamingClassifier) -> None:
        classifier.rename(self.label, self.new)

    def __str__(self) -> str:
        return f"renaming {self.label!r} to {self.new!r}"


@dataclass(frozen=True)
class Undo:
    """Take back the last operation that still stands."""


Operation = Teach | Forget | Rename


def described(operation: Operation | Undo) -> list[str]:
    """The operation as words, without a vector."""
    match operation:
        case Teach(label):
            return ["teach", label]
        case Forget(label):
            return ["forget", label]
        case Rename(label, new):
            return ["rename", label, new]
        case Undo():
            return ["undo"]


def from_words(words: object, vector: NDArray[Any] | None) -> Operation | Undo:
    """The operation that the words describe; ValueError if they describe none."""
    match words:
        case ["teach", str(label)] if vector is not None:
            return Teach(_plain(label), vector)
        case ["forget", str(label)]:
            return Forget(_plain(label))
        case ["rename", str(label), str(new)]:
            return Rename(_plain(label), _plain(new))
        case ["undo"]:
            return Undo()
    raise ValueError("an operation that robocle does not know")


def as_embedding(vector: NDArray[Any]) -> NDArray[Any]:
    """A copy to be kept: float32 as it came from a backbone, float64 otherwise."""
    return np.array(vector, np.float32 if vector.dtype == np.float32 else np.float64)


def counts_after(counts: dict[str, int], operations: tuple[Operation, ...]) -> dict[str, int]:
    """How often each label was taught after the operations."""
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


def _plain(label: str) -> str:
    # What is printable cannot play tricks on a terminal when it is shown.
    if not label.isprintable():
        raise ValueError("a label that is not plain text")
    return label
