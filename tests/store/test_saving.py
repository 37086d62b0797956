"""A learner is saved to a file completely or not at all, and loaded from it unchanged."""

import errno
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from refusal import Refusal, SetUmask
from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import StateError
from robots import WIDTH, another, are_close, in_memory, loaded, opened, scores, teach, visible
from stub_backbone import embedding


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Return what a query of any program returns."""
    database = sqlite3.connect(path)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


# ---- saved and loaded


def test_a_loaded_learner_predicts_and_learns_like_the_saved_one(
    state: Path, taught: Learner, lite0: Backbone, objects: Path
) -> None:
    found = Learner.load(state, lite0)
    assert found.parts == taught.parts
    assert found.counts == taught.counts == {"ball": 2, "box": 2}
    for picture in (objects / "ball" / "3.jpg", objects / "box" / "3.jpg"):
        one, other = found.predict(picture), taught.predict(picture)
        assert (one.label, one.nothing) == (other.label, other.nothing)
        assert one.confidence == pytest.approx(other.confidence, rel=1e-9)
        assert one.scores == pytest.approx(other.scores, rel=1e-9)
    found.teach(objects / "ball" / "2.jpg", "toy")
    assert found.counts == {"ball": 2, "box": 2, "toy": 1}
    assert Learner.load(state).counts == taught.counts  # with the backbone that is named in it


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_every_classifier_can_be_saved_and_loaded(classifier: str, tmp_path: Path) -> None:
    learner = in_memory(classifier)
    learner.save(tmp_path / "home")
    assert loaded(tmp_path / "home").labels == ()
    for label, seed in (("mug", 0), ("чашка ☕", 1)):
        teach(learner, label, 3, seed)
    learner.rename("mug", '"quoted", \\ and {odd}')
    learner.save(tmp_path / "home", replace=True)
    assert visible(loaded(tmp_path / "home")) == visible(learner)
    assert are_close(scores(loaded(tmp_path / "home")), scores(learner))


def test_a_copy_has_the_samples_with_their_ids_and_nothing_that_was_removed(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        teach(learner, "pan", 2, seed=1)
        learner.remove(learner.samples[0].id)
        learner.forget("pan")
        learner.save(tmp_path / "copy")
        copy = loaded(tmp_path / "copy")
        assert visible(copy) == visible(learner)
        assert [each.time for each in copy.samples] == [each.time for each in learner.samples]
        assert (copy.steps, copy.undone) == ([], [])
    removed = "SELECT count(*), count(embedding), count(sketch) FROM samples WHERE label IS NULL"
    assert query(tmp_path / "copy", removed) == [(3, 0, 0)]
    assert b"pan" not in (tmp_path / "copy").read_bytes()


def test_a_copy_of_a_learner_that_keeps_no_samples_has_sums_alone(tmp_path: Path) -> None:
    another("mug", 3, "slda:keep=0").save(tmp_path / "copy")
    samples = "SELECT count(embedding) FROM samples WHERE fold IS NULL"
    assert query(tmp_path / "copy", samples) == [(0,)]
    assert loaded(tmp_path / "copy").counts == {"mug": 3}


def test_a_state_names_the_parts_of_its_learner(state: Path, taught: Learner) -> None:
    parts = {str(name): value for name, value in query(state, "SELECT name, value FROM parts")}
    assert len(str(parts.pop("origin"))) == 32
    assert parts == vars(taught.parts)
    assert query(state, "SELECT label, bits FROM samples") == [
        ("ball", 32), ("ball", 32), ("box", 32), ("box", 32)
    ]  # fmt: skip


def test_a_purge_erases_even_if_a_reader_keeps_the_file_from_getting_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("robocle.store.tables.BUSY_SECONDS", 0.1)
    path = tmp_path / "home"
    with opened(path) as learner, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        teach(learner, "mug", 20)
        teach(learner, "pan", 1, seed=1)
        forgotten = [embedding([0, number], WIDTH).tobytes() for number in range(20)]
        learner.forget("mug")
        assert all(each in path.read_bytes() for each in forgotten)

        def read(statement: str) -> None:
            if statement == "VACUUM":
                reader.execute("BEGIN").execute("SELECT count(*) FROM samples").fetchone()

        learner._learned.state.connection.set_trace_callback(read)
        size = path.stat().st_size
        learner.purge()
        assert "the file is as large as before" in caplog.text
        assert (learner.steps, learner.counts, path.stat().st_size) == ([], {"pan": 1}, size)
        content = path.read_bytes()
        assert b"mug" not in content
        assert not any(each[:16] in content for each in forgotten)


# ---- over another file


@pytest.mark.parametrize("replace", [False, True])
def test_only_a_state_is_replaced_and_only_on_request(
    replace: bool, tmp_path: Path, refusal: Refusal
) -> None:
    learner = another("mug", 3, "slda:keep=0")  # a copy has sums alone
    steps = learner.steps
    for name, content in (("table", b"mug,pan" * 99), ("empty", b""), ("text", b"SQLite")):
        (tmp_path / name).write_bytes(content)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE mail (text)").connection.close()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("text")
    others = files_in(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in others if name != "pipe"}
    for name in others:
        refusal(StateError, lambda path=tmp_path / name: learner.save(path, replace=replace))  # type: ignore[misc]
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert learner.steps == steps != []
    another("pan").save(tmp_path / "home", replace=replace)
    if replace:
        learner.save(tmp_path / "home", replace=True)
    else:
        message = refusal(StateError, lambda: learner.save(tmp_path / "home"))
        reason = "it exists; pass replace=True, or choose another name"
        assert message == f"cannot write {tmp_path / 'home'}: {reason}"
    assert loaded(tmp_path / "home").labels == (("mug",) if replace else ("pan",))
    assert files_in(tmp_path) == sorted([*others, "home"])


@pytest.mark.parametrize("links", ["with links", "without links"])
def test_a_file_that_appears_while_a_state_is_written_is_kept(
    links: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    real = os.link

    def late(source: Path, target: Path) -> None:
        Path(target).write_text("notes")
        if links == "without links":
            raise OSError(errno.EPERM, "Operation not permitted")
        real(source, target)

    for name, replace in (("copy", False), ("other", True)):
        with monkeypatch.context() as patched:
            patched.setattr(os, "link", late)
            refusal(StateError, lambda: another("mug").save(tmp_path / name, replace=replace))  # noqa: B023
        assert (tmp_path / name).read_text() == "notes"
    assert files_in(tmp_path) == ["copy", "other"]


def test_a_state_is_written_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", failing)
    another("mug").save(tmp_path / "home")
    assert loaded(tmp_path / "home").labels == ("mug",)
    monkeypatch.setattr(os, "replace", failing)
    refusal(StateError, lambda: another("mug").save(tmp_path / "other"))
    assert files_in(tmp_path) == ["home"]


SAVE_OFTEN = """
import sys
from contextlib import closing
from pathlib import Path
from robocle import Learner
learner = Learner(pooling="avg")
learner.teach_embedding([0.9, 0.1], "mug")
for number in range(20):
    try:
        learner.save(Path(sys.argv[1]) / str(number))
    except ValueError:
        continue
    print(number)
"""


@pytest.mark.slow
def test_of_two_programs_that_save_to_one_new_file_one_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SAVE_OFTEN, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    saved = [int(number) for each in both for number in each.communicate(timeout=60)[0].split()]
    assert sorted(saved) == list(range(20))
    assert len(files_in(tmp_path)) == 20


def test_a_learner_that_is_saved_to_its_own_file_goes_on(tmp_path: Path, refusal: Refusal) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 2)
        (tmp_path / "link").symlink_to("home")
        before = (tmp_path / "home").stat().st_ino
        for path in (tmp_path / "home", tmp_path / "link", tmp_path / "." / "x" / ".." / "home"):
            learner.save(path)
        assert (tmp_path / "home").stat().st_ino == before
        learner.undo()
        assert learner.counts == loaded(tmp_path / "home").counts == {"mug": 1}
        (tmp_path / "home").unlink()
        assert "was deleted" in refusal(StateError, lambda: learner.save(tmp_path / "home"))


def test_a_link_stays_a_link_to_what_is_replaced(tmp_path: Path) -> None:
    another("mug").save(tmp_path / "home")
    (tmp_path / "link").symlink_to("home")
    another("pan").save(tmp_path / "link", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert loaded(tmp_path / "home").labels == ("pan",)


@pytest.mark.parametrize("place", ["missing/home", "file/home", "folder"])
def test_saving_where_no_file_can_be_is_refused(
    place: str, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    message = refusal(StateError, lambda: another("mug").save(tmp_path / place))
    folder = f"{tmp_path / place} is a folder: give a file"
    assert message == folder or message.startswith(f"cannot write {tmp_path / place}: ")
    assert files_in(tmp_path) == ["file", "folder"]
    assert files_in(tmp_path / "folder") == []


# ---- completely or not at all


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_a_save_that_fails_leaves_the_old_state_and_no_other_file(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    another("mug", 2).save(tmp_path / "home")
    before = (tmp_path / "home").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        with pytest.raises((StateError, KeyboardInterrupt)) as caught:
            another("pan").save(tmp_path / "home", replace=True)
    if isinstance(error, OSError):
        assert str(caught.value) == f"cannot write {tmp_path / 'home'}: No space left"
    assert (tmp_path / "home").read_bytes() == before
    assert files_in(tmp_path) == ["home"]
    another("pan").save(tmp_path / "home", replace=True)
    assert loaded(tmp_path / "home").labels == ("pan",)


# ---- permissions


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], ids=oct)
def test_new_files_have_the_permissions_that_the_umask_leaves(
    umask: int, taught: Learner, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(umask)
    opened(tmp_path / "opened").close()
    taught.save(tmp_path / "saved")
    taught.export_onnx(tmp_path / "exported")
    names = ("opened", "saved", "exported")
    assert modes(tmp_path) == dict.fromkeys(names, 0o666 & ~umask)


@pytest.mark.parametrize("mode", [0o600, 0o660], ids=["private", "shared by a group"])
def test_a_state_keeps_its_permissions(mode: int, tmp_path: Path, set_umask: SetUmask) -> None:
    set_umask(0o022)
    opened(tmp_path / "home").close()
    (tmp_path / "home").chmod(mode)
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug")
        learner.purge()
        another("pan").save(tmp_path / "home", replace=True)
        teach(learner, "jar")
    assert modes(tmp_path) == {"home": mode}


def test_a_read_only_state_is_not_replaced(tmp_path: Path, refusal: Refusal) -> None:
    another("mug").save(tmp_path / "home")
    (tmp_path / "home").chmod(0o444)
    before = (tmp_path / "home").read_bytes()
    message = refusal(StateError, lambda: another("pan").save(tmp_path / "home", replace=True))
    assert message == f"cannot write {tmp_path / 'home'}: it is read-only; make it writable first"
    assert (tmp_path / "home").read_bytes() == before
    assert modes(tmp_path) == {"home": 0o444}
