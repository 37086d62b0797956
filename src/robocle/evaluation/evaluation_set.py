"""Questions: test pictures under one corruption, asked as often as wanted.

Embeddings are held in memory while they are few, and read from the cache in chunks when they are
many, so that memory does not grow with the data set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier
from robocle.evaluation.embedding import View
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.loop import best_labels, evaluate
from robocle.types import Example

CHUNK = 2048
HELD_BYTES = 400_000_000


@dataclass(frozen=True)
class Answers:
    """How many questions were asked of each label, and how many got the right answer."""

    right: dict[str, int]
    asked: dict[str, int]

    @property
    def micro(self) -> float:
        """The share of right answers over all questions, in percent."""
        return 100 * sum(self.right.values()) / max(sum(self.asked.values()), 1)

    def by_label(self) -> dict[str, float]:
        """The share of right answers of each label, in percent."""
        return {label: 100 * self.right[label] / asked for label, asked in self.asked.items()}


class Questions:
    """The test pictures of one test set under one corruption."""

    def __init__(
        self, examples: Sequence[Example], view: View, pooling: str, cache: EmbeddingCache
    ) -> None:
        self._cache = cache
        self._keys: dict[str, list[bytes]] = {}
        ordered = sorted(examples, key=lambda example: example.label)
        keys = view.keys([example.path for example in ordered], pooling)
        for example, key in zip(ordered, keys, strict=True):
            self._keys.setdefault(example.label, []).append(key)
        self._held = self._hold(keys)

    def ask(self, clf: StreamingClassifier) -> Answers:
        """Ask about every picture whose label the classifier knows."""
        known = [label for label in clf.labels if label in self._keys]
        batches = (
            (vectors, [label] * len(vectors)) for label in known for vectors in self._vectors(label)
        )
        found = evaluate(best_labels(clf), batches)
        right = dict.fromkeys(known, 0)
        for label, predicted in zip(found.truth, found.predicted, strict=True):
            right[label] += label == predicted
        return Answers(right, {label: len(self._keys[label]) for label in known})

    def by_label(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """All vectors, a label after the other, in parts; whether the label was taught or not."""
        for label in self._keys:
            for vectors in self._vectors(label):
                yield label, vectors

    def some(self, count: int) -> NDArray[np.float32]:
        """A few vectors, for timing."""
        keys = [key for part in self._keys.values() for key in part[:1]][:count]
        return self._cache.read(keys)

    def _hold(self, keys: list[bytes]) -> dict[str, NDArray[np.float32]] | None:
        width_in_bytes = self._cache.read(keys[:1]).nbytes if keys else 0
        if width_in_bytes * len(keys) > HELD_BYTES:
            return None
        return {label: self._cache.read(part) for label, part in self._keys.items()}

    def _vectors(self, label: str) -> Iterator[NDArray[np.float32]]:
        if self._held is not None:
            yield self._held[label]
            return
        keys = self._keys[label]
        for start in range(0, len(keys), CHUNK):
            yield self._cache.read(keys[start : start + CHUNK])
