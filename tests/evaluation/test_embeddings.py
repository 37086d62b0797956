"""Embeddings: cached right and bounded, and evaluated the same in memory and in chunks."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from robocle.classifiers import classifier
from robocle.errors import RobocleError
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


WRITER = """
import sys, numpy as np
from pathlib import Path
from robocle.evaluation.embedding_cache import EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]))
for start in range(0, 200, 10):
    names = [f"{number}" for number in range(start, start + 10)]
    cache.write({n.encode(): np.full(300, float(n), np.float32) for n in names})
"""


def cache_key(*facts: str) -> bytes:
    return "/".join(facts).encode()


def test_embeddings_are_read_in_the_order_of_the_keys(cache: Path) -> None:
    store = EmbeddingCache(cache)
    keys = [cache_key("a", str(number)) for number in range(1200)]
    store.write({key: np.full(7, number, np.float32) for number, key in enumerate(keys)})
    wanted = [keys[5], keys[1100], keys[5], keys[0]]
    np.testing.assert_array_equal(store.read(wanted)[:, 0], [5, 1100, 5, 0])
    assert store.known([*keys, cache_key("other")]) == set(keys)


def test_three_processes_write_the_same_embeddings_at_the_same_time(cache: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(cache)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = EmbeddingCache(cache).read([cache_key(f"{number}") for number in range(200)])
    np.testing.assert_array_equal(found, np.arange(200)[:, None].repeat(300, axis=1))


def test_above_the_limit_what_was_not_used_for_longest_is_deleted_first(cache: Path) -> None:
    limit = 4_000_000
    store = EmbeddingCache(cache, limit)
    keys = [cache_key(str(number)) for number in range(3000)]
    for start in range(0, 3000, 500):
        store.write({key: np.ones(500, np.float32) for key in keys[start : start + 500]})
        assert store.size() <= limit
        with closing(sqlite3.connect(store.path)) as database, database:
            database.execute("UPDATE vectors SET used = used - 7200")  # two hours go by
        store.touch(keys[:1])
    left = store.known(keys)
    assert {*keys[:1], *keys[-500:]} <= left
    assert not set(keys[1:500]) & left


def test_the_limit_can_be_set_for_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOCLE_CACHE_GB", "0.000001")  # 1,000 bytes: two embeddings
    cache = EmbeddingCache(tmp_path / "small.sqlite")
    for number in range(4):
        cache.write({bytes([number]): np.ones(100, np.float32)})
    assert len(cache.known([bytes([number]) for number in range(4)])) <= 2
    for wrong in ("many", "-1", "nan"):
        monkeypatch.setenv("ROBOCLE_CACHE_GB", wrong)
        with pytest.raises(RobocleError, match=f"ROBOCLE_CACHE_GB={wrong} is no size"):
            EmbeddingCache(tmp_path / "other.sqlite")
