"""Teach labelled samples, then predict test samples, with both times measured.

    seconds = teach_classifier(clf, zip(embeddings, labels))
    found = evaluate(clf.predict, [(test_embeddings, test_labels)])
    metrics.accuracy(found.truth, found.predicted)

Trials, the demo, the robustness check and the int8 comparison all do this. A sample is
whatever the learner under test takes: an embedding for a classifier, a picture for a `Learner`.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from robocle._internal.wording import plural
from robocle.classifiers import StreamingClassifier

Sample = TypeVar("Sample")
Batch = TypeVar("Batch")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Evaluation(Generic[Outcome]):
    """The true labels of the test samples and what was predicted for each, in the same order."""

    truth: tuple[str, ...]
    predicted: tuple[Outcome, ...]
    seconds: float
    """The time that prediction took, without the time to make the samples."""


def teach(learn: Callable[[Sample, str], object], samples: Iterable[tuple[Sample, str]]) -> float:
    """Teach labelled samples one at a time, in order.

    Args:
        learn: Learns one sample and its label, such as `StreamingClassifier.learn` or
            `Learner.teach_embedding`.
        samples: The samples and their labels. They may be made while they are taught.

    Returns:
        The seconds that learning took, without the time to make the samples.

    Example:
        >>> taught = []
        >>> seconds = teach(lambda sample, label: taught.append(label), [(1, "mug"), (2, "pen")])
        >>> taught
        ['mug', 'pen']
    """
    seconds = 0.0
    for sample, label in samples:
        start = time.perf_counter()
        learn(sample, label)
        seconds += time.perf_counter() - start
    return seconds


def teach_classifier(
    classifier: StreamingClassifier, samples: Iterable[tuple[NDArray[Any], str]]
) -> float:
    """Teach labelled embeddings to a classifier and make it ready to predict.

    Args:
        classifier: The classifier to teach.
        samples: The embeddings and their labels, at least one.

    Returns:
        The seconds that learning took. Work that a classifier puts off until its first prediction
        counts as learning.

    Example:
        >>> import numpy as np
        >>> from robocle.classifiers import classifier
        >>> clf = classifier("ncm")
        >>> seconds = teach_classifier(clf, [(np.array([1.0, 0.0]), "mug")])
        >>> clf.labels
        ('mug',)
    """
    pairs = list(samples)
    seconds = teach(classifier.learn, pairs)
    start = time.perf_counter()
    classifier.scores(pairs[-1][0][None])
    return seconds + time.perf_counter() - start


def evaluate(
    predict: Callable[[Batch], Sequence[Outcome]], batches: Iterable[tuple[Batch, Sequence[str]]]
) -> Evaluation[Outcome]:
    """Predict test samples, batch by batch.

    Args:
        predict: Returns one prediction per sample of a batch: a label, as
            `StreamingClassifier.predict` does, None for "unknown", or anything else that metrics
            are computed from.
        batches: Batches of samples, each with the true labels of its samples. They may be made
            while they are evaluated, so that memory does not grow with the test set.

    Returns:
        True labels and predictions, in the order of the batches.

    Raises:
        ValueError: `predict` did not return one prediction per sample.

    Example:
        >>> found = evaluate(lambda batch: ["mug" for _ in batch], [([1, 2], ["mug", "pen"])])
        >>> found.truth, found.predicted
        (('mug', 'pen'), ('mug', 'mug'))
    """
    truth: list[str] = []
    predicted: list[Outcome] = []
    seconds = 0.0
    for batch, labels in batches:
        start = time.perf_counter()
        found = predict(batch)
        seconds += time.perf_counter() - start
        if len(found) != len(labels):
            raise ValueError(
                f"predict returned {plural(len(found), 'prediction')} for "
                f"{plural(len(labels), 'sample')}: it must return one per sample"
            )
        truth.extend(labels)
        predicted.extend(found)
    return Evaluation(tuple(truth), tuple(predicted), seconds)
