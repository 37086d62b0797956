"""The samples of a state, and a few after them, that wait until their sums are needed.

A command that teaches one more picture to a large state and ends needs no sums: the state holds the
samples, and it gets one more.
"""

import copy
from operator import methodcaller

import numpy as np

from robocle.classifiers.scatter.blocks import BlockScatters
from robocle.classifiers.scatter.class_samples import TaughtEmbeddings
from robocle.classifiers.state import Vector

MOST_WAITING = 256
"""How many samples after those of the state may wait: those of an undo history, and some more. Many
would make the next prediction wait."""


class WaitingSamples:
    """Samples that are not yet part of the scatters.

    Args:
        taught: The samples of the state.
    """

    def __init__(self, taught: TaughtEmbeddings) -> None:
        self._taught = taught
        self._later: list[methodcaller] = []  # calls of the scatters' methods

    def __deepcopy__(self, memo: dict[int, object]) -> "WaitingSamples":
        """Return a copy that shares the samples, because they are never modified."""
        copied = copy.copy(self)
        copied._later = self._later.copy()
        return copied

    @property
    def full(self) -> bool:
        """Whether the samples should wait no longer."""
        return len(self._later) >= MOST_WAITING

    def add_row(self, width: int) -> None:
        """Add a class; see `BlockScatters.add_row`."""
        self._later.append(methodcaller("add_row", width))

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add a sample; see `BlockScatters.add`."""
        self._later.append(methodcaller("add", sample, row, weight, step))

    def move_to(self, scatters: BlockScatters) -> None:
        """Make scatters those of all samples, which are added in their order."""
        scatters.begin(self._taught.rows.astype(np.float64), self._taught.counts)
        for call in self._later:
            call(scatters)
