"""A learner is saved in one file, completely or not at all, and loaded from it unchanged."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from refusal import Refusal, SetUmask
from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS, ClassifierState
from robocle.classifiers.samples import Sample
from robocle.errors import StateError
from robocle.export.onnx_model import write_onnx
from robocle.store import Parts, StoredState, read_state, write_state
from state_files import Arrays, description_of


def other_files(path: Path) -> list[str]:
    """Return the names of all files beside a file."""
    return [file.name for file in path.parent.iterdir() if file != path]


# ---- saved and loaded


def test_a_loaded_learner_predicts_and_learns_like_the_saved_one(
    state: Path, taught: Learner, lite0: Backbone, objects: Path
) -> None:
    loaded = Learner.load(state, lite0)
    assert loaded.labels == taught.labels == ("ball", "box")
    assert loaded.counts == taught.counts == {"ball": 2, "box": 2}
    assert loaded.parts == taught.parts
    for picture in (objects / "ball" / "3.jpg", objects / "box" / "3.jpg"):
        found, expected = loaded.predict(picture), taught.predict(picture)
        assert (found.label, found.nothing) == (expected.label, expected.nothing)
        assert found.confidence == pytest.approx(expected.confidence, rel=1e-9)
        assert found.scores == pytest.approx(expected.scores, rel=1e-9)
    loaded.teach(objects / "ball" / "2.jpg", "toy")
    assert loaded.counts == {"ball": 2, "box": 2, "toy": 1}


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_every_classifier_can_be_saved_and_loaded(
    classifier: str,
    lessons: list[tuple[Path, str]],
    lite0: Backbone,
    objects: Path,
    tmp_path: Path,
) -> None:
    learner = Learner(lite0, "avg", classifier)
    for picture, label in lessons:
        learner.teach(picture, label)
    learner.save(tmp_path / "any.robocle")
    loaded = Learner.load(tmp_path / "any.robocle", lite0)
    expected, found = (each.predict(objects / "box" / "2.jpg") for each in (learner, loaded))
    assert found.label == expected.label
    assert found.scores == pytest.approx(expected.scores, rel=1e-9)


def test_saving_again_writes_the_same_bytes(state: Path, saved: bytes, lite0: Backbone) -> None:
    Learner.load(state, lite0).save(state)
    assert state.read_bytes() == saved


def test_a_learner_that_was_taught_nothing_can_be_saved(lite0: Backbone, tmp_path: Path) -> None:
    Learner(lite0).save(tmp_path / "new.robocle")
    assert Learner.load(tmp_path / "new.robocle", lite0).labels == ()


def test_a_learner_that_forgot_everything_can_be_taught_again(
    state: Path, lite0: Backbone, objects: Path
) -> None:
    learner = Learner.load(state, lite0)
    learner.forget("ball")
    learner.forget("box")
    learner.save(state)
    loaded = Learner.load(state, lite0)
    assert loaded.labels == ()
    loaded.teach(objects / "ball" / "0.jpg", "ball")
    assert loaded.predict(objects / "ball" / "0.jpg").label == "ball"


@pytest.mark.parametrize("label", ["чашка", "茶杯", "mug ☕", "a" * 200, '"quoted", \\ and {odd}'])
def test_labels_in_any_script_are_stored_unchanged(
    label: str, state: Path, lite0: Backbone
) -> None:
    learner = Learner.load(state, lite0)
    learner.rename("ball", label)
    learner.save(state)
    assert Learner.load(state, lite0).labels == (label, "box")


def test_the_backbone_named_in_the_file_is_loaded(state: Path) -> None:
    assert Learner.load(state).labels == ("ball", "box")


def test_a_state_describes_the_parts_of_its_learner(saved: bytes, lite0: Backbone) -> None:
    description = description_of(saved)
    assert description["format"] == 4
    assert description["backbone"] == "efficientnet_lite0"
    assert description["fingerprint"] == lite0.fingerprint
    assert description["preprocessing"] == "stretched-square/1"
    assert description["pooling"] == "avg"
    assert description["classifier"].startswith("slda:scatter=exact,shrinkage=oas")
    assert [label for _, label in description["samples"]] == ["ball", "ball", "box", "box"]


def test_a_stored_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    parts = Parts("b", "f", "p", "avg", "ncm")
    samples = tuple(Sample(label, np.array([0.1, n], np.float32)) for n, label in enumerate("bab"))
    folded: Arrays = {
        "integers": np.arange(6, dtype=np.int64).reshape(2, 3),
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "float32": np.array([1.5, -2], np.float32),
        "empty": np.zeros((0, 7)),
    }
    write_state(tmp_path / "s", StoredState(parts, ClassifierState(("a", "c"), samples, folded)))
    found = read_state(tmp_path / "s")
    assert (found.parts, found.base.labels) == (parts, ("a", "c"))
    for ours, theirs in zip(found.base.samples, samples, strict=True):
        assert (ours.id, ours.label, ours.time) == (theirs.id, theirs.label, theirs.time)
        np.testing.assert_array_equal(ours.embedding, theirs.embedding, strict=True)
    assert found.base.folded.keys() == folded.keys()
    for name, array in folded.items():
        np.testing.assert_array_equal(found.base.folded[name], array, strict=True)


# ---- completely or not at all


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of all files in a folder."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], ids=oct)
def test_the_files_of_a_new_state_get_the_permissions_that_the_umask_leaves(
    umask: int, lite0: Backbone, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(umask)
    with Learner.open(tmp_path / "home", lite0) as learner:
        learner.teach_embedding(np.ones(6, np.float32), "mug")
        expected = 0o666 & ~umask
        assert modes(tmp_path) == dict.fromkeys(("home", "home-journal", "home-lock"), expected)
    write_onnx(learner, tmp_path / "home.onnx")
    assert modes(tmp_path) == dict.fromkeys(("home", "home.onnx"), expected)


@pytest.mark.parametrize("mode", [0o600, 0o660], ids=["private", "shared by a group"])
def test_a_state_keeps_its_permissions_and_so_do_its_journal_and_its_lock_file(
    mode: int, lite0: Backbone, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(0o022)
    Learner(lite0).save(tmp_path / "home")
    (tmp_path / "home").chmod(mode)
    with Learner.open(tmp_path / "home", lite0) as learner:
        learner.teach_embedding(np.ones(6, np.float32), "mug")
        assert modes(tmp_path) == dict.fromkeys(("home", "home-journal", "home-lock"), mode)
    assert modes(tmp_path) == {"home": mode}


def test_a_read_only_state_is_neither_taught_nor_replaced(
    state: Path, saved: bytes, lite0: Backbone, refusal: Refusal
) -> None:
    state.chmod(0o444)
    learner = Learner.load(state, lite0)
    for change in (lambda: Learner.open(state, lite0), lambda: learner.save(state)):
        message = refusal(StateError, change)
        assert message == f"cannot write {state}: it is read-only; make it writable first"
    assert state.read_bytes() == saved
    assert modes(state.parent) == {state.name: 0o444}


@pytest.mark.parametrize("step", ["os.replace", "robocle.files.flush_file"])
def test_a_failed_write_leaves_the_old_state_and_no_other_file(
    step: str,
    state: Path,
    saved: bytes,
    lite0: Backbone,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Refusal,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    learner = Learner.load(state, lite0)
    learner.forget("ball")
    with monkeypatch.context() as patched:
        patched.setattr(step, full)
        message = refusal(StateError, lambda: learner.save(state))
    assert message == f"cannot write {state}: No space left on device"
    assert state.read_bytes() == saved
    assert other_files(state) == []
    learner.save(state)
    assert Learner.load(state, lite0).labels == ("box",)


def test_an_interrupted_write_leaves_the_old_state_and_no_other_file(
    state: Path, saved: bytes, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    learner = Learner.load(state, lite0)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.save(state)
    assert state.read_bytes() == saved
    assert other_files(state) == []


ENDLESS_WRITER = """if True:
    import sys
    from pathlib import Path
    import numpy as np
    from robocle.classifiers import ClassifierState
    from robocle.classifiers.samples import Sample
    from robocle.store import Parts, StoredState, write_state
    parts = Parts("b", "f", "p", "avg", "ncm")
    for number in range(1_000_000):
        samples = tuple(Sample("ball", np.full(1024, float(number))) for _ in range(512))
        write_state(Path(sys.argv[1]), StoredState(parts, ClassifierState((), samples)))
        print(number, flush=True)
"""


@pytest.mark.parametrize("delay", [0.013, 0.031])
def test_a_program_killed_while_it_saves_leaves_a_complete_state(
    delay: float, tmp_path: Path
) -> None:
    path = tmp_path / "killed.robocle"
    command = [sys.executable, "-c", ENDLESS_WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for _ in range(5):
            acknowledged = int(program.stdout.readline())
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(delay)
        program.send_signal(signal.SIGKILL)
    values = np.array([sample.embedding for sample in read_state(path).base.samples])
    assert values.shape == (512, 1024)
    assert values[0, 0] >= acknowledged
    assert (values == values[0, 0]).all()


@pytest.mark.parametrize("place", ["missing/home.robocle", "file/home.robocle", "folder"])
def test_saving_where_no_file_can_be_is_refused(
    place: str, taught: Learner, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    message = refusal(StateError, lambda: taught.save(tmp_path / place))
    assert message.startswith(f"cannot write {tmp_path / place}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
