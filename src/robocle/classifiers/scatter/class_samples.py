"""Samples as rows of one class after another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.helmert import contrasts_of
from robocle.classifiers.state import Matrix

# Samples that were computed from sums differ from the taught ones by less than this, relative to
# their largest entry.
ROUNDING = 1e-12


def float32_if_exact(exact: Matrix) -> NDArray[np.float32] | None:
    """Return rows in float32, or None if it does not hold them up to float64's rounding errors."""
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    errors = np.abs(rounded - exact).max(axis=1, initial=0.0)
    fits = (errors <= ROUNDING * np.abs(exact).max(axis=1, initial=0.0)).all()
    return rounded if fits else None


def _class_slices(counts: Sequence[int]) -> list[slice]:
    ends = np.cumsum(np.array(counts, np.int64)).tolist()
    return [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]


def class_means(samples: Matrix, counts: Sequence[int]) -> Matrix:
    """Return the mean of each class."""
    return np.array([samples[own].mean(axis=0) for own in _class_slices(counts)])


def class_contrasts(samples: Matrix, counts: Sequence[int]) -> Matrix:
    """Return the rows that the classes contribute to the scatter, one class after another."""
    contrasts = np.empty((len(samples) - len(counts), samples.shape[1]))
    start = 0
    for own, count in zip(_class_slices(counts), counts, strict=True):
        contrasts[start : start + count - 1] = contrasts_of(samples[own])
        start += count - 1
    return contrasts


@dataclass(frozen=True, eq=False)
class TaughtEmbeddings:
    """The samples of one class after another, as a state holds them. They never change."""

    rows: NDArray[Any]
    """They are read-only: a classifier shares them with its states."""
    counts: tuple[int, ...]
    """The number of samples per class."""

    @classmethod
    def of(cls, rows: NDArray[Any], counts: Sequence[int]) -> "TaughtEmbeddings":
        """Return samples. If they can be written to, they are copied."""
        if rows.flags.writeable:
            rows = rows.copy()
            rows.flags.writeable = False
        return cls(rows, tuple(counts))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the samples, which are read-only again."""
        self.__dict__.update(state)
        self.rows.flags.writeable = False

    def __deepcopy__(self, memo: dict[int, object]) -> "TaughtEmbeddings":
        """Return the samples themselves, because they never change."""
        return self

    def joined(self, later: NDArray[np.float32], counts: Sequence[int]) -> "TaughtEmbeddings":
        """Return these samples and later ones.

        Args:
            later: The later samples of one class after another.
            counts: The number of samples per class, with the later ones. Classes may be new.
        """
        before = self.counts + (0,) * (len(counts) - len(self.counts))
        added = [number - known for number, known in zip(counts, before, strict=True)]
        rows = np.empty((sum(counts), later.shape[1]), np.float32)
        each = zip(*map(_class_slices, (counts, before, added)), before, strict=True)
        for whole, known, new, number in each:
            rows[whole][:number] = self.rows[known]
            rows[whole][number:] = later[new]
        rows.flags.writeable = False
        return TaughtEmbeddings(rows, tuple(counts))
