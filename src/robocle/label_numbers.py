"""One number per label, kept as an array and read as a dict.

With 10,000 labels, building the dicts of a prediction takes longer than everything else in it,
except the product of its matrix and vector. Most programs read one label, or a few of the best. So
a dict is built when it is first read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")

# The best rows are selected before they are sorted if fewer than one in so many is wanted.
FEW = 8


@dataclass(frozen=True, eq=False, slots=True)
class LabelNumbers:
    """One number per label. They never change.

    Example:
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
    """A dict that is built when it is first read, as by `functools.cached_property`.

    A dict that was given, or built, is among the variables of the instance and hides this.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> dict[str, float]:
        values: dict[str, Any] = {} if instance is None else vars(instance)
        kept: LabelNumbers | None = values.get(_kept(self._name))
        if kept is None:  # also of the class, so that a dataclass finds no default
            raise AttributeError(f"{owner.__name__!r} has no attribute {self._name!r}")
        # If two threads build it at once, both get the same dict.
        named: dict[str, float] = values.setdefault(self._name, kept.named())
        return named


def read_as_dicts(*names: str) -> Callable[[type[Value]], type[Value]]:
    """Return a decorator of a frozen dataclass whose dicts may be built when they are first read.

    `built` makes such instances. The constructor takes dicts, as that of any dataclass does.

    Args:
        names: The fields that are dicts of a number per label. They must have no default.
    """

    def decorated(kind: type[Value]) -> type[Value]:
        for name in names:
            setattr(kind, name, _ReadAsDict(name))
        return kind

    return decorated


def built(kind: type[Value], **values: Any) -> Value:
    """Return an instance of a dataclass with the decorator `read_as_dicts`.

    Args:
        kind: The dataclass. Its `__init__` is not called.
        values: All its fields; for dicts that are built when they are first read, label numbers.
    """
    found = kind.__new__(kind)
    for name, value in values.items():
        vars(found)[_kept(name) if isinstance(value, LabelNumbers) else name] = value
    return found


def numbers_of(instance: object, name: str) -> LabelNumbers:
    """Return the numbers of a field, without building its dict.

    Args:
        instance: An instance of a dataclass with the decorator `read_as_dicts`.
        name: The field.
    """
    return unread_numbers(instance, name) or LabelNumbers.of(getattr(instance, name))


def unread_numbers(instance: object, name: str) -> LabelNumbers | None:
    """Return the numbers of a field; None if there is a dict, which a program may have changed."""
    values = vars(instance)
    return None if name in values else values.get(_kept(name))


def _kept(name: str) -> str:
    """Return the name of the variable that keeps the numbers of a field."""
    return f"_{name}"
