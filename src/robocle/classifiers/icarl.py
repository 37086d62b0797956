"""Online iCaRL: a softmax layer with exemplar replay.

Each sample is learned in one step together with up to 50 random samples from the buffer. The buffer
is balanced: when it is full, a random sample of the largest class is replaced. THIS METHOD STORES
SAMPLES (their embeddings, never pictures). It is included because the paper compares with it.

`variant=published` fills the buffer as the public code does. A sample is stored first. If there are
then `buffer` samples, a random one of the largest class is removed, which may be the new one. So at
most `buffer` - 1 samples are stored. The public code has no limit per class: its two samples per
class are a buffer of 80 for 40 classes.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.finetune import Classes, FineTuning
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Shared, Vector
from robocle.classifiers.variant import Variant, require_variant
from robocle.errors import StateError
from robocle.randomness import keyed_rng
from robocle.spec import require_between

REPLAYED = 50


class OnlineICaRL(FineTuning):
    """A softmax layer with exemplar replay. It stores samples.

    Args:
        buffer: How many samples are stored in total.
        per_class: How many samples per class are stored. If above 0, `buffer` is ignored.
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
        # Samples with a 1 appended, as the layer expects. Only the first len(owners) are in use.
        self._stored: Matrix = np.empty((0, 0))
        self._batch: Matrix = np.empty((0, 0))
        self._owners: NDArray[np.int64] = np.empty(0, np.int64)
        self._steps = 0

    def _learn(self, sample: Vector, row: int) -> None:
        rng = keyed_rng(self.seed, "icarl", self._steps)
        self._steps += 1
        drawn = rng.permutation(len(self._owners))[:REPLAYED]
        self._layer.step(self._batch_of(sample, drawn), np.append(row, self._owners[drawn]))
        self._store(sample, row, rng)

    def _batch_of(self, sample: Vector, drawn: NDArray[np.int64]) -> Matrix:
        """Return the sample and the drawn stored samples, in an array that is reused."""
        if not self._batch.size:
            self._batch = np.ones((1 + REPLAYED, len(sample) + 1))
        batch = self._batch[: 1 + len(drawn)]
        batch[0, :-1] = sample
        if len(drawn):  # all indices are in range; mode "clip" avoids a copy
            np.take(self._stored, drawn, axis=0, out=batch[1:], mode="clip")
        return batch

    def _store(self, sample: Vector, row: int, rng: np.random.Generator) -> None:
        index = None if self.variant == "published" else self._replaced(row, rng)
        if index is None:
            index = len(self._owners)
            self._owners = np.append(self._owners, row)
            self._reserve(index + 1, len(sample))
        self._stored[index, :-1] = sample
        self._owners[index] = row
        if self.variant == "published":
            self._shorten(rng)

    def _shorten(self, rng: np.random.Generator) -> None:
        """Remove random samples of the largest class until there are fewer than the limit."""
        limit = self.per_class * self._rows or self.buffer
        while len(self._owners) >= limit:
            largest = np.bincount(self._owners).argmax()  # of equal ones, that of the first label
            removed = rng.choice(np.flatnonzero(self._owners == largest))
            last = len(self._owners) - 1
            self._stored[removed] = self._stored[last]
            self._owners[removed] = self._owners[last]
            self._owners = self._owners[:last]

    def _reserve(self, samples: int, width: int) -> None:
        """Enlarge the array to hold this many samples, by half at least, so it is rarely copied."""
        if samples > len(self._stored):
            larger = np.ones((max(samples, 3 * len(self._stored) // 2, REPLAYED), width + 1))
            larger[: len(self._stored)] = self._stored.reshape(len(self._stored), width + 1)
            self._stored = larger

    def _replaced(self, row: int, rng: np.random.Generator) -> int | None:
        """Return the index of the stored sample to replace, or None if the buffer is not full."""
        sizes = np.bincount(self._owners, minlength=len(self._labels))
        if self.per_class:
            full, largest = sizes[row] >= self.per_class, row
        else:
            full = len(self._owners) >= self.buffer
            # If the sample's own class is among the largest, its size stays the same.
            largest = row if sizes[row] == sizes.max() else int(sizes.argmax())
        return int(rng.choice(np.flatnonzero(self._owners == largest))) if full else None

    def _forget(self, row: int) -> None:
        super()._forget(row)
        kept = np.flatnonzero(self._owners != row)
        self._stored = self._stored[kept]
        self._owners = self._owners[kept] - (self._owners[kept] > row)

    def _state(self) -> Arrays:
        return super()._state() | {
            "stored_samples": self._stored[: len(self._owners), :-1].copy(),
            "stored_rows": self._owners.copy(),
            "steps": np.array([self._steps], np.int64),
        }

    def _restore(self, state: ClassifierState) -> int | None:
        width = super()._restore(state)
        stored = state.copied("stored_samples", None, width if state.labels else None)
        self._stored = np.hstack([stored, np.ones((len(stored), 1))])
        self._batch = np.empty((0, 0))
        self._owners = state.whole("stored_rows", len(stored))
        self._steps = int(state.copied("steps", 1)[0])
        if not set(self._owners.tolist()) <= set(range(len(state.labels))):
            raise StateError("state stores samples of an unknown label")
        return width

    def _array_owners(self) -> Mapping[str, Ownership]:
        own = dict.fromkeys(("stored_samples", "stored_rows", "steps"), Shared())
        return {**super()._array_owners(), **own}
