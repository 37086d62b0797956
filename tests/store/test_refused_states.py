"""A file that is not a state of this learner is refused in one line, in little memory."""

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import RobocleError, StateError
from robocle.store import METADATA_KEY, recovered
from state_files import Arrays, Description, description_of, replaced, rewrite

MEMORY = 256 << 20  # in bytes
WIDTH = 24


@pytest.fixture
def state(lite0: Backbone, tmp_path: Path) -> Path:
    """A state with two samples, of "ball" and "box", and the sums of two that are not kept."""
    rng = np.random.default_rng(0)
    learner = Learner(lite0, "avg", "slda:keep=2")
    for label in ("ball", "ball", "box", "box"):
        learner.teach_embedding(rng.normal(size=WIDTH).astype(np.float32), label)
    learner.save(tmp_path / "home.robocle")
    return tmp_path / "home.robocle"


def peak_of(call: Callable[[], object]) -> int:
    """Return the most memory that a call allocates, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- files of another kind


def test_a_missing_state_is_refused_with_advice(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "nowhere.robocle"
    message = refusal(StateError, lambda: Learner.load(path))
    assert (
        message == f"there is no state file {path}: check the name, or teach something to make it"
    )


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000], ids=["zero", "long"])
def test_a_path_that_cannot_exist_is_refused(path: str, refusal: Refusal) -> None:
    refusal(StateError, lambda: Learner.load(path))


def test_a_folder_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    refusal(StateError, lambda: Learner.load(tmp_path))


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
    "a header that is not JSON": struct.pack("<Q", 4) + b"{{{{",
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


# ---- states of another version or of other parts


@pytest.mark.parametrize("version", [0, 2, 3, 5, "4", 4.0, None, [1], {}])
def test_another_format_version_is_refused(
    version: object, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, replaced(format=version))
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message == (
        f"{state} has state format {version}, and this robocle reads format 4: "
        "use the robocle version that wrote it"
    )


@pytest.mark.parametrize("use", [Learner.load, Learner.open, recovered])
def test_a_state_of_an_older_version_is_refused_in_one_line_and_stays(
    use: Callable[[Path], object], tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "old.robocle"
    description = {"format": 3, "backbone": "efficientnet_lite0", "labels": ["mug"], "history": []}
    old = save({"means": np.ones((1, 4))}, {METADATA_KEY: json.dumps(description)})
    path.write_bytes(old)
    message = refusal(StateError, lambda: use(path))
    assert message == (
        f"{path} has state format 3, and this robocle reads format 4: "
        "use the robocle version that wrote it"
    )
    assert path.read_bytes() == old


def test_a_state_of_another_backbone_is_refused_with_both_names(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, replaced(backbone="resnet50", fingerprint="1f3a" * 16))
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message == (
        f"{state} was learned on resnet50 (sha 1f3a1f3a), not on efficientnet_lite0 "
        f"(sha {lite0.fingerprint[:8]}): load it with that backbone"
    )


def test_a_state_of_another_default_backbone_names_both_hashes(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, replaced(fingerprint="1f3a" * 16))
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message == (
        f"{state} was learned on another efficientnet_lite0 (sha 1f3a1f3a) than the one on this "
        f"machine (sha {lite0.fingerprint[:8]}): use the robocle version that wrote it"
    )


def test_another_preprocessing_is_refused(state: Path, lite0: Backbone, refusal: Refusal) -> None:
    rewrite(state, replaced(preprocessing="centre-crop/7"))
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert "'centre-crop/7'" in message
    assert str(state) in message


def test_a_state_with_an_unknown_part_is_refused_with_its_name(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, replaced(backbone="backbone_of_tomorrow"))
    assert "backbone_of_tomorrow" in refusal(RobocleError, lambda: Learner.load(state))
    rewrite(state, replaced(classifier="oracle"))
    assert "oracle" in refusal(RobocleError, lambda: Learner.load(state, lite0))


# ---- hostile descriptions


def without(key: str) -> Callable[[Description], Description]:
    return lambda found: {name: value for name, value in found.items() if name != key}


def samples(*words: tuple[object, ...]) -> Callable[[Description], Description]:
    return replaced(samples=[list(each) for each in words])


DESCRIPTIONS: dict[str, Callable[[Description], object]] = {
    "text that is not JSON": lambda _: "{",
    "empty text": lambda _: "",
    "a list": lambda _: [1, 2],
    "a list of the right words": lambda _: ["format", "labels"],
    "a number": lambda _: 1,
    "text": lambda _: json.dumps("format"),
    "null": lambda _: None,
    "a number of 100,000 digits": lambda _: '{"format": ' + "9" * 100_000 + "}",
    "deep lists": lambda _: "[" * 100_000,
    "deep lists inside": lambda _: '{"format": 1, "labels": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep objects": lambda _: '{"a":' * 100_000,
    "no format": without("format"),
    "no labels": without("labels"),
    "no samples": without("samples"),
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
    "samples that are text": replaced(samples="ab"),
    "samples that are numbers": replaced(samples=[1, 2]),
    "one sample missing": replaced(samples=[["0" * 32, "ball"]]),
    "one sample too many": samples(*[(f"{number:032}", "ball") for number in range(3)]),
    "one sample without label": samples(("0" * 32, "ball"), ("1" * 32,)),
    "one sample with an empty label": samples(("0" * 32, "ball"), ("1" * 32, "")),
    "one sample with a long label": samples(("0" * 32, "ball"), ("1" * 32, "x" * 10_000)),
    "one sample with an escape": samples(("0" * 32, "ball"), ("1" * 32, "\x1b[2J")),
    "one sample twice": samples(("0" * 32, "ball"), ("0" * 32, "box")),
    "an id that is a number": samples(("0" * 32, "ball"), (1, "box")),
    "an id that is short": samples(("0" * 32, "ball"), ("1" * 31, "box")),
    "an id of other digits": samples(("0" * 32, "ball"), ("\N{FULLWIDTH DIGIT ONE}" * 32, "box")),
    "a pooling that is a number": replaced(pooling=3),
    "a pooling that is a list": replaced(pooling=["avg"]),
    "an unknown pooling": replaced(pooling="average"),
    "a pooling with a wrong option": replaced(pooling="moments:r=1000000000"),
    "a classifier with a wrong option": replaced(classifier="slda:blocks=1000000000"),
    "a classifier without sums": replaced(classifier="ncm"),
    "a classifier with other blocks": replaced(classifier="slda:blocks=7,covariance=blocks"),
    "a fingerprint that is null": replaced(fingerprint=None),
    "an empty fingerprint": replaced(fingerprint=""),
    "a preprocessing that is a number": replaced(preprocessing=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_hostile_description_is_refused_in_little_memory(
    name: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, DESCRIPTIONS[name])
    assert peak_of(lambda: refusal(RobocleError, lambda: Learner.load(state, lite0))) < MEMORY


# ---- wrong arrays


def assert_damaged(state: Path, arrays: Arrays, backbone: Backbone, refusal: Refusal) -> None:
    """Assert that a state with these arrays is refused as damaged."""
    rewrite(state, arrays=lambda _: arrays)
    message = refusal(StateError, lambda: Learner.load(state, backbone))
    assert message.startswith(f"{state} is damaged: ")


# Changes that make any array of a state wrong.
CHANGES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "NaN": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "minus infinite": lambda array: np.full(array.shape, -np.inf),
    "boolean": lambda array: np.ones(array.shape, np.bool_),
    "one axis more": lambda array: array[None],
    "no axis": lambda array: np.array(array.flat[0]),
    "one row more": lambda array: np.concatenate([array, array[:1]]),
    "one row less": lambda array: array[1:],
    "no row": lambda array: array[:0],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_with_one_wrong_array_is_refused(
    change: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    arrays = load(state.read_bytes())
    assert {"embeddings", "times", "folded.counts"} < set(arrays)
    for name, array in arrays.items():
        wrong = {**arrays, name: CHANGES[change](array)}
        assert_damaged(state, wrong, lite0, refusal)


def test_a_state_without_one_of_its_arrays_is_refused(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    arrays = load(state.read_bytes())
    for missing in arrays:
        others = {name: array for name, array in arrays.items() if name != missing}
        assert_damaged(state, others, lite0, refusal)


@pytest.mark.parametrize("count", [-1, 1000, 1 << 62])
def test_impossible_counts_are_refused(
    count: int, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    rewrite(state, arrays=lambda found: found | {"folded.counts": np.full(2, count)})
    refusal(StateError, lambda: Learner.load(state, lite0))


def test_a_label_without_samples_is_refused(state: Path, lite0: Backbone, refusal: Refusal) -> None:
    counts, means = np.array([1, 1, 0]), np.zeros((3, WIDTH))
    arrays = {"folded.counts": counts, "folded.means": means}
    rewrite(state, replaced(labels=["ball", "box", "bag"]), lambda found: found | arrays)
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert message == f"{state} is damaged: state has a label without samples"


# ---- hostile headers


def raw_state(description: Description, tensors: dict[str, Any], values: bytes) -> bytes:
    """Return a state file with any header, whether or not it fits the values."""
    header = {"__metadata__": {METADATA_KEY: json.dumps(description)}, **tensors}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + values


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
    "offsets in reverse order": {"counts": tensor("I64", [1], 8, 0)},
    "negative offsets": {"counts": tensor("I64", [1], -8, 0)},
    "offsets past the end": {"counts": tensor("I64", [1], 8, 16)},
    "one offset": {"counts": tensor("I64", [1], 0)},
    "an unknown dtype": {"counts": tensor("Q7", [1], 0, 8)},
    "a dtype that numpy lacks": {"counts": tensor("F8_E4M3", [8], 0, 8)},
    "complex numbers": {"counts": tensor("C64", [1], 0, 8)},
    "no dtype": {"counts": {"shape": [1], "data_offsets": [0, 8]}},
    "an array that is a number": {"counts": 3},
    "two arrays at the same offset": {
        "counts": tensor("I64", [1], 0, 8),
        "samples": tensor("I64", [1], 0, 8),
    },
    "a gap": {"counts": tensor("U8", [4], 4, 8)},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_hostile_header_is_refused_in_little_memory(
    name: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    description = description_of(state.read_bytes()) | {"labels": ["ball"]}
    state.write_bytes(raw_state(description, HEADERS[name], bytes(8)))
    assert peak_of(lambda: refusal(StateError, lambda: Learner.load(state, lite0))) < MEMORY
