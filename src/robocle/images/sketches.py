"""Sketches: 64 bytes per taught picture, which show when the same picture is taught again.

A sketch has 64 random projections of the direction of an embedding, rounded to 8 bits. The distance
of two sketches estimates the distance of the two directions with a standard error of 9 %. An
embedding cannot be computed from its sketch.
"""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PROJECTIONS = 64
MOST = 20_000
"""How many pictures are remembered. The oldest are dropped."""
DUPLICATE = 0.2
"""The minimum distance of two sketches. It is below `quality.DUPLICATE` because of the error."""
SAME = 0.02
"""Sketches of the same picture differ by less, because embeddings are rounded."""
STEPS = 32  # per unit, which is the standard deviation of a projection

Rows = NDArray[np.int8]


class Similar(NamedTuple):
    """The taught picture that is most similar to another one."""

    distance: float
    """The distance of the directions of both embeddings: 0 for the same picture, at most 2."""
    label: str


def sketch(embedding: NDArray[Any]) -> Rows:
    """Return the sketch of an embedding.

    >>> sketch(np.ones(12)).shape
    (64,)
    """
    values = np.nan_to_num(np.ravel(embedding).astype(np.float64), posinf=0, neginf=0)
    values = values / (np.abs(values).max(initial=0) or 1.0)  # so that no square overflows
    direction = (values / (np.linalg.norm(values) or 1.0)).astype(np.float32)
    projected = direction @ _projections(len(direction))
    row: Rows = np.clip(np.rint(STEPS * projected), -127, 127).astype(np.int8)
    return row


@lru_cache(maxsize=4)
def _projections(width: int) -> NDArray[np.float32]:
    """Return a matrix of random signs that is the same on every machine and in every version."""
    bits = hashlib.shake_128(b"robocle sketch").digest(width * PROJECTIONS // 8)
    signs = 2 * np.unpackbits(np.frombuffer(bits, np.uint8)).astype(np.float32) - 1
    return signs.reshape(width, PROJECTIONS)


@dataclass(frozen=True, eq=False)
class Sketches:
    """The sketches of taught pictures with their labels, oldest first.

    Example:
        >>> taught = Sketches().added([sketch(np.array([1.0, 0.0]))], ["mug"])
        >>> taught.nearest(sketch(np.array([2.0, 0.0])))
        Similar(distance=0.0, label='mug')
    """

    rows: Rows = field(default_factory=lambda: np.zeros((0, PROJECTIONS), np.int8))
    """(n, PROJECTIONS)"""
    owners: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """The index of the label of each sketch, (n,)."""
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def added(self, rows: list[Rows], labels: list[str]) -> "Sketches":
        """Return the sketches with more of them; the oldest are dropped if there are too many."""
        if not rows:
            return self
        names = tuple(dict.fromkeys((*self.labels, *labels)))
        numbers = {label: number for number, label in enumerate(names)}
        owners = np.array([numbers[label] for label in labels], np.int32)
        return Sketches(
            np.concatenate([self.rows, np.array(rows)])[-MOST:],
            np.concatenate([self.owners, owners])[-MOST:],
            names,
        )

    def without(self, label: str) -> "Sketches":
        """Return the sketches of the other labels."""
        if label not in self.labels:
            return self
        gone = self.labels.index(label)
        kept = self.owners != gone
        owners = self.owners[kept]
        labels = (*self.labels[:gone], *self.labels[gone + 1 :])
        return Sketches(self.rows[kept], owners - (owners > gone).astype(np.int32), labels)

    def renamed(self, label: str, new: str) -> "Sketches":
        """Return the sketches with another name for a label."""
        labels = tuple(new if each == label else each for each in self.labels)
        return Sketches(self.rows, self.owners, labels)

    def nearest(self, row: Rows) -> Similar | None:
        """Return the most similar picture; None if there is none."""
        if not len(self):
            return None
        rows = self.rows.astype(np.float32)
        rows -= row
        squares = np.einsum("ij,ij->i", rows, rows)
        best = int(squares.argmin())
        distance = float(np.sqrt(squares[best] / PROJECTIONS)) / STEPS
        return Similar(distance, self.labels[self.owners[best]])
