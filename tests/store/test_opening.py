"""Opening a state: its path and its parts, and what happens to its file while it is open."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import SpecError, StateError, StateLockedError
from robocle.profiles import DEFAULT
from robots import QUERY, another, are_close, in_memory, loaded, opened, scores, teach
from stub_backbone import STUB, embedding


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


# ---- paths


@pytest.mark.parametrize(
    "name",
    [
        "a b.robocle",
        "чашка",
        "100%",
        "%41",
        "a?mode=ro",
        "a#b",
        "a&b;c",
        "'quoted\"",
        ":memory:",
        "-",
    ],
)
def test_a_state_may_have_any_name(name: str, tmp_path: Path) -> None:
    with opened(tmp_path / name) as learner:
        teach(learner, "mug", 2)
        assert files_in(tmp_path) == [name]
        learner.save(tmp_path / f"copy of {name}")
    assert loaded(tmp_path / name).counts == {"mug": 2}
    with Learner.edit(tmp_path / name) as learner:
        learner.merge_files(tmp_path / f"copy of {name}")
        learner.forget("mug")
    assert loaded(tmp_path / name).counts == {}
    assert files_in(tmp_path) == sorted([name, f"copy of {name}"])


def test_the_working_directory_may_change_while_a_state_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with opened(Path("home")) as learner:
        monkeypatch.chdir("elsewhere")
        teach(learner, "mug")
        learner.save("../home")
        learner.save("copy")
        assert learner.is_saved
        teach(learner, "mug", 1, seed=1)
    assert files_in(tmp_path) == ["elsewhere", "home"]
    assert loaded(tmp_path / "home").counts == {"mug": 2}
    assert loaded(tmp_path / "elsewhere" / "copy").counts == {"mug": 1}


def test_a_link_leads_to_the_state_and_its_journal_is_beside_that(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/home")
    with opened(tmp_path / "link") as learner, opened(tmp_path / "far" / "home") as same:
        teach(learner, "mug")
        teach(same, "pan", 1, seed=1)
        assert learner.counts == same.counts == loaded(tmp_path / "link").counts
    assert files_in(tmp_path / "far") == ["home"]
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("wrong", ["", "home\0.robocle"])
def test_a_path_that_no_state_can_have_is_an_error_of_one_line(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.chdir(tmp_path)
    attempts: list[Callable[[str], object]] = [
        lambda path: Learner.open(path, STUB), Learner.load, Learner.edit, in_memory().save
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(StateError, match="is not the path of a state file: give its name"):
            attempt(wrong)
    assert files_in(tmp_path) == []


def test_what_is_missing_is_not_created_where_it_cannot_be_or_should_not_be(
    tmp_path: Path, refusal: Refusal
) -> None:
    missing = tmp_path / "missing"
    assert f"there is no folder {missing}" in refusal(StateError, lambda: opened(missing / "home"))
    for call in (Learner.load, Learner.edit, in_memory().merge_files):
        with pytest.raises(StateError, match="there is no state file"):
            call(tmp_path / "home")
    for use in (Learner.load, Learner.open):
        assert refusal(StateError, partial(use, tmp_path)) == f"{tmp_path} is a folder: give a file"
    assert files_in(tmp_path) == []


def test_another_file_is_named_as_the_user_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    (tmp_path / "r.py").write_text("import robocle\n" * 20, "utf-8")
    monkeypatch.chdir(tmp_path)
    for use in (Learner.load, Learner.open, Learner.edit):
        assert refusal(StateError, partial(use, "r.py")) == (
            "r.py is not a state, or was written by a version of robocle that this one cannot "
            "read: give another file, or teach a new one"
        )


# ---- parts


@pytest.mark.parametrize(
    ("part", "spec", "kept"),
    [
        ("classifier", "ncm", "classifier slda:"),
        ("classifier", "slda", "classifier slda:"),
        ("pooling", "moments:r=2", "pooling focus:r=3,window=0.3,earlier=2"),
        ("views", "plain", "views centre"),
    ],
)
def test_an_existing_state_is_opened_only_with_the_parts_that_it_has(
    part: str, spec: str, kept: str, lite0: Backbone, tmp_path: Path
) -> None:
    parts = {"pooling": DEFAULT.pooling, "classifier": DEFAULT.classifier, "views": DEFAULT.views}
    with Learner.open(tmp_path / "home", lite0) as learner:
        learner.teach_embedding(np.ones(6), "mug")
        written_out = getattr(learner.parts, part)
    with pytest.raises(StateError, match=f"keeps its {kept}.*leave out the {part}"):
        Learner.open(tmp_path / "home", lite0, **{part: spec})  # type: ignore[arg-type]
    given: Any
    for given in (parts, {part: written_out}):
        with Learner.open(tmp_path / "home", lite0, **given) as learner:
            assert learner.counts == {"mug": 1}
    with pytest.raises(SpecError, match="nonsense"):
        Learner.open(tmp_path / "home", lite0, classifier="nonsense")
    with pytest.raises(StateError, match="was learned on efficientnet_lite0"):
        Learner.open(tmp_path / "home", STUB)


# ---- reading only


def test_to_load_a_state_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 2)
        learner.undo()
    before, when = (tmp_path / "home").read_bytes(), (tmp_path / "home").stat().st_mtime_ns
    copy = loaded(tmp_path / "home")
    in_memory().merge_files(tmp_path / "home")
    copy.redo()
    teach(copy, "pan", 1, seed=1)
    copy.purge()
    assert copy.counts == {"mug": 2, "pan": 1}
    assert (tmp_path / "home").read_bytes() == before
    assert (tmp_path / "home").stat().st_mtime_ns == when
    assert files_in(tmp_path) == ["home"]


def test_a_read_only_state_is_read_and_not_changed(tmp_path: Path, refusal: Refusal) -> None:
    another("mug", 2).save(tmp_path / "home")
    (tmp_path / "home").chmod(0o444)
    before = (tmp_path / "home").read_bytes()
    with opened(tmp_path / "home") as learner, Learner.edit(tmp_path / "home") as editor:
        assert learner.counts == editor.counts == {"mug": 2}
        assert scores(learner) == scores(loaded(tmp_path / "home"))
        assert len(editor.samples) == 2
        changes: list[Callable[[], object]] = [
            lambda: teach(learner, "pan"), lambda: learner.forget("mug"), learner.undo,
            lambda: learner.merge(another("pan")), learner.purge, lambda: editor.rename("mug", "x"),
        ]  # fmt: skip
        for change in changes:
            message = refusal(StateError, change)
            assert message.endswith("it is read-only; make it writable first")
        learner.save(tmp_path / "copy")
    assert loaded(tmp_path / "copy").counts == {"mug": 2}
    assert (tmp_path / "home").read_bytes() == before


# ---- several learners of one process


WRITE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


@pytest.mark.parametrize("use", ["open", "edit", "load", "merge", "save"])
def test_no_use_of_a_file_releases_the_lock_of_another_learner_of_the_process(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    """POSIX releases all locks of a process on a file when it closes any handle of that file."""
    path, real, printed = tmp_path / "home", time.time_ns, []
    monkeypatch.setattr("robocle.store.tables.BUSY_SECONDS", 0.1)
    uses: dict[str, Callable[[], object]] = {
        "open": lambda: opened(path).close(),
        "edit": lambda: Learner.edit(path).close(),
        "load": lambda: loaded(path),
        "merge": lambda: in_memory().merge_files(path),
        "save": lambda: refusal(StateLockedError, lambda: another("jar").save(path, replace=True)),
    }

    def while_locked() -> int:
        monkeypatch.setattr(time, "time_ns", real)
        uses[use]()
        command = [sys.executable, "-c", WRITE, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        printed.append(done.stdout)
        return real()

    with opened(path) as learner:
        teach(learner, "mug", 2)
        monkeypatch.setattr(time, "time_ns", while_locked)  # the clock is read within a change
        teach(learner, "pan", 1, seed=1)
    assert printed == ["database is locked\n"]
    assert loaded(path).counts == {"mug": 2, "pan": 1}


@pytest.mark.parametrize("use", ["predict", "merge", "save"])
def test_what_is_read_is_of_one_moment_although_another_learner_is_folding(
    use: str, tmp_path: Path
) -> None:
    path, classifier = tmp_path / "home", "slda:shrinkage=0.1,keep=2"
    with opened(path, classifier) as writer, opened(path) as reader:
        teach(writer, "mug", 3)
        writer.purge()
        teach(writer, "pan", 3, seed=1)
        folding = threading.Thread(target=writer.purge)
        statements: list[str] = []

        def while_reading(statement: str) -> None:
            statements.append(statement[:16])
            if "FROM sums" in statement and "SELECT * FROM sa" in statements[:-1]:
                if folding.ident is None:
                    folding.start()
                folding.join(0.2)

        reader._learned.state.connection.set_trace_callback(while_reading)
        expected, found = scores(loaded(path)), reader
        if use == "merge":
            found = in_memory(classifier)
            found.merge(reader)
        elif use == "save":
            reader.save(tmp_path / "copy")
            found = loaded(tmp_path / "copy")
        assert are_close(scores(found), expected)
        folding.join()
        reader._learned.state.connection.set_trace_callback(None)
        assert found.counts == reader.counts == {"mug": 3, "pan": 3}


# ---- files that are deleted or replaced while they are open


def test_a_state_that_is_deleted_is_used_but_not_changed_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        before = scores(learner)
        teach(learner, "pan", 1, seed=1)  # which predictions have not followed
        os.rename(path, tmp_path / "away")
        assert not learner.is_saved
        for _ in range(3):
            assert scores(learner).keys() == {"mug", "pan"}
            assert learner.counts == {"mug": 2, "pan": 1}
        assert caplog.text.count("nothing more can be saved in it") == 1
        for change in (lambda: teach(learner, "pan"), learner.undo, learner.purge):
            message = refusal(StateError, change)
            assert "put it back, or save to another file" in message
        assert not path.exists()
        learner.save(tmp_path / "rescued")
        assert loaded(tmp_path / "rescued").counts == {"mug": 2, "pan": 1}
        os.rename(tmp_path / "away", path)
        assert learner.is_saved
        learner.undo()
        assert scores(learner) == before
    assert loaded(path).counts == {"mug": 2}


@pytest.mark.parametrize("classifier", ["ncm", "slda"])
def test_a_state_that_is_replaced_by_a_backup_is_followed(classifier: str, tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path, classifier) as learner, opened(path) as other:
        teach(learner, "mug", 2)
        shutil.copy(path, tmp_path / "backup")
        teach(learner, "pan", 3, seed=1)
        assert scores(other).keys() == scores(learner).keys() == {"mug", "pan"}
        os.replace(tmp_path / "backup", path)
        for each in (other, learner):
            assert each.counts == {"mug": 2}
            assert scores(each) == scores(loaded(path))
            assert each.is_saved
        teach(other, "jar", 1, seed=2)
        assert learner.undo() == "teaching 'jar'"
        assert other.counts == loaded(path).counts == {"mug": 2}


def garbage(path: Path) -> None:
    path.write_bytes(b"no state" * 1000)


def other_parts(path: Path) -> None:
    another("jar", 2, "sqda").save(path, replace=True)


def other_database(path: Path) -> None:
    sqlite3.connect(path).execute("CREATE TABLE mail (text)").connection.close()


@pytest.mark.parametrize("write", [garbage, other_parts, other_database])
@pytest.mark.parametrize("predicted", [True, False])
def test_a_state_that_is_replaced_by_something_else_is_not_followed(
    write: Callable[[Path], None],
    predicted: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    refusal: Refusal,
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        if predicted:
            assert scores(learner).keys() == {"mug"}
        teach(learner, "pan", 1, seed=1)
        os.rename(path, tmp_path / "away")
        write(path)
        content = path.read_bytes()
        for _ in range(3):
            assert scores(learner).keys() == {"mug", "pan"}
            assert learner.counts == {"mug": 2, "pan": 1}
        assert caplog.text.count("going on with what was taught before") == 1
        assert not learner.is_saved
        refusal(StateError, lambda: teach(learner, "pan"))
        assert path.read_bytes() == content
        os.replace(tmp_path / "away", path)
        teach(learner, "pan", 1, seed=2)
        assert learner.is_saved
    assert loaded(path).counts == {"mug": 2, "pan": 2}


# ---- closed


def test_a_closed_learner_predicts_what_it_has_computed_and_changes_nothing(
    tmp_path: Path, refusal: Refusal
) -> None:
    learner = opened(tmp_path / "home")
    teach(learner, "mug", 2)
    before = scores(learner)
    learner.close()
    learner.close()
    assert (learner.counts, learner.labels) == ({"mug": 2}, ("mug",))
    assert scores(learner) == before
    assert len(learner.samples) == 2
    changes: list[Callable[[], object]] = [
        lambda: teach(learner, "pan"), lambda: learner.forget("mug"), learner.undo, learner.purge,
        lambda: learner.merge(another("pan")), lambda: learner.save(tmp_path / "copy"),
        lambda: another("pan").merge(learner),
    ]  # fmt: skip
    for change in changes:
        assert "is closed: open it again" in refusal(StateError, change)
    assert files_in(tmp_path) == ["home"]


def test_a_learner_that_is_closed_before_it_followed_a_lesson_does_not_predict_without_it(
    tmp_path: Path, refusal: Refusal
) -> None:
    learner = opened(tmp_path / "home")
    teach(learner, "mug")
    assert scores(learner).keys() == {"mug"}
    learner.teach_embedding(embedding(5, len(QUERY)), "pan")
    learner.close()
    assert learner.counts == {"mug": 1, "pan": 1}
    for _ in range(2):
        assert "is closed" in refusal(StateError, lambda: learner.predict_embedding(QUERY))


def test_a_python_with_an_old_sqlite_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StateError, match=r"states need SQLite 3\.37 or newer"):
        Learner(STUB, pooling="avg", classifier="ncm")
