"""The rows of a subsample in one array.

They take much of a state and seldom change. So a classifier, its states, and its copies share
one array, which is never modified.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.state import Vector

Version = tuple[int, int, int]
"""How often rows were redrawn, their number, and their width: equal versions have equal rows."""


@dataclass(frozen=True, eq=False)
class SharedRows:
    """The rows of one class after another in an array that is never modified."""

    version: Version
    rows: NDArray[np.float32]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the rows, which are read-only again."""
        self.__dict__.update(state)
        self.rows.flags.writeable = False

    @classmethod
    def of(cls, version: Version, rows: Iterable[Vector]) -> "SharedRows":
        """Return rows in one array. Shorter ones are padded with zeros."""
        joined = np.zeros(version[1:], np.float32)
        for whole, row in zip(joined, rows, strict=True):
            whole[: len(row)] = row
        joined.flags.writeable = False
        return cls(version, joined)

    @classmethod
    def known(cls, version: Version, joined: NDArray[Any]) -> "SharedRows | None":
        """Return rows that a state already has in one array; None if they are not float32."""
        return cls(version, joined) if joined.dtype == np.float32 else None

    def split(self, counts: Sequence[int]) -> list[list[Vector]]:
        """Return the rows of each class, as views.

        Args:
            counts: The number of rows per class.
        """
        ends = np.cumsum(np.array(counts, np.int64)).tolist()
        pairs = zip(counts, ends, strict=True)
        return [list(self.rows[end - count : end]) for count, end in pairs]
