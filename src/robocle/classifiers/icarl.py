"""Online iCaRL: a softmax layer with exemplar replay.

Each sample is learned in one step together with up to 50 random samples from the buffer. The buffer
is balanced: when it is full, a random sample of the largest class is replaced. The method is
included because the paper compares with it.

`variant=published` fills the buffer as the public code does. A sample is stored first. If there are
then `buffer` samples, a random one of the largest class is removed, which may be the new one. So at
most `buffer` - 1 samples are stored. The public code has no limit per class: its two samples per
class are a buffer of 80 for 40 classes.
"""

import numpy as np
from numpy.typing import NDArray

from robocle._internal.randomness import Rng, keyed_rng
from robocle.classifiers.finetune import Classes, FineTuning
from robocle.classifiers.samples import Vector
from robocle.classifiers.shared import Variant, require_variant
from robocle.spec import require_between

REPLAYED = 50


class OnlineICaRL(FineTuning):
    """A softmax layer with exemplar replay.

    Args:
        buffer: How many samples the buffer holds in total.
        per_class: How many samples per class it holds. If above 0, `buffer` is ignored.
        rate: The learning rate.
        seed: The seed of the initial weights and of the replay.
        classes: The number of classes that the softmax covers from the start, or `growing`.
        variant: `correct`, or `published`: the buffer holds one sample less, and `per_class` means
            a `buffer` of `per_class` times the number of classes, or of labels if that is growing.
    """

    def __init__(
        self,
        buffer: int = 1000,
        per_class: int = 0,
        rate: float = 0.001,
        seed: int = 0,
        classes: Classes = "growing",
        variant: Variant = "correct",
    ) -> None:
        super().__init__(rate, seed, classes)
        require_between("buffer", buffer, 1, 1_000_000)
        require_between("per_class", per_class, 0, 1_000_000)
        require_variant(variant)
        self.buffer = buffer
        self.per_class = per_class
        self.variant = variant

    def _reset(self) -> None:
        super()._reset()
        self._stored: list[Vector] = []  # with a 1 appended, as the layer expects
        self._owners: list[int] = []  # the row of each stored sample
        self._steps = 0

    def _learn(self, sample: Vector, row: int) -> None:
        rng = keyed_rng(self.seed, "icarl", self._steps)
        self._steps += 1
        drawn = rng.permutation(len(self._owners))[:REPLAYED].tolist()
        extended = np.append(sample, 1.0)
        batch = np.array([extended, *(self._stored[index] for index in drawn)])
        self._layer.step(batch, np.array([row, *(self._owners[index] for index in drawn)]))
        self._store(extended, row, rng)

    def _store(self, sample: Vector, row: int, rng: Rng) -> None:
        index = None if self.variant == "published" else self._replaced(row, rng)
        if index is None:
            self._stored.append(sample)
            self._owners.append(row)
        else:
            self._stored[index], self._owners[index] = sample, row
        if self.variant == "published":
            self._shorten(rng)

    def _replaced(self, row: int, rng: Rng) -> int | None:
        """Return the index of the stored sample to replace, or None if the buffer is not full."""
        sizes = self._sizes()
        if self.per_class:
            full, largest = sizes[row] >= self.per_class, row
        else:
            full = len(self._owners) >= self.buffer
            # If the sample's own class is among the largest, its size stays the same.
            largest = row if sizes[row] == sizes.max() else int(sizes.argmax())
        return self._any_of(largest, rng) if full else None

    def _shorten(self, rng: Rng) -> None:
        """Remove random samples of the largest class until there are fewer than the limit."""
        classes = len(self._labels) if isinstance(self.classes, str) else self.classes
        while len(self._owners) >= (self.per_class * classes or self.buffer):
            largest = int(self._sizes().argmax())  # of equal ones, that of the first label
            removed = self._any_of(largest, rng)
            self._stored[removed], self._owners[removed] = self._stored[-1], self._owners[-1]
            del self._stored[-1], self._owners[-1]

    def _sizes(self) -> NDArray[np.int64]:
        """Return how many samples of each class are stored."""
        return np.bincount(np.array(self._owners, np.int64), minlength=len(self._labels))

    def _any_of(self, row: int, rng: Rng) -> int:
        """Return the index of a random stored sample of a class."""
        return int(rng.choice(np.flatnonzero(np.array(self._owners) == row)))
