"""The records of a state: the rows of the table of samples, and steps.

A row is a sample, what remains of one that was removed or folded, or a folded class: the mean of
the folded samples of a label, and their number. A step is one change by a user, which is undone as
a whole.
"""

import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robocle._internal.wording import listed, one_line, plural
from robocle.classifiers.labels import plain_label
from robocle.classifiers.samples import LARGEST, Sample, embedding_numbers

LATEST = 2**53
"""The latest time that is taken from elsewhere, in microseconds: the year 2255."""
MICRO = 1_000_000
MAX_TEXT = 1000
"""The longest text of a step or a part."""
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


@dataclass(frozen=True)
class Step:
    """A step that can be undone or redone."""

    id: str
    """What `undo` and `redo` take to name it. Several programs may change a state at once."""
    description: str
    """What it did, such as "teaching 3 pictures of 'mug'"."""
    time: float
    """When it was begun, in seconds since 1970."""
    number: int = 0
    """In which order the steps of the file were done."""

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class StepName:
    """What the operations of a step are recorded under."""

    title: str | None = None
    """What the user calls it; None if the operations say what they did."""
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    @classmethod
    def of(cls, title: str | None, token: str | None = None) -> "StepName":
        r"""Return a name; what cannot be printed on one line is left out.

        >>> StepName.of("the\nkitchen").title
        'the kitchen'
        """
        given = {} if token is None else {"token": one_line(token, MAX_TEXT)}
        return cls(None if title is None else one_line(title, MAX_TEXT), **given)


def described(title: str | None, done: str, taught: str) -> str:
    r"""Return what a step did.

    Args:
        title: What the user calls it, if anything.
        done: What it did beside teaching, one line each.
        taught: The label of each picture that it taught, one line each.

    >>> described(None, "", "mug\npan\nmug")
    "teaching 3 pictures of 'mug', 'pan'"
    """
    if title is not None:
        return title
    pictures = taught.splitlines()
    labels = listed(map(repr, dict.fromkeys(pictures)), "other label")
    number = f"{plural(len(pictures), 'picture')} of " if len(pictures) > 1 else ""
    return listed([*([f"teaching {number}{labels}"] if taught else []), *done.splitlines()],
                  "other change")  # fmt: skip
