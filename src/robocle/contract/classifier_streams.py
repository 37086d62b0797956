"""The seeded stream of embeddings that classifiers are checked with."""

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier

WIDTH = 24
Stream = tuple[NDArray[np.float32], list[str]]


def stream(samples: int, labels: int = 4, seed: int = 0) -> Stream:
    """Return embeddings like a network's (not negative, many zeros) and their labels."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, labels, samples)
    centres = rng.normal(0, 2, (labels, WIDTH))
    embeddings = np.maximum(centres[rows] + rng.normal(0, 1, (samples, WIDTH)), 0)
    return embeddings.astype(np.float32), [f"object {row}" for row in rows]


def taught(spec: str, samples: Stream) -> StreamingClassifier:
    """Return a classifier that has learned the samples in order."""
    clf = classifier(spec)
    for embedding, label in zip(*samples, strict=True):
        clf.learn(embedding, label)
    return clf
