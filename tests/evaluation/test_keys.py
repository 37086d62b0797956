"""Keys: whatever decides a result or an embedding is in its key, and nothing else."""

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from robocle.backbones.model_folder import CACHE_VARIABLE
from robocle.errors import ImageError
from robocle.evaluation import keys
from robocle.evaluation.keys import content_hash, content_hashes, content_or_none, imported_by, key

RUN_TRIAL = "robocle.evaluation.run_trial"


def test_a_key_depends_on_where_its_facts_begin_and_on_their_types() -> None:
    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key(1), key("1"), key([1])}) == 6
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1})


def test_the_code_that_decides_a_trial_is_found_by_its_imports() -> None:
    found = set(imported_by([RUN_TRIAL]))
    assert {
        "robocle.backbones.world",
        "robocle.evaluation.datasets",
        "robocle.evaluation.metrics.recognition",
        "robocle.evaluation.scenarios",
        "robocle.images.boxes",
        "robocle.images.reading",
        "robocle.learner.pipeline",
        "robocle.recognition.decision",
    } <= found
    assert not {"robocle.errors", "robocle.evaluation.results"} & found
    assert not [name for name in found if name.startswith(("robocle.reports", "robocle.cli"))]


def test_modules_inside_a_module_that_is_left_out_do_not_count() -> None:
    found = imported_by([RUN_TRIAL], without=["robocle.recognition"])
    assert "robocle.recognition.decision" not in found
    assert "robocle.learner.pipeline" in found


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that was written an hour ago."""
    path = tmp_path / "pictures" / "a.jpg"
    path.parent.mkdir()
    path.write_bytes(b"first")
    set_age(path, 3600)
    return path


def set_age(path: Path, seconds: float) -> None:
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(then, then))


def hash_of(text: bytes) -> str:
    return sha256(text).hexdigest()


def test_a_file_that_stays_the_same_is_read_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    really_read = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path)
        return really_read(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    for _ in range(2):
        assert content_hashes(file.parent, [file]) == [hash_of(b"first")]
        keys._known.clear()  # as in another process
    assert read == [file]


@pytest.mark.parametrize("age", [0, 1800])
def test_a_changed_file_of_the_same_size_has_another_hash(file: Path, age: int) -> None:
    assert content_hash(file) == hash_of(b"first")
    content_hashes(file.parent, [file])
    file.write_bytes(b"other")
    set_age(file, age)
    assert content_hash(file) == hash_of(b"other")
    keys._known.clear()
    assert content_hashes(file.parent, [file]) == [hash_of(b"other")]


def test_a_file_that_was_just_written_is_read_again(file: Path) -> None:
    """It may be written once more without another time of change."""
    set_age(file, 0)
    now = file.stat().st_mtime_ns
    assert content_hash(file) == hash_of(b"first")
    file.write_bytes(b"other")
    os.utime(file, ns=(now, now))
    assert content_hash(file) == hash_of(b"other")


def test_a_file_that_cannot_be_read_has_no_hash(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jpg"
    assert content_hashes(tmp_path, [missing]) == [None]
    assert content_or_none(missing) is None
    with pytest.raises(ImageError, match="cannot read"):
        content_hash(missing)


def test_without_a_usable_cache_folder_files_are_read_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no folder").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "no folder"))
    assert content_hashes(file.parent, [file]) == [hash_of(b"first")]
