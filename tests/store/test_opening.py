"""Opening a state creates it under the lock, reads it once, and builds one classifier."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError, StateError, StateLockedError
from robocle.learner import DEFAULT_CLASSIFIER, DEFAULT_POOLING, DEFAULT_VIEWS
from robocle.store import (
    StateStore,
    StoredState,
    lock,
    read_state,
    read_with_snapshot,
    snapshot,
    state_store,
)
from robocle.store.reading import journal_path
from stub_backbone import STUB


@pytest.fixture
def path(lite0: Backbone, tmp_path: Path) -> Path:
    """A state with an undo history and a journal, as it is after a crash."""
    path = tmp_path / "home.robocle"
    learner = Learner.open(path, lite0)
    for number in range(3):
        learner.teach_embedding(np.full(6, number, np.float32), "mug")
    learner.save(path)
    learner.teach_embedding(np.ones(6, np.float32), "cup")
    assert learner._state._store is not None
    learner._state._store.close()
    return path


def test_opening_reads_each_file_once_and_builds_one_classifier(
    path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def count_calls(target: Any, name: str) -> None:
        real = getattr(target, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(target, name, call)

    count_calls(state_store, "read_snapshot")
    count_calls(state_store, "read_journal")
    count_calls(state_store, "read_identity")
    count_calls(snapshot, "safe_open")
    count_calls(CLASSIFIERS, "build")
    with Learner.open(path, lite0) as learner:
        learner.teach_embedding(np.ones(6, np.float32), "cup")
        assert learner.counts == {"mug": 3, "cup": 2}
    assert calls == ["read_snapshot", "safe_open", "read_journal", "build"]


def test_a_state_is_created_under_the_lock(lite0: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    refused = []

    def create() -> StoredState:
        with pytest.raises(StateLockedError) as caught:
            Learner.open(path, lite0)
        refused.append(caught.value)
        return Learner(lite0)._state.stored()

    store, found = StateStore.open(path, create)
    store.close()
    assert found is None
    assert refused[0].path == path


def test_a_state_that_another_program_has_just_created_is_not_overwritten(
    lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home.robocle"
    acquire = lock.acquire

    def acquire_late(wanted: Path) -> int:
        monkeypatch.undo()
        with Learner.open(path, lite0) as other:
            other.teach_embedding(np.ones(6, np.float32), "theirs")
        return acquire(wanted)

    monkeypatch.setattr(lock, "acquire", acquire_late)
    with Learner.open(path, lite0) as learner:
        learner.teach_embedding(np.zeros(6, np.float32), "ours")
    assert Learner.load(path, lite0).labels == ("theirs", "ours")


def test_a_link_leads_to_one_state_with_one_journal_and_one_lock(
    path: Path, lite0: Backbone
) -> None:
    link = path.with_name("link.robocle")
    link.symlink_to(path.name)
    with Learner.open(link, lite0) as learner:
        learner.teach_embedding(np.ones(6, np.float32), "by the link")
        assert Learner.load(link, lite0).labels == Learner.load(path, lite0).labels
        with pytest.raises(StateLockedError):
            Learner.open(path, lite0)
    assert link.is_symlink()
    assert Learner.load(path, lite0).labels == ("mug", "cup", "by the link")
    Learner.load(path, lite0).save(link)
    assert link.is_symlink()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, link.name]


def test_the_working_directory_may_change_while_a_state_is_open(
    path: Path, lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(path.parent)
    with Learner.open(path.name, lite0) as learner:
        monkeypatch.chdir(elsewhere)
        learner.teach_embedding(np.ones(6, np.float32), "cup")
        learner.save(path)  # compacts its journal: it is the learner's own file
        learner.teach_embedding(np.ones(6, np.float32), "cup")
    assert not list(elsewhere.iterdir())
    assert sorted(file.name for file in path.parent.iterdir()) == [elsewhere.name, path.name]
    assert Learner.load(path, lite0).counts == {"mug": 3, "cup": 3}


def test_a_learner_that_is_dropped_without_being_closed_releases_its_lock(
    path: Path, lite0: Backbone
) -> None:
    learner = Learner.open(path, lite0)
    learner.teach_embedding(np.ones(6, np.float32), "cup")
    with pytest.raises(StateLockedError, match="another learner of this one"):
        Learner.open(path, lite0)
    del learner
    gc.collect()
    with Learner.open(path, lite0) as again:
        assert again.counts == {"mug": 3, "cup": 2}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("part", "spec", "kept"),
    [
        ("classifier", "ncm", "classifier slda:"),
        ("classifier", "slda", "classifier slda:"),
        ("pooling", "moments:r=2", "pooling focus:r=3,window=0.3,earlier=2"),
        ("views", "plain", "views centre"),
    ],
)
def test_an_existing_state_is_not_opened_with_another_part(
    path: Path, lite0: Backbone, part: str, spec: str, kept: str
) -> None:
    with pytest.raises(StateError, match=f"keeps its {kept}.*leave out the {part}"):
        Learner.open(path, lite0, **{part: spec})
    with Learner.open(path, lite0) as learner:  # it is not locked
        assert learner.counts == {"mug": 3, "cup": 1}


def test_an_existing_state_is_opened_with_the_parts_it_has(path: Path, lite0: Backbone) -> None:
    parts = {"pooling": DEFAULT_POOLING, "classifier": DEFAULT_CLASSIFIER, "views": DEFAULT_VIEWS}
    with Learner.open(path, lite0, **parts) as learner:
        written_out = learner.parts
    Learner.open(path, lite0, pooling=written_out.pooling, views=written_out.views).close()
    Learner.open(path, lite0, classifier=written_out.classifier).close()


def test_an_unknown_part_of_an_existing_state_is_an_error(path: Path, lite0: Backbone) -> None:
    with pytest.raises(SpecError, match="nonsense"):
        Learner.open(path, lite0, classifier="nonsense")
    with pytest.raises(TypeError, match="nonsense"):
        Learner.open(path, lite0, nonsense="ncm")  # type: ignore[call-arg]


@pytest.mark.parametrize("wrong", ["", "home\0.robocle"])
def test_a_path_that_no_state_can_have_is_an_error_of_one_line(
    wrong: str, lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in (Learner.open, Learner.load, Learner(lite0).save):
        with pytest.raises(StateError, match="is not the path of a state file: give its name"):
            attempt(wrong)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_listed_can_hold_a_state(
    lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", forbidden)
    with Learner.open(tmp_path / "home.robocle", lite0) as learner:
        learner.teach_embedding(np.ones(6), "mug")
    assert Learner.load(tmp_path / "home.robocle", lite0).counts == {"mug": 1}


def test_the_samples_of_an_opened_state_are_in_memory_once(tmp_path: Path) -> None:
    """Those of the undo history are those that the classifier works on."""
    path, rng = tmp_path / "home.robocle", np.random.default_rng(0)
    with Learner.open(path, STUB, pooling="avg", classifier="slda") as learner:
        for number in range(300):
            learner.teach_embedding(rng.normal(size=24), f"object {number % 3}")
    with Learner.open(path, STUB) as learner:
        learner.predict_embedding(np.ones(24))
        stored = learner._state.stored().base.samples
        with learner._state.classifier() as classifier:
            assert 100 < len(stored) < 300
            assert all(one is other for one, other in zip(stored, classifier.samples, strict=False))


# ---- read before it was opened


def teach_and_close(path: Path, lite0: Backbone) -> None:
    """Leave a new snapshot and no journal."""
    with Learner.open(path, lite0) as other:
        other.teach_embedding(np.full(6, 9, np.float32), "pan")


def teach_and_crash(path: Path, lite0: Backbone) -> None:
    """Leave the same snapshot and a longer journal."""
    other = Learner.open(path, lite0)
    other.teach_embedding(np.full(6, 9, np.float32), "pan")
    assert other._state._store is not None
    other._state._store.close()


def replace_journal(path: Path, lite0: Backbone) -> None:
    """Leave the same snapshot and another journal of the same length."""
    journal_path(path).unlink()
    teach_and_crash(path, lite0)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (teach_and_close, {"mug": 3, "cup": 1, "pan": 1}),
        (teach_and_crash, {"mug": 3, "cup": 1, "pan": 1}),
        (replace_journal, {"mug": 3, "pan": 1}),
    ],
)
def test_a_state_that_changed_while_pictures_were_embedded_is_read_again(
    change: Callable[[Path, Backbone], None], counts: dict[str, int], path: Path, lite0: Backbone
) -> None:
    before = read_with_snapshot(path)
    change(path, lite0)
    with Learner.open(before, lite0) as learner:
        assert learner.counts == counts
        learner.teach_embedding(np.ones(6, np.float32), "cup")
    expected = {**counts, "cup": counts.get("cup", 0) + 1}
    assert read_state(path).counts == expected
    assert len(Learner.load(path, lite0).steps) == sum(expected.values())


def test_a_state_that_did_not_change_is_not_read_again(
    path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_with_snapshot(path)
    monkeypatch.setattr(state_store, "read_snapshot", pytest.fail)
    with Learner.open(before, lite0) as learner:
        assert learner.counts == before.state.counts == {"mug": 3, "cup": 1}
        learner.teach_embedding(np.ones(6, np.float32), "cup")
    assert read_state(path).counts == {"mug": 3, "cup": 2}


def test_a_state_that_was_read_by_a_relative_name_is_found_from_another_folder(
    path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    before = read_with_snapshot(path.name)
    (path.parent / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    with Learner.open(before, lite0) as learner:
        assert learner.counts == {"mug": 3, "cup": 1}


def test_a_state_that_was_removed_since_it_was_read_is_created_anew(
    path: Path, lite0: Backbone
) -> None:
    before = read_with_snapshot(path)
    path.unlink()
    with Learner.open(before, lite0) as learner:
        assert learner.counts == {}


def test_a_state_that_was_damaged_since_it_was_read_is_refused(path: Path, lite0: Backbone) -> None:
    before = read_with_snapshot(path)
    path.write_bytes(b"")
    with pytest.raises(StateError, match="damaged or not a robocle state"):
        Learner.open(before, lite0)
    assert path.read_bytes() == b""


def test_a_journal_that_was_damaged_since_the_state_was_read_is_refused(
    path: Path, lite0: Backbone
) -> None:
    before = read_with_snapshot(path)
    journal_path(path).write_bytes(b"x" * 100)
    with pytest.raises(StateError, match="is damaged: its header does not name a state"):
        Learner.open(before, lite0)
