"""The revision of the code: it changes with the code that decides a result, and with no other."""

from pathlib import Path

import pytest

from robocle.evaluation import embedding, embedding_cache, trial
from robocle.evaluation.embedding_cache import code_revision

LISTS = (embedding.DECIDING, trial.DECIDING, trial.DECIDING_OPEN_SET)


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


def test_a_folder_without_code_raises(package: Path) -> None:
    (package / "empty").mkdir()
    with pytest.raises(FileNotFoundError):
        code_revision("empty")


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
