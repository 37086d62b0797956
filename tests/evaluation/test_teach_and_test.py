"""The loop: everything is taught in order, everything is predicted, and only learning is timed."""

import time

import numpy as np
import pytest

from robocle.classifiers import classifier
from robocle.evaluation.teach_and_test import evaluate, teach, teach_classifier
from robocle.types import Embeddings, Scores


def blobs(seed: int, count: int) -> tuple[Embeddings, list[str]]:
    """Embeddings of three well separated classes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, count)
    embeddings = 10 * np.eye(3)[rows] + rng.normal(0, 1, (count, 3))
    return embeddings.astype(np.float32), [("mug", "pen", "hat")[row] for row in rows]


def test_the_time_to_make_the_samples_does_not_count_as_learning() -> None:
    def slow_samples() -> list[tuple[int, str]]:
        time.sleep(0.2)
        return [(0, "a")]

    assert teach(lambda sample, label: None, (pair for pair in slow_samples())) < 0.1


def test_work_that_a_classifier_puts_off_until_it_predicts_counts_as_learning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clf = classifier("ncm")
    scores = clf.scores

    def slow(embeddings: Embeddings) -> Scores:
        time.sleep(0.05)
        return scores(embeddings)

    monkeypatch.setattr(clf, "scores", slow)
    assert teach_classifier(clf, zip(*blobs(0, 10), strict=True)) > 0.05


def test_one_prediction_per_sample_is_required() -> None:
    with pytest.raises(ValueError, match="returned 1 prediction for 2 samples"):
        evaluate(lambda batch: ["mug"], [([1, 2], ["mug", "pen"])])
