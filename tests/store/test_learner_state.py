"""What was learnt survives in one file; a file that is not right is refused and harms nobody."""

import errno
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save

from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import RobocleError, StateError
from robocle.store import METADATA_KEY, Parts, StoredState, read_state, write_state
from robocle.store.snapshot import checksums, sealed

Arrays = dict[str, NDArray[Any]]
MEMORY = 256 << 20  # more than any of these files may cost


@pytest.fixture(scope="module")
def taught(lite0: Backbone, objects: Path) -> Learner:
    """A learner that knows a ball and a box."""
    learner = Learner(lite0, "avg", "slda:scatter=exact,shrinkage=oas")
    for label in ("ball", "box"):
        for number in (0, 1):
            learner.teach(objects / label / f"{number}.jpg", label)
    return learner


@pytest.fixture(scope="module")
def saved(taught: Learner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "home.robocle"
    taught.save(path)
    return path


@pytest.fixture
def state(saved: Path, tmp_path: Path) -> Path:
    """A state file of this test's own."""
    path = tmp_path / "home.robocle"
    path.write_bytes(saved.read_bytes())
    return path


def header_of(content: bytes) -> dict[str, Any]:
    (length,) = struct.unpack("<Q", content[:8])
    header: dict[str, Any] = json.loads(content[8 : 8 + length])
    return header


def description_of(content: bytes) -> dict[str, Any]:
    description: dict[str, Any] = json.loads(header_of(content)["__metadata__"][METADATA_KEY])
    return description


def rewrite(
    path: Path,
    description: Callable[[dict[str, Any]], object] = lambda found: found,
    arrays: Callable[[Arrays], Arrays] = lambda found: found,
) -> None:
    """Write a well-formed state file with another description or other arrays."""
    changed = description(description_of(path.read_bytes()))
    others = arrays(dict(read_state(path).arrays))
    if isinstance(changed, dict) and "seal" in changed:
        del changed["seal"]
        changed["crc32"] = {name: checksums(array) for name, array in others.items()}
        metadata = sealed(changed)
    else:
        metadata = {METADATA_KEY: changed if isinstance(changed, str) else json.dumps(changed)}
    path.write_bytes(save(others, metadata))


def temporary_files(path: Path) -> list[str]:
    return [file.name for file in path.parent.iterdir() if file != path]


# ---- written and read back


def test_a_loaded_learner_goes_on_where_the_saved_one_was(
    state: Path, taught: Learner, lite0: Backbone, objects: Path
) -> None:
    loaded = Learner.load(state, lite0)
    assert loaded.labels == taught.labels == ("ball", "box")
    assert loaded.counts == taught.counts == {"ball": 2, "box": 2}
    assert loaded.parts == taught.parts
    for picture in (objects / "ball" / "3.jpg", objects / "box" / "3.jpg"):
        assert loaded.predict(picture) == taught.predict(picture)
    loaded.teach(objects / "ball" / "2.jpg", "toy")
    assert loaded.counts == {"ball": 2, "box": 2, "toy": 1}


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_every_classifier_survives_in_a_file(
    classifier: str, lite0: Backbone, objects: Path, tmp_path: Path
) -> None:
    learner = Learner(lite0, "avg", classifier)
    for label in ("ball", "box"):
        for number in (0, 1):
            learner.teach(objects / label / f"{number}.jpg", label)
    learner.save(tmp_path / "any.robocle")
    loaded = Learner.load(tmp_path / "any.robocle", lite0)
    expected, found = (each.predict(objects / "box" / "2.jpg") for each in (learner, loaded))
    assert found.label == expected.label
    assert found.scores == pytest.approx(expected.scores, rel=1e-9)


def test_saving_twice_gives_the_same_bytes(state: Path, lite0: Backbone) -> None:
    before = state.read_bytes()
    Learner.load(state, lite0).save(state)
    assert state.read_bytes() == before


def test_a_learner_that_knows_nothing_is_saved_too(lite0: Backbone, tmp_path: Path) -> None:
    Learner(lite0).save(tmp_path / "new.robocle")
    assert Learner.load(tmp_path / "new.robocle", lite0).labels == ()


def test_a_learner_that_forgot_everything_can_learn_again(
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
def test_labels_of_every_script_come_back_as_they_were(
    label: str, state: Path, lite0: Backbone
) -> None:
    learner = Learner.load(state, lite0)
    learner.rename("ball", label)
    learner.save(state)
    assert Learner.load(state, lite0).labels == (label, "box")


def test_the_backbone_is_found_by_the_name_in_the_file(state: Path) -> None:
    assert Learner.load(state).labels == ("ball", "box")


def test_a_state_says_what_it_was_learnt_with(saved: Path, lite0: Backbone) -> None:
    description = description_of(saved.read_bytes())
    assert description["format"] == 2
    assert description["backbone"] == "efficientnet_lite0"
    assert description["fingerprint"] == lite0.fingerprint
    assert description["preprocessing"] == "stretched-square/1"
    assert description["pooling"] == "avg"
    assert description["classifier"].startswith("slda:scatter=exact,shrinkage=oas")
    assert description["labels"] == ["ball", "box"]


# ---- whole or not at all


def test_a_state_is_for_its_owner_only(state: Path, lite0: Backbone) -> None:
    state.chmod(0o644)
    Learner.load(state, lite0).save(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_state_and_nothing_else(
    step: str,
    state: Path,
    lite0: Backbone,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Refusal,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = state.read_bytes()
    learner = Learner.load(state, lite0)
    learner.forget("ball")
    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        message = refusal(StateError, lambda: learner.save(state))
    assert message == f"cannot write {state}: No space left on device"
    assert state.read_bytes() == before
    assert temporary_files(state) == []
    learner.save(state)
    assert Learner.load(state, lite0).labels == ("box",)


def test_an_interrupted_write_leaves_the_old_state_and_nothing_else(
    state: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = state.read_bytes()
    learner = Learner.load(state, lite0)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.save(state)
    assert state.read_bytes() == before
    assert temporary_files(state) == []


ENDLESS_WRITER = """if True:
    import sys
    from pathlib import Path
    import numpy as np
    from robocle.store import Parts, StoredState, write_state
    parts = Parts("b", "f", "p", "avg", "ncm")
    for number in range(1_000_000):
        arrays = {"means": np.full((512, 1024), float(number))}
        write_state(Path(sys.argv[1]), StoredState(parts, ("ball",), arrays))
        print(number, flush=True)
"""


@pytest.mark.parametrize("delay", [0.013, 0.031])
def test_a_program_killed_while_it_saves_leaves_a_whole_state(delay: float, tmp_path: Path) -> None:
    path = tmp_path / "killed.robocle"
    command = [sys.executable, "-c", ENDLESS_WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for _ in range(5):
            acknowledged = int(program.stdout.readline())
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(delay)
        program.send_signal(signal.SIGKILL)
    values = read_state(path).arrays["means"]
    assert values[0, 0] >= acknowledged
    assert (values == values[0, 0]).all()


@pytest.mark.parametrize("place", ["missing/home.robocle", "file/home.robocle", "folder"])
def test_a_state_that_cannot_be_written_there_is_refused(
    place: str, taught: Learner, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    message = refusal(StateError, lambda: taught.save(tmp_path / place))
    assert message.startswith(f"cannot write {tmp_path / place}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


# ---- what is refused


def test_a_missing_state_is_refused_with_what_to_do(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "nowhere.robocle"
    message = refusal(StateError, lambda: Learner.load(path))
    assert message == f"there is no state file {path}: teach something to make one"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000], ids=["zero", "long"])
def test_a_path_that_cannot_exist_is_refused(path: str, refusal: Refusal) -> None:
    refusal(StateError, lambda: Learner.load(path))


def test_a_folder_is_not_a_state(tmp_path: Path, refusal: Refusal) -> None:
    refusal(StateError, lambda: Learner.load(tmp_path))


@pytest.mark.parametrize("version", [0, 3, "1", None, [1], {}, 1e9])
def test_another_format_version_is_refused(
    version: object, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, lambda found: found | {"format": version})
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message.startswith(
        f"{state} has state format {version}, and this robocle reads format 2"
    )


def test_a_state_of_another_backbone_is_refused_with_both_names(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, lambda found: found | {"backbone": "resnet50", "fingerprint": "1f3a" * 16})
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message == (
        f"{state} was learned on resnet50 (sha 1f3a1f3a), not on efficientnet_lite0 "
        f"(sha {lite0.fingerprint[:8]}): load it with that backbone"
    )


def test_another_preprocessing_is_refused(state: Path, lite0: Backbone, refusal: Refusal) -> None:
    rewrite(state, lambda found: found | {"preprocessing": "centre-crop/7"})
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert "'centre-crop/7'" in message
    assert str(state) in message


def test_a_state_of_an_unknown_part_is_refused_with_its_name(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, lambda found: found | {"backbone": "backbone_of_tomorrow"})
    assert "backbone_of_tomorrow" in refusal(RobocleError, lambda: Learner.load(state))
    rewrite(state, lambda found: found | {"classifier": "oracle"})
    assert "oracle" in refusal(RobocleError, lambda: Learner.load(state, lite0))


NOT_STATES: dict[str, bytes] = {
    "empty": b"",
    "one byte": b"\0",
    "text": b"this is not a state\n" * 20,
    "zeros": bytes(1000),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a zip": b"PK\x03\x04" + bytes(100),
    "tensors of another program": save({"w": np.zeros(3, np.float32)}),
    "metadata of another program": save({"w": np.zeros(3, np.float32)}, {"format": "pt"}),
    "a header that is too long": struct.pack("<Q", 1 << 63) + b"{}",
    "a header longer than the file": struct.pack("<Q", 1 << 20) + b"{}",
    "a header that is no JSON": struct.pack("<Q", 4) + b"{{{{",
    "a header that is a list": struct.pack("<Q", 2) + b"[]",
    "a deeply nested header": struct.pack("<Q", 200_000) + b"[" * 200_000,
}


@pytest.mark.parametrize("name", NOT_STATES)
def test_a_file_that_is_not_a_state_is_refused(
    name: str, tmp_path: Path, lite0: Backbone, refusal: Refusal
) -> None:
    path = tmp_path / "not.robocle"
    path.write_bytes(NOT_STATES[name])
    assert str(path) in refusal(StateError, lambda: Learner.load(path, lite0))


def without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda found: {name: value for name, value in found.items() if name != key}


def replaced(**changes: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda found: found | changes


DESCRIPTIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "text that is no JSON": lambda _: "{",
    "empty text": lambda _: "",
    "a list": lambda _: [1, 2],
    "a list of the right words": lambda _: ["format", "labels"],
    "a number": lambda _: 1,
    "text": lambda _: json.dumps("format"),
    "null": lambda _: None,
    "an endless number": lambda _: '{"format": ' + "9" * 100_000 + "}",
    "deep lists": lambda _: "[" * 100_000,
    "deep lists inside": lambda _: '{"format": 1, "labels": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep objects": lambda _: '{"a":' * 100_000,
    "no format": without("format"),
    "no labels": without("labels"),
    "no fingerprint": without("fingerprint"),
    "no pooling": without("pooling"),
    "an unknown entry": replaced(extra=1),
    "labels that are text": replaced(labels="ab"),
    "labels that are an object": replaced(labels={"ball": 1, "box": 2}),
    "labels that are null": replaced(labels=None),
    "labels that are numbers": replaced(labels=[1, 2]),
    "labels that are lists": replaced(labels=[["ball"], ["box"]]),
    "one label null": replaced(labels=["ball", None]),
    "one label empty": replaced(labels=["ball", ""]),
    "one label with a newline": replaced(labels=["ball", "bo\nx"]),
    "one label with an escape": replaced(labels=["ball", "\x1b[2J"]),
    "one label of half a character": replaced(labels=["ball", "\ud800"]),
    "one label of 10,000 characters": replaced(labels=["ball", "x" * 10_000]),
    "one label twice": replaced(labels=["ball", "ball"]),
    "one label missing": replaced(labels=["ball"]),
    "one label too many": replaced(labels=["ball", "box", "bag"]),
    "a million labels": replaced(labels=[str(number) for number in range(1_000_000)]),
    "a pooling that is a number": replaced(pooling=3),
    "a pooling that is a list": replaced(pooling=["avg"]),
    "an unknown pooling": replaced(pooling="average"),
    "a pooling with a wrong option": replaced(pooling="moments:r=1000000000"),
    "a classifier with a wrong option": replaced(classifier="slda:blocks=1000000000"),
    "a classifier with other arrays": replaced(classifier="ncm"),
    "a classifier with other blocks": replaced(classifier="slda:blocks=7,covariance=blocks"),
    "a fingerprint that is null": replaced(fingerprint=None),
    "an empty fingerprint": replaced(fingerprint=""),
    "a preprocessing that is a number": replaced(preprocessing=1),
}


def peak_of(call: Callable[[], object]) -> int:
    """The most memory a call holds, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_hostile_description_is_refused(
    name: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, DESCRIPTIONS[name])
    assert peak_of(lambda: refusal(RobocleError, lambda: Learner.load(state, lite0))) < MEMORY


# What may happen to any array of a state.
DAMAGES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "not a number": lambda array: np.full(array.shape, np.nan),
    "endless": lambda array: np.full(array.shape, np.inf),
    "minus endless": lambda array: np.full(array.shape, -np.inf),
    "truths": lambda array: np.ones(array.shape, np.bool_),
    "one axis more": lambda array: array[None],
    "no axis": lambda array: np.array(array.flat[0]),
    "one row more": lambda array: np.concatenate([array, array[:1]]),
    "one row less": lambda array: array[1:],
    "no row": lambda array: array[:0],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_state_with_one_damaged_array_is_refused(
    name: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    sound = read_state(state).arrays
    assert "counts" in sound
    for damaged in sound:
        rewrite(state, arrays=lambda _: {**sound, damaged: DAMAGES[name](sound[damaged])})  # noqa: B023
        message = refusal(StateError, lambda: Learner.load(state, lite0))
        assert message.startswith(f"{state} is damaged: ")


def test_a_state_that_lacks_any_array_is_refused(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    sound = read_state(state).arrays
    for lacking in sound:
        kept = {name: array for name, array in sound.items() if name != lacking}
        rewrite(state, arrays=lambda _: kept)  # noqa: B023
        message = refusal(StateError, lambda: Learner.load(state, lite0))
        assert message.startswith(f"{state} is damaged: ")


@pytest.mark.parametrize("count", [0, -1, 1000, 1 << 62])
def test_impossible_counts_are_refused(
    count: int, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, arrays=lambda found: found | {"counts": np.full(2, count)})
    refusal(StateError, lambda: Learner.load(state, lite0))


def raw_state(description: dict[str, Any], tensors: dict[str, Any], data: bytes = b"") -> bytes:
    """A state file whose header says what it likes about its tensors."""
    header = {"__metadata__": {METADATA_KEY: json.dumps(description)}, **tensors}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype: str, shape: list[Any], *offsets: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


HEADERS: dict[str, dict[str, Any]] = {
    "a huge shape": {"counts": tensor("I64", [1 << 40], 0, 8)},
    "a huge shape and size": {"counts": tensor("I64", [1 << 40], 0, 1 << 43)},
    "a shape that overflows": {"counts": tensor("I64", [1 << 32, 1 << 32], 0, 8)},
    "a shape that overflows to zero": {"counts": tensor("I64", [1 << 62, 4], 0, 0)},
    "a negative shape": {"counts": tensor("I64", [-1], 0, 8)},
    "a fractional shape": {"counts": tensor("I64", [1.5], 0, 8)},
    "a shape of text": {"counts": tensor("I64", ["1"], 0, 8)},
    "a shape of a million axes": {"counts": tensor("I64", [1] * 1_000_000, 0, 8)},
    "a shape of a hundred axes": {"counts": tensor("I64", [1] * 100, 0, 8)},
    "offsets the wrong way round": {"counts": tensor("I64", [1], 8, 0)},
    "negative offsets": {"counts": tensor("I64", [1], -8, 0)},
    "offsets past the end": {"counts": tensor("I64", [1], 8, 16)},
    "one offset": {"counts": tensor("I64", [1], 0)},
    "an unknown kind": {"counts": tensor("Q7", [1], 0, 8)},
    "a kind that numpy lacks": {"counts": tensor("F8_E4M3", [8], 0, 8)},
    "complex numbers": {"counts": tensor("C64", [1], 0, 8)},
    "no kind": {"counts": {"shape": [1], "data_offsets": [0, 8]}},
    "an array that is a number": {"counts": 3},
    "two arrays in one place": {
        "counts": tensor("I64", [1], 0, 8),
        "samples": tensor("I64", [1], 0, 8),
    },
    "a hole": {"counts": tensor("U8", [4], 4, 8)},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_hostile_header_is_refused_in_little_memory(
    name: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    description = description_of(state.read_bytes()) | {"labels": ["ball"]}
    state.write_bytes(raw_state(description, HEADERS[name], bytes(8)))
    assert peak_of(lambda: refusal(StateError, lambda: Learner.load(state, lite0))) < MEMORY


# ---- whatever bytes a file holds


def assert_loaded_or_refused(path: Path, content: bytes, backbone: Backbone) -> None:
    path.write_bytes(content)
    try:
        learner = Learner.load(path, backbone)
    except RobocleError:
        return
    assert all(isinstance(label, str) and label.isprintable() for label in learner.labels)
    assert all(count >= 1 for count in learner.counts.values())


def test_a_state_cut_anywhere_in_its_header_is_refused(
    saved: Path, state: Path, lite0: Backbone
) -> None:
    content = saved.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    for end in [*range(8 + length), *range(8 + length, len(content), 997), len(content) - 1]:
        state.write_bytes(content[:end])
        with pytest.raises(StateError):
            Learner.load(state, lite0)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "home.robocle"


@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(scratch: Path, lite0: Backbone, content: bytes) -> None:
    scratch.write_bytes(content)
    with pytest.raises(StateError):
        Learner.load(scratch, lite0)


@given(data=st.data())
def test_a_mutated_header_is_loaded_or_refused(
    saved: Path, scratch: Path, lite0: Backbone, data: st.DataObject
) -> None:
    content = bytearray(saved.read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    edits = st.lists(st.tuples(st.integers(0, 7 + length), st.integers(0, 255)), max_size=6)
    for place, value in data.draw(edits):
        content[place] = value
    assert_loaded_or_refused(scratch, bytes(content), lite0)


@given(data=st.data())
def test_mutated_values_are_loaded_or_refused(
    saved: Path, scratch: Path, lite0: Backbone, data: st.DataObject
) -> None:
    content = bytearray(saved.read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    places = st.integers(8 + length, len(content) - 8)
    numbers = st.floats() | st.integers(-(1 << 63), (1 << 63) - 1)
    for place, number in data.draw(st.lists(st.tuples(places, numbers), max_size=6)):
        kind = "<d" if isinstance(number, float) else "<q"
        content[place : place + 8] = struct.pack(kind, number)
    assert_loaded_or_refused(scratch, bytes(content), lite0)


# ---- the file alone, without a learner


def test_a_stored_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    parts = Parts("b", "f", "p", "avg", "ncm")
    arrays: Arrays = {
        "whole": np.arange(6, dtype=np.int64).reshape(2, 3),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "narrow": np.array([1.5, -2], np.float32),
        "none": np.zeros((0, 7)),
    }
    write_state(tmp_path / "s", StoredState(parts, ("a", "b"), arrays))
    found = read_state(tmp_path / "s")
    assert (found.parts, found.labels) == (parts, ("a", "b"))
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
