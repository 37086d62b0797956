"""Online iCaRL: a softmax layer that also learns from a buffer of stored samples.

Each sample is learnt in one step together with up to 50 random ones of the buffer. The buffer is
balanced: when it is full, a random sample of the largest class makes room. THIS METHOD STORES
SAMPLES (their vectors, never pictures), which the others do not; it is here because the paper
compares with it.
"""

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.softmax_layer import SoftmaxLayer
from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
)
from robocle.errors import StateError
from robocle.randomness import keyed_rng
from robocle.spec import require_between
from robocle.types import Scores

REPLAYED = 50


class OnlineICaRL(StreamingClassifier):
    """A softmax layer with replay. It stores samples: `buffer` in all, or `per_class` of each.

    A `per_class` over 0 takes the place of the `buffer`.
    """

    def __init__(
        self, buffer: int = 1000, per_class: int = 0, rate: float = 0.001, seed: int = 0
    ) -> None:
        super().__init__()
        require_between("buffer", buffer, 1, 1_000_000)
        require_between("per_class", per_class, 0, 1_000_000)
        require_between("rate", rate, 1e-9, 1e3)
        require_between("seed", seed, 0, 2**63)
        self.buffer = buffer
        self.per_class = per_class
        self.rate = rate
        self.seed = seed
        self._layer = SoftmaxLayer(rate, seed)
        # Samples with a 1 at their ends, as the layer takes them; as many as there are owners.
        self._room: Matrix = np.empty((0, 0))
        self._batch: Matrix = np.empty((0, 0))
        self._owners: NDArray[np.int64] = np.empty(0, np.int64)
        self._steps = 0

    def _add_row(self) -> None:
        self._layer.add_row(self.width or 0)

    def _learn(self, sample: Vector, row: int) -> None:
        rng = keyed_rng(self.seed, "icarl", self._steps)
        self._steps += 1
        drawn = rng.permutation(len(self._owners))[:REPLAYED]
        self._layer.step(self._replayed(sample, drawn), np.append(row, self._owners[drawn]))
        self._store(sample, row, rng)

    def _replayed(self, sample: Vector, drawn: NDArray[np.int64]) -> Matrix:
        """The sample and the drawn ones, in an array that is used again and again."""
        if not self._batch.size:
            self._batch = np.ones((1 + REPLAYED, len(sample) + 1))
        batch = self._batch[: 1 + len(drawn)]
        batch[0, :-1] = sample
        if len(drawn):  # "clip" writes straight to its place, and all are in range
            np.take(self._room, drawn, axis=0, out=batch[1:], mode="clip")
        return batch

    def _store(self, sample: Vector, row: int, rng: np.random.Generator) -> None:
        place = self._leaving(row, rng)
        if place is None:
            place = len(self._owners)
            self._owners = np.append(self._owners, row)
            self._make_room(place + 1, len(sample))
        self._room[place, :-1] = sample
        self._owners[place] = row

    def _make_room(self, places: int, width: int) -> None:
        """Room for so many samples; it grows by half, so that few are ever moved."""
        if places > len(self._room):
            room = np.ones((max(places, 3 * len(self._room) // 2, REPLAYED), width + 1))
            room[: len(self._room)] = self._room.reshape(len(self._room), width + 1)
            self._room = room

    def _leaving(self, row: int, rng: np.random.Generator) -> int | None:
        """Which stored sample makes room for one of this row, if one must."""
        sizes = np.bincount(self._owners, minlength=len(self._labels))
        if self.per_class:
            full, largest = sizes[row] >= self.per_class, row
        else:
            full = len(self._owners) >= self.buffer
            # Where several are largest the sample's own class is taken: it grows back at once.
            largest = row if sizes[row] == sizes.max() else int(sizes.argmax())
        return int(rng.choice(np.flatnonzero(self._owners == largest))) if full else None

    def _scores(self, vectors: Matrix) -> Scores:
        return self._layer.logits(vectors)

    def _forget(self, row: int) -> None:
        """The stored samples of the class go too."""
        self._layer.remove_row(row)
        kept = np.flatnonzero(self._owners != row)
        self._room = self._room[kept]
        self._owners = self._owners[kept] - (self._owners[kept] > row)

    def _state(self) -> Arrays:
        return self._layer.state() | {
            "stored_samples": self._room[: len(self._owners), :-1].copy(),
            "stored_rows": self._owners.copy(),
            "steps": np.array([self._steps], np.int64),
        }

    def _restore(self, state: ClassifierState) -> int | None:
        self._layer = SoftmaxLayer(self.rate, self.seed)
        width = self._layer.restore(state)
        stored = state.take("stored_samples", None, width if state.labels else None)
        self._room = np.hstack([stored, np.ones((len(stored), 1))])
        self._batch = np.empty((0, 0))
        self._owners = state.take("stored_rows", len(stored)).astype(np.int64)
        self._steps = int(state.take("steps", 1)[0])
        if not set(self._owners.tolist()) <= set(range(len(state.labels))):
            raise StateError("state stores samples of an unknown label")
        return width
