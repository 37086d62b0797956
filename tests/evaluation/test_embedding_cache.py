"""The embedding cache: correct, bounded, safe with several processes, and renewed by new code."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robocle.evaluation import embedding, embedding_cache, trial
from robocle.evaluation.embedding_cache import EmbeddingCache, code_revision, embedding_key

LISTS = (embedding.DECIDING, trial.DECIDING, trial.DECIDING_OPEN_SET)
WRITER = """
import sys, numpy as np
from pathlib import Path
from robocle.evaluation.embedding_cache import EmbeddingCache, embedding_key
cache = EmbeddingCache(Path(sys.argv[1]))
for start in range(0, 200, 10):
    names = [f"{number}" for number in range(start, start + 10)]
    cache.write({embedding_key(n): np.full(300, float(n), np.float32) for n in names})
"""


def test_embeddings_are_read_in_the_order_of_the_keys(cache: Path) -> None:
    store = EmbeddingCache(cache)
    keys = [embedding_key("a", str(number)) for number in range(1200)]
    store.write({key: np.full(7, number, np.float32) for number, key in enumerate(keys)})
    wanted = [keys[5], keys[1100], keys[5], keys[0]]
    np.testing.assert_array_equal(store.read(wanted)[:, 0], [5, 1100, 5, 0])
    assert store.known([*keys, embedding_key("other")]) == set(keys)


def test_a_key_depends_on_where_its_facts_begin() -> None:
    assert embedding_key("ab", "c") != embedding_key("a", "bc")


def test_three_processes_write_the_same_embeddings_at_the_same_time(cache: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(cache)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = EmbeddingCache(cache).read([embedding_key(f"{number}") for number in range(200)])
    np.testing.assert_array_equal(found, np.arange(200)[:, None].repeat(300, axis=1))


def test_above_the_limit_the_oldest_embeddings_are_deleted_first(cache: Path) -> None:
    limit = 4_000_000
    store = EmbeddingCache(cache, limit)
    keys = [embedding_key(str(number)) for number in range(3000)]
    for start in range(0, 3000, 500):
        store.write({key: np.ones(500, np.float32) for key in keys[start : start + 500]})
        assert store.size() <= limit
    left = store.known(keys)
    assert set(keys[-500:]) <= left
    assert not set(keys[:500]) & left


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two files, in place of robocle."""
    (tmp_path / "pooling").mkdir()
    (tmp_path / "pooling" / "average.py").write_text("a = 1")
    (tmp_path / "blas.py").write_text("b = 1")
    monkeypatch.setattr(embedding_cache, "files", lambda name: tmp_path)
    code_revision.cache_clear()
    return tmp_path


def test_a_listed_path_that_does_not_exist_raises(package: Path) -> None:
    for missing in ("pooling/max.py", "poolings", "blas"):
        with pytest.raises(FileNotFoundError, match="list the files that affect results"):
            code_revision("blas.py", missing)


@pytest.mark.parametrize("changed", ["pooling/average.py", "pooling/max.py", "blas.py"])
def test_changed_code_has_another_revision(package: Path, changed: str) -> None:
    before = code_revision("pooling", "blas.py")
    (package / changed).write_text("c = 2")
    code_revision.cache_clear()
    assert code_revision("pooling", "blas.py") != before


def test_code_that_is_not_listed_does_not_count(package: Path) -> None:
    before = code_revision("pooling")
    (package / "blas.py").write_text("c = 2")
    code_revision.cache_clear()
    assert code_revision("pooling") == before


@pytest.mark.parametrize("paths", LISTS)
def test_every_path_that_decides_a_result_exists(paths: tuple[str, ...]) -> None:
    code_revision.cache_clear()
    assert len(code_revision(*paths)) == 16
