"""The rows of the table of samples.

A row is a sample, what remains of one that was removed or folded, or a folded class: the mean of
the folded samples of a label, and their number.
"""

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.labels import plain_label
from robocle.classifiers.samples import LARGEST, Sample, embedding_numbers

LATEST = 2**53
"""The latest time that is taken from elsewhere, in microseconds: the year 2255."""
MICRO = 1_000_000
UNREADABLE = (ValueError, TypeError)
"""What reading a damaged row raises."""


class Row(NamedTuple):
    """A row. Its fields are the columns of the table; see `schema.sql`."""

    number: int | None
    """None for a row that is not in a file yet."""
    id: bytes
    origin: bytes
    label: str | None
    decided: int
    time: int
    changed: int
    pictures: int
    fold: int | None
    quality: str | None
    sketch: bytes | None
    crc: int | None
    bits: int | None
    embedding: bytes | None

    @property
    def decision(self) -> tuple[int, str]:
        """What decides between two versions of a row: the larger one wins."""
        return self.decided, self.label or ""

    def order(self) -> tuple[int, bytes]:
        """Return what rows are sorted by, in the order in which they were taught."""
        return self.time, self.id

    def numbers(self) -> NDArray[Any]:
        """Return the embedding.

        Raises:
            ValueError: Its bytes are not what was stored.
        """
        return unpacked(self.embedding, self.crc, self.bits)

    def sample(self) -> Sample:
        """Return the sample; see `numbers`."""
        values = self.label or "", self.numbers(), self.id.hex(), self.time / MICRO
        return Sample(*values, faults=self.quality or "")


def checked(values: Iterable[Any]) -> Row:
    """Return a row as it was read, whose values SQLite has checked.

    Raises:
        ValueError: A text cannot be shown on one line.
    """
    row = Row(*values)
    if row.label is not None:
        plain_label(row.label)
    if not str(row.quality or "").isprintable():
        raise ValueError("a sample with faults that are no text")
    return row


def packed(numbers: NDArray[Any]) -> tuple[int, int, bytes]:
    """Return the checksum, the bits and the bytes of an array of float32 or float64."""
    content = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()
    return zlib.crc32(content), 8 * numbers.itemsize, content


def unpacked(
    content: object, crc: object, bits: int | None, largest: float = 2 * LARGEST
) -> NDArray[Any]:
    """Return an array, given its bytes.

    Args:
        content: The bytes.
        crc: Their checksum.
        bits: Of each number.
        largest: The largest absolute value of a number. Means of embeddings may be rounded up.

    Raises:
        ValueError: They are not what was stored.
    """
    if not isinstance(content, bytes) or zlib.crc32(content) != crc or not bits:
        raise ValueError("a checksum is wrong")
    values = np.frombuffer(content, f"<f{bits // 8}")
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return embedding_numbers(values, 1, largest)
