"""Evaluation sets: test pictures under one corruption, evaluated as often as needed.

Embeddings are held in memory if they are few. Otherwise they are read from the cache in chunks, so
that memory does not grow with the data set. In an open-set evaluation, confidence and "unknown" are
computed as a `Learner` computes them, by `robocle.recognition`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robocle.backbones.world import World
from robocle.classifiers import StreamingClassifier
from robocle.evaluation.embedding import EmbeddingSetup
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.metrics import OpenSetPredictions
from robocle.evaluation.teach_and_test import Evaluation, evaluate
from robocle.recognition import DEFAULT_RATE
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import scored
from robocle.types import Embeddings, Example

CHUNK = 2048
MOST_BYTES_HELD = 400_000_000
PREDICTION = [("label", "O"), ("familiarity", "f8"), ("confidence", "f8"), ("is_known", "?")]


class EvaluationSet:
    """The pictures of one test set under one corruption, grouped by label."""

    def __init__(
        self,
        examples: Sequence[Example],
        setup: EmbeddingSetup,
        pooling: str,
        cache: EmbeddingCache,
    ) -> None:
        """Prepare the pictures.

        Args:
            examples: The test pictures.
            setup: How they are embedded.
            pooling: The spec of the pooling.
            cache: Holds all of their embeddings already.
        """
        self._cache = cache
        self._keys: dict[str, list[bytes]] = {}
        self.examples = sorted(examples, key=lambda each: (each.label, str(each.path)))
        keys = setup.keys([example.path for example in self.examples], pooling)
        for example, key in zip(self.examples, keys, strict=True):
            self._keys.setdefault(example.label, []).append(key)
        self._held = self._hold(keys)

    def evaluate(self, classifier: StreamingClassifier) -> Evaluation[str]:
        """Predict every picture whose label the classifier was taught, sorted by label and path."""
        taught = set(classifier.labels)
        known = [label for label in self._keys if label in taught]
        return evaluate(classifier.predict, self.batches(known))

    @property
    def labels(self) -> list[str]:
        """The labels of the pictures."""
        return list(self._keys)

    def batches(self, labels: Sequence[str]) -> Iterator[tuple[Embeddings, list[str]]]:
        """Yield the embeddings of some labels and their true labels, label by label."""
        for label in labels:
            for embeddings in self._embeddings(label):
                yield embeddings, [label] * len(embeddings)

    def sample(self, count: int) -> Embeddings:
        """Return a few embeddings, for timing."""
        keys = [key for keys in self._keys.values() for key in keys[:1]][:count]
        return self._cache.read(keys)

    def _hold(self, keys: Sequence[bytes]) -> dict[str, Embeddings] | None:
        bytes_each = self._cache.read(keys[:1]).nbytes if keys else 0
        if bytes_each * len(keys) > MOST_BYTES_HELD:
            return None
        return {label: self._cache.read(of_label) for label, of_label in self._keys.items()}

    def _embeddings(self, label: str) -> Iterator[Embeddings]:
        if self._held is not None:
            yield self._held[label]
            return
        keys = self._keys[label]
        for start in range(0, len(keys), CHUNK):
            yield self._cache.read(keys[start : start + CHUNK])


def evaluate_open_set(
    classifier: StreamingClassifier, test: EvaluationSet, world: World | None = None
) -> OpenSetPredictions:
    """Predict all pictures of a test, whether their labels were taught or not.

    Args:
        classifier: The classifier. If there is a world, it uses its pictures.
        test: The pictures.
        world: The world of the backbone and the pooling, if there is one.
    """
    decision = Decision.of(classifier.answer(), world)
    labels = classifier.labels

    def predict(embeddings: Embeddings) -> list[tuple[str, float, float, bool]]:
        rows = scored(classifier, embeddings, decision)
        found = (each.prediction(DEFAULT_RATE) for each in rows)
        return [
            (each.nearest, each.familiarity, each.confidence, each.label is not None)
            for each in found
        ]

    found = evaluate(predict, test.batches(test.labels))
    predicted = np.array(list(found.predicted), PREDICTION)
    return OpenSetPredictions(
        is_known=np.array([label in labels for label in found.truth], bool),
        # As they are stored, so that metrics that are computed again are the same.
        score=predicted["familiarity"].astype(np.float32).astype(np.float64),
        confidence=predicted["confidence"].astype(np.float32).astype(np.float64),
        rejected=~predicted["is_known"],
        correct=predicted["label"] == np.array(found.truth, object),
    )
