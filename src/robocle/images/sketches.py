"""Sketches: 64 bytes per taught picture, which show when the same picture is taught again.

A sketch has 64 random projections of the direction of an embedding, rounded to 8 bits. The distance
of two sketches estimates the distance of the two directions with a standard error of 9 %.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PROJECTIONS = 64
DUPLICATE = 0.17
"""The minimum distance of two sketches. It is below `quality.DUPLICATE` because of the error."""
SAME = 0.02
"""Sketches of the same picture differ by less, because embeddings are rounded."""
AT_ONCE = 256  # embeddings whose sketches are computed together
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
    return sketches_of([np.ravel(embedding)])[0]


def sketches_of(embeddings: Sequence[NDArray[Any]]) -> list[Rows]:
    """Return the sketches of embeddings of one width."""
    found: list[Rows] = []
    for start in range(0, len(embeddings), AT_ONCE):
        values = np.array(embeddings[start : start + AT_ONCE], np.float64)
        values = np.nan_to_num(values, posinf=0, neginf=0)
        largest = np.abs(values).max(axis=1, initial=0, keepdims=True)
        values /= np.where(largest > 0, largest, 1.0)  # so that no square overflows
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        directions = (values / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
        projected = directions @ _projections(directions.shape[1])
        found += list(np.clip(np.rint(STEPS * projected), -127, 127).astype(np.int8))
    return found


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
    labels: tuple[str, ...] = ()
    """The label of each sketch."""

    def __len__(self) -> int:
        return len(self.rows)

    def added(self, rows: list[Rows], labels: list[str]) -> "Sketches":
        """Return the sketches with more of them."""
        if not rows:
            return self
        return Sketches(np.concatenate([self.rows, np.array(rows)]), (*self.labels, *labels))

    def nearest(self, row: Rows) -> Similar | None:
        """Return the most similar picture; None if there is none."""
        if not len(self):
            return None
        rows = self.rows.astype(np.float32)
        rows -= row
        squares = np.einsum("ij,ij->i", rows, rows)
        best = int(squares.argmin())
        distance = float(np.sqrt(squares[best] / PROJECTIONS)) / STEPS
        return Similar(distance, self.labels[best])
