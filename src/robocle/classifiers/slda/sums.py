"""What samples add up to: counts, class means, and the scatter of each block.

A sample z of class y adds w v v^T to the scatter, where v = z - m_y is its deviation from the class
mean before it.
- `exact`: w = c / (c + 1), where c is the number of earlier samples of the class. The sum is then
  the within-class scatter, whatever the order of the samples.
- `published`: w = t / (t + 1), where t is the number of all earlier samples. A new class has the
  mean 0.

All points are relative to an origin, the world's mean if there is a world.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.samples import ClassifierState, Vector
from robocle.classifiers.scatter import Rows, Scatter
from robocle.errors import InexactError, StateError

ScatterKind = Literal["exact", "published"]

BATCH = 64  # rows that are added to a scatter at once, at most
LARGEST_COUNT = 2**53  # larger numbers are not exact


@dataclass(frozen=True, eq=False)
class SampleChange:
    """What one sample changes: S += weight v v^T, and the mean of its class += step v."""

    row: int
    deviation: Vector
    """v"""
    weight: float
    step: float
    id: str = ""
    """The id of the sample, if it was taught."""


class Sums:
    """The sums of samples with blocks of these widths.

    Args:
        widths: The width of each block.
        kind: `exact` or `published`.
        origin: What all points are relative to.
    """

    def __init__(self, widths: tuple[int, ...], kind: ScatterKind, origin: Vector) -> None:
        self.widths = widths
        self.kind = kind
        self.origin = origin
        self.counts: list[int] = []
        self.means = Rows(sum(widths))
        self.samples = 0
        self.freedom = 0
        self.largest = 0.0
        self._scatters = [Scatter(width, number) for number, width in enumerate(widths)]
        self.parts = parts_of(widths)
        self._rows = np.empty((BATCH, sum(widths)))  # that are not yet in the scatters
        self._waiting = 0  # how many of them

    @property
    def scatters(self) -> list[Scatter]:
        """The scatter of each block."""
        if self._waiting:
            rows, self._waiting = self._rows[: self._waiting], 0
            for scatter, part in zip(self._scatters, self.parts, strict=True):
                scatter.add(np.ascontiguousarray(rows[:, part]))
        return self._scatters

    def add(self, embedding: NDArray[Any], row: int, id: str = "") -> SampleChange:
        """Add a sample, and return what it changes."""
        self.require_classes(row + 1)
        count, mean = self.counts[row], self.means.view[row]
        before = self.samples if self.kind == "published" else count
        deviation = embedding - self.origin
        self.largest = max(self.largest, float(deviation.dot(deviation)))
        deviation -= mean
        lesson = SampleChange(row, deviation, before / (before + 1), 1 / (count + 1), id)
        mean += lesson.step * deviation
        self.counts[row] += 1
        self.samples += 1
        self.freedom += 1 if count or self.kind == "published" else 0
        if before:
            self._add_row(deviation, lesson.weight)
        return lesson

    def _add_row(self, deviation: Vector, weight: float) -> None:
        """Add weight v v^T to the scatters."""
        if self._waiting == len(self._rows):
            _ = self.scatters
        np.multiply(math.sqrt(weight), deviation, out=self._rows[self._waiting])
        self._waiting += 1

    def move(self, origin: Vector) -> None:
        """Make all points relative to another origin."""
        self.means = Rows(sum(self.widths), self.means.view + (self.origin - origin))
        self.origin = origin

    def copy(self) -> "Sums":
        """Return sums of their own with the same values."""
        found = self.nothing()
        found.counts, found.means = (
            list(self.counts),
            Rows(sum(self.widths), self.means.view.copy()),
        )
        found.samples, found.freedom, found.largest = self.samples, self.freedom, self.largest
        found._scatters = [scatter.copy() for scatter in self.scatters]
        return found

    def nothing(self) -> "Sums":
        """Return the sums of no samples, of the same kind."""
        return Sums(self.widths, self.kind, self.origin)

    def require_classes(self, number: int) -> None:
        """Add classes without samples until there are as many."""
        while len(self.counts) < number:
            self.counts.append(0)
            self.means.append(0.0)

    def select(self, rows: list[int]) -> None:
        """Keep these classes, in this order."""
        self.counts = [self.counts[row] for row in rows]
        self.means = Rows(sum(self.widths), self.means.view[rows])

    def join(self, row: int, into: int) -> None:
        """Make one class a part of another. The first is empty then.

        Raises:
            InexactError: The scatter is not exact.
        """
        self._join(self.counts[row], self.means.view[row], into)
        self.counts[row] = 0

    def _join(self, count: int, mean: Vector, into: int) -> None:
        """Add the mean of samples to a class. Their own scatter is known already."""
        if not count:
            return
        if self.kind == "published":  # it depends on the order of all samples
            raise InexactError(
                "sums of the published scatter cannot be merged or joined: use scatter=exact"
            )
        own, apart = self.counts[into], mean - self.means.view[into]
        if own:
            self.freedom += 1
            self._add_row(apart, own * count / (own + count))
        self.means.view[into] += apart * count / (own + count)
        self.counts[into] += count

    def merge(self, other: "Sums", rows: list[int]) -> None:
        """Add other sums. Their classes are these rows here.

        Raises:
            InexactError: The scatter is not exact.
        """
        means = other.means.view + (other.origin - self.origin)
        for theirs, into in enumerate(rows):
            self._join(other.counts[theirs], means[theirs], into)
        for mine, added in zip(self.scatters, other.scatters, strict=True):
            mine.plus(added)
        self.samples += other.samples
        self.freedom += other.freedom
        self.largest = max(self.largest, other.largest)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the sums as arrays, with means that are not relative to the origin."""
        packed = {f"scatter{n}": each.packed() for n, each in enumerate(self.scatters)}
        return {
            "counts": np.array(self.counts, np.int64),
            "means": self.means.view + self.origin,
            "totals": np.array([self.samples, self.freedom, self.largest]),
            **packed,
        }

    @classmethod
    def of(
        cls, state: ClassifierState, widths: tuple[int, ...], kind: ScatterKind, origin: Vector
    ) -> "Sums":
        """Return the sums of a state.

        Raises:
            StateError: An array is missing or damaged.
        """
        found = cls(widths, kind, origin)
        counts = state.array("counts", len(state.labels))
        samples, freedom, found.largest = state.array("totals", 3).tolist()
        possible = 0 <= freedom <= samples <= LARGEST_COUNT and counts.sum() <= samples
        if not (possible and (counts >= 0).all() and (counts == counts.round()).all()):
            raise StateError("state has impossible numbers of samples")
        found.samples, found.freedom = int(samples), int(freedom)
        found.counts = [int(count) for count in counts]
        means = state.array("means", len(state.labels), sum(widths))
        found.means = Rows(sum(widths), means - origin)
        for number, width in enumerate(widths):
            packed = state.array(f"scatter{number}", width * (width + 1) // 2)
            found._scatters[number] = Scatter.of(packed, width, number)
        return found


def parts_of(widths: Iterable[int]) -> list[slice]:
    """Return where each block is in an embedding.

    >>> parts_of((2, 3))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    ends = np.cumsum(list(widths)).tolist()
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
