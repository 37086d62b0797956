"""The state of a classifier: its labels, its arrays, and which labels own the rows of an array."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robocle.errors import StateError

# Squares of values up to this size, and products of squares, are finite. Sums of the squares of
# embeddings are smaller by far.
LARGEST_STORED = 1e75
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Deferred(Protocol):
    """An array of a state that is computed each time it is read."""

    @property
    def nbytes(self) -> int:
        """The number of bytes that the array takes."""
        ...

    def array(self) -> NDArray[Any]:
        """Return the array."""
        ...


Arrays = dict[str, NDArray[Any] | Deferred]


class StateArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a state by name, of which some are computed when they are read.

    A state that the undo history keeps is seldom read. Until then, it shares its large arrays with
    the classifier, in the layout that the classifier works on.

    Args:
        arrays: The arrays.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        found = self._arrays[name]
        return found if isinstance(found, np.ndarray) else found.array()

    @property
    def is_deferred(self) -> bool:
        """Whether one of the arrays is computed when it is read."""
        return not all(isinstance(array, np.ndarray) for array in self._arrays.values())

    @property
    def nbytes(self) -> int:
        """The number of bytes that all arrays take. None is computed for that."""
        return sum(array.nbytes for array in self._arrays.values())

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def size_of(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of bytes that the arrays of a state take."""
    if isinstance(arrays, StateArrays):
        return arrays.nbytes
    return sum(array.nbytes for array in arrays.values())


@dataclass(frozen=True)
class ClassifierState:
    """Everything a classifier has learned, ready to be stored.

    A state that was read from a file may contain anything, so the shape of each array is checked
    when it is read.

    >>> state = ClassifierState(("mug",), {"counts": np.array([3])})
    >>> state.copied("counts", 1)
    array([3.])
    >>> state.copied("means", 1, None)
    Traceback (most recent call last):
    robocle.errors.StateError: state lacks the array 'means'
    """

    labels: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]
    """All arrays by name."""
    prefix: str = ""
    """The prefix of the names of the arrays in this view, such as "0."."""

    def within(self, prefix: str) -> "ClassifierState":
        """Return a view of the arrays whose names begin with a prefix."""
        return replace(self, prefix=self.prefix + prefix)

    def has(self, name: str) -> bool:
        """Return whether there is an array of this name."""
        return self.prefix + name in self.arrays

    def copied(self, name: str, *shape: int | None) -> Matrix:
        """Return a float64 copy of an array; see `checked`."""
        return np.array(self.checked(name, *shape), np.float64)

    def counts(self) -> list[int]:
        """Return the number of samples of each label.

        Raises:
            StateError: A label occurs twice, or its number of samples cannot be one.
        """
        counts = self.copied("counts", len(self.labels))
        # Larger numbers are not exact, and some functions of numpy do not take them.
        possible = bool((counts >= 1).all() and (counts <= 2**53).all())
        if len(set(self.labels)) != len(self.labels) or not possible:
            raise StateError("state has a duplicate label, or a label without samples")
        return [int(count) for count in counts]

    def checked(self, name: str, *shape: int | None) -> NDArray[Any]:
        """Return an array as it is stored. The caller must not modify it.

        Args:
            name: The name of the array, without the prefix.
            shape: The expected shape; None stands for any length.

        Raises:
            StateError: The array is missing, has a different shape, or contains a value that is not
                a finite number.
        """
        name = self.prefix + name
        array = self.arrays.get(name)
        if array is None:
            raise StateError(f"state lacks the array {name!r}")
        fits = len(array.shape) == len(shape) and all(
            wanted is None or found == wanted
            for found, wanted in zip(array.shape, shape, strict=True)
        )
        if not fits:
            raise StateError(f"state array {name!r} has shape {array.shape}, expected {shape}")
        largest = float(array.max(initial=0)) if array.dtype.kind in "fiu" else np.inf
        # Written so that it is true for NaN, too.
        if not (largest <= LARGEST_STORED and float(array.min(initial=0)) >= -LARGEST_STORED):
            raise StateError(f"state array {name!r} contains values that are not finite numbers")
        return array

    def whole(self, name: str, *shape: int | None) -> NDArray[np.int64]:
        """Return an array of whole numbers.

        Args:
            name: Its name.
            shape: The expected shape; None stands for any length.

        Raises:
            StateError: The array is missing or damaged, or a number in it is too large.
        """
        numbers = self.copied(name, *shape)
        if np.abs(numbers).max(initial=0) > 2**53:
            raise StateError(f"state array {name!r} has a number that is too large")
        return numbers.astype(np.int64)

    def split(self, name: str, counts: str, width: int) -> list[NDArray[Any]]:
        """Split an array that holds the rows of one label after another.

        Args:
            name: The array of rows.
            counts: The array with the number of rows per label.
            width: The length of a row.

        Returns:
            The rows of each label.

        Raises:
            StateError: An array is missing or damaged, or the counts do not add up.
        """
        rows = self.checked(name, None, width)
        sizes = self.whole(counts, len(self.labels))
        if (sizes < 0).any() or sizes.sum() != len(rows):
            raise StateError(f"state array {counts!r} does not match the rows of {name!r}")
        ends = np.cumsum(sizes).tolist()
        return [rows[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]


@dataclass(frozen=True)
class OneRowPerLabel:
    """Row i of the array belongs to label i."""


@dataclass(frozen=True)
class RowsCountedBy:
    """The array holds the rows of one label after another; a second array holds their numbers."""

    counts: str
    """The name of the array with the number of rows per label."""


@dataclass(frozen=True)
class Shared:
    """The array belongs to all labels: damage to it cannot be attributed to one label."""


Ownership = OneRowPerLabel | RowsCountedBy | Shared
"""Which labels own the rows of an array. Arrays with one axis are always shared."""


def owners(
    state: ClassifierState, name: str, rows: Iterable[int], ownership: Ownership
) -> set[str]:
    """Return the labels that own the given rows of an array.

    Args:
        state: The state that holds the array.
        name: The name of the array.
        rows: The indices of the rows.
        ownership: What the classifier declares for this array.

    Raises:
        StateError: The array is shared by all labels.

    >>> state = ClassifierState(("mug", "cup"), {"sizes": np.array([1, 2])})
    >>> sorted(owners(state, "rows", [1, 2], RowsCountedBy("sizes")))
    ['cup']
    """
    match ownership:
        case OneRowPerLabel():
            return {state.labels[row] for row in rows}
        case RowsCountedBy(counts):
            labels = np.repeat(np.arange(len(state.labels)), state.arrays[counts])
            return {state.labels[labels[row]] for row in rows}
        case Shared():
            raise StateError(f"{name} is damaged, and all labels share it")
