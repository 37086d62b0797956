"""The contract of every classifier: learn one vector at a time, score many.

This file checks the input and keeps the labels; a classifier adds its arithmetic. A row is a
label's place in the order of teaching, and a classifier keeps its per-label numbers by row.
"""

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.errors import (
    FeatureError,
    InexactError,
    LabelError,
    NothingTaughtError,
    RobocleError,
    StateError,
    UnknownLabelError,
)
from robocle.types import Scores

if TYPE_CHECKING:
    from robocle.classifiers.scatter.leave_one_out import LeaveOneOut

MAX_LABEL_LENGTH = 200
LARGEST = 1e140  # a number whose square and sums of it are numbers still
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ClassifierState:
    """All a classifier has learnt, ready to be stored: its labels, and arrays by name."""

    labels: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]

    def take(self, name: str, *shape: int | None) -> Matrix:
        """A copy of an array of finite numbers; None in the shape stands for any length."""
        return np.array(self.look(name, *shape), np.float64)

    def look(self, name: str, *shape: int | None) -> NDArray[Any]:
        """The array itself, to be read only."""
        array = self.arrays.get(name)
        if array is None:
            raise StateError(f"state lacks the array {name!r}")
        fits = len(array.shape) == len(shape) and all(
            wanted is None or found == wanted
            for found, wanted in zip(array.shape, shape, strict=True)
        )
        if not fits:
            raise StateError(f"state array {name!r} has shape {array.shape}, expected {shape}")
        largest = array.max(initial=0) if array.dtype.kind in "fiu" else np.inf
        if not (largest <= LARGEST and array.min(initial=0) >= -LARGEST):  # NaN is not, either
            raise StateError(f"state array {name!r} holds values that are not finite numbers")
        return array


def appended(rows: Matrix, new: Vector) -> Matrix:
    """The rows with a new one at the end; the first row gives the width."""
    return np.vstack([rows, new]) if len(rows) else new[None].copy()


def require_label(label: str) -> str:
    """Refuse a label that cannot be shown on one line."""
    if not isinstance(label, str):
        raise LabelError(f"a label is text, not {type(label).__name__}")
    if not label.strip():
        raise LabelError("the label is empty: give the object a name")
    if len(label) > MAX_LABEL_LENGTH:
        raise LabelError(
            f"the label {label[:20]!r}... has {len(label)} characters: "
            f"use at most {MAX_LABEL_LENGTH}"
        )
    if not label.isprintable():
        raise LabelError(f"the label {label!r} holds control characters: use plain text")
    return label


class StreamingClassifier(ABC):
    """Learns labelled vectors one at a time; labels appear when they are taught."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._counts: list[int] = []
        self.width: int | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first sample."""
        return tuple(self._labels)

    @property
    def counts(self) -> dict[str, int]:
        """How many samples each label was taught with."""
        return dict(zip(self._labels, self._counts, strict=True))

    def learn(self, vector: ArrayLike, label: str) -> None:
        """Learn one labelled vector."""
        require_label(label)
        sample = self._checked(np.asarray(vector, np.float64), 1)
        self.width = len(sample)
        if label not in self._labels:
            self._append(label)
        row = self._labels.index(label)
        self._learn(sample, row)
        self._counts[row] += 1

    def scores(self, vectors: ArrayLike) -> Scores:
        """How well each vector (n, width) fits each label: (n, labels), higher is better."""
        if not self._labels:
            raise NothingTaughtError
        return self._scores(self._checked(np.asarray(vectors, np.float64), 2))

    def linear(self) -> tuple[Matrix, Vector]:
        """W and b with scores = W z + b, up to a term that all labels have in common."""
        raise InexactError(f"{type(self).__name__} is not linear: only ncm and slda are")

    def leave_one_out(self) -> "LeaveOneOut | None":
        """What it would have said of its own samples, had it not learnt them; None if it cannot."""
        return None

    def forget(self, label: str) -> None:
        """Forget a label."""
        row = self._row(label)
        self._forget(row)
        del self._labels[row], self._counts[row]

    def rename(self, label: str, new: str) -> None:
        """Give a label another name that is not taken."""
        row = self._row(label)
        require_label(new)
        if new in self._labels:
            raise LabelError(f"cannot rename {label!r} to {new!r}: that label is taught already")
        self._labels[row] = new

    @property
    def forgets_exactly(self) -> bool:
        """Whether a forgotten label leaves nothing, as if it had never been taught."""
        return False

    def merge(self, other: "StreamingClassifier") -> None:
        """Add what another classifier of the same spec has learnt, as if it was taught here.

        Labels of the same name are one label. The other stays as it is.
        """
        self._require_mergeable(other)
        if not other._labels:
            return
        other = copy.deepcopy(other) if other is self else other
        self.width = other.width
        for label in other._labels:
            if label not in self._labels:
                self._append(label)
        rows = [self._labels.index(label) for label in other._labels]
        self._merge(other, rows)
        for row, count in zip(rows, other._counts, strict=True):
            self._counts[row] += count

    def state(self) -> ClassifierState:
        """All that was learnt."""
        counts = np.array(self._counts, np.int64)
        return ClassifierState(self.labels, {"counts": counts, **self._state()})

    def restore(self, state: ClassifierState) -> None:
        """Take over what another classifier of the same spec has learnt."""
        counts = state.take("counts", len(state.labels))
        if len(set(state.labels)) != len(state.labels) or (counts < 1).any():
            raise StateError("state has a label twice, or one without samples")
        before = self.__dict__.copy()
        try:
            self._labels = [require_label(label) for label in state.labels]
            self._counts = [int(count) for count in counts]
            self.width = self._restore(state)
        except RobocleError:
            self.__dict__ = before
            raise

    def _append(self, label: str) -> None:
        self._labels.append(label)
        self._counts.append(0)
        self._add_row()

    def _require_mergeable(self, other: "StreamingClassifier") -> None:
        mine, theirs = self._options(), other._options()
        if type(other) is not type(self) or mine != theirs:
            raise InexactError(
                f"a {type(self).__name__} with {mine} cannot be merged with a "
                f"{type(other).__name__} with {theirs}: only equal classifiers add up"
            )
        if None not in (self.width, other.width) and self.width != other.width:
            raise FeatureError(
                f"cannot merge vectors of {other.width} entries with vectors of {self.width}"
            )
        reason = self._why_no_merge()
        if reason:
            raise InexactError(f"{type(self).__name__} cannot be merged: {reason}")

    def _options(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _why_no_merge(self) -> str | None:
        """Why two classifiers of this kind do not add up, or None if they do."""
        return "what it learns depends on the order of the samples; use ncm or slda:scatter=exact"

    def _merge(self, other: Any, rows: list[int]) -> None:
        """Add another's numbers; `rows` are its labels here, whose counts are those before."""
        raise NotImplementedError

    def _row(self, label: str) -> int:
        if label not in self._labels:
            raise UnknownLabelError(f"{label!r} was never taught", label)
        return self._labels.index(label)

    def _checked(self, vectors: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
        if vectors.ndim != axes or vectors.shape[-1] == 0:
            wanted = "one vector" if axes == 1 else "vectors (n, width)"
            raise FeatureError(f"expected {wanted}, not an array of shape {vectors.shape}")
        if self.width is not None and vectors.shape[-1] != self.width:
            raise FeatureError(f"a vector has {vectors.shape[-1]} entries, not {self.width}")
        if not np.isfinite(vectors).all():
            raise FeatureError("a vector holds NaN or infinite values: check where it comes from")
        return vectors

    @abstractmethod
    def _add_row(self) -> None:
        """Make room for a new label. The width is known."""

    @abstractmethod
    def _learn(self, sample: Vector, row: int) -> None:
        """Learn a sample; `self._counts[row]` is still the count before it."""

    @abstractmethod
    def _scores(self, vectors: Matrix) -> Scores:
        """Score checked vectors; at least one label was taught."""

    @abstractmethod
    def _forget(self, row: int) -> None:
        """Remove a row. `self._labels` and `self._counts` still hold it."""

    @abstractmethod
    def _state(self) -> Arrays:
        """The arrays besides the counts."""

    @abstractmethod
    def _restore(self, state: ClassifierState) -> int | None:
        """Take over the arrays; labels and counts are set. Gives the width, None if none yet."""
