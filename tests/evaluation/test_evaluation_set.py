"""Evaluation sets predict the same whether embeddings are kept in memory or read in chunks."""

from pathlib import Path

import numpy as np
import pytest

from robocle.classifiers import classifier
from robocle.evaluation import evaluation_set
from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import EmbeddingSetup, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.evaluation_set import EvaluationSet
from robocle.types import Example

SETUP = EmbeddingSetup("efficientnet_lite0")


@pytest.fixture
def examples(pictures: Path) -> list[Example]:
    return [e for e in dataset("folder").examples(pictures) if int(e.path.stem) < 3]


@pytest.fixture
def filled(examples: list[Example], cache: Path) -> EmbeddingCache:
    """A cache with the embeddings of all examples."""
    store = EmbeddingCache(cache)
    assert embed_into(store, SETUP, ["avg"], [e.path for e in examples]) == {}
    return store


def test_embeddings_read_in_chunks_are_evaluated_like_those_held_in_memory(
    examples: list[Example], filled: EmbeddingCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = EvaluationSet(examples, SETUP, "avg", filled)
    monkeypatch.setattr(evaluation_set, "MOST_BYTES_HELD", 0)
    monkeypatch.setattr(evaluation_set, "CHUNK", 2)
    read = EvaluationSet(examples, SETUP, "avg", filled)
    sizes = [len(labels) for _, labels in read.batches(read.labels)]
    assert sizes == [2, 1] * 3
    assert [len(labels) for _, labels in held.batches(held.labels)] == [3] * 3
    clf = classifier("ncm")
    for embeddings, labels in held.batches(held.labels):
        clf.learn(embeddings[0], labels[0])
    assert read.evaluate(clf).predicted == held.evaluate(clf).predicted
    assert read.evaluate(clf).truth == held.evaluate(clf).truth


def test_only_taught_labels_are_evaluated(examples: list[Example], filled: EmbeddingCache) -> None:
    test = EvaluationSet(examples, SETUP, "avg", filled)
    clf = classifier("ncm")
    clf.learn(np.ones(1280), "mug")
    clf.learn(np.zeros(1280), "a label without pictures")
    assert set(test.evaluate(clf).truth) == {"mug"}


def test_a_sample_has_one_embedding_per_label(
    examples: list[Example], filled: EmbeddingCache
) -> None:
    test = EvaluationSet(examples, SETUP, "avg", filled)
    assert test.sample(10).shape == (3, 1280)
    assert test.sample(2).shape == (2, 1280)
