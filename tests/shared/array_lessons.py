"""Classifiers that are taught arrays of embeddings."""

from typing import Any

from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier


def taught(spec: str, embeddings: NDArray[Any], labels: list[str]) -> StreamingClassifier:
    """Return a classifier that was taught embeddings one by one."""
    clf = classifier(spec)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    return clf
