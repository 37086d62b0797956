"""The pieces of a snapshot are the bytes that safetensors itself would write."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

from robocle.classifiers import ClassifierState
from robocle.classifiers.samples import Sample
from robocle.errors import StateError
from robocle.store import Parts, StoredState, read_state, write_state
from robocle.store.description import encoded
from robocle.store.snapshot import read_identity
from robocle.store.tensors import safetensors_pieces
from state_files import Arrays

# Every type that all supported versions of safetensors can write.
TYPES = ["u8", "i8", "f8", "f4", "u4", "i4", "f2", "u2", "i2", "i1", "u1", "?"]


def joined(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    header, contents = safetensors_pieces(arrays, metadata)
    return b"".join([header, *contents])


def state_of(folded: Arrays) -> StoredState:
    samples = Sample("ball", np.ones(2)), Sample("Löffel", np.zeros(2))
    return StoredState(
        Parts("b", "f", "p", "avg", "slda"), ClassifierState(("ball",), samples, folded)
    )


def array_of(kind: str) -> NDArray[np.generic]:
    return np.random.default_rng(3).integers(0, 2, (3, 5)).astype(kind)


def test_arrays_of_all_types_are_laid_out_as_safetensors_does() -> None:
    arrays = {f"{name}{kind}": array_of(kind) for name in "ba" for kind in TYPES}
    assert joined(arrays, {"robocle": "{}"}) == save(arrays, {"robocle": "{}"})


@pytest.mark.parametrize("shape", [(), (0,), (0, 7), (1,), (2, 3, 4)], ids=str)
def test_an_array_of_any_shape_is_written_as_safetensors_does(shape: tuple[int, ...]) -> None:
    arrays: Arrays = {
        "before": np.ones(3, np.float32),
        "it": np.ones(shape),
        "zz": np.ones(1, np.int8),
    }
    assert joined(arrays, {}) == save(arrays, {})


@pytest.mark.parametrize(
    "text", ["", '{"a": "\\\\"}', "Löffel ☕ 😀", "\n\t\b\f\r\x00\x1b\x7f\u2028", "x" * 1000]
)
def test_names_and_texts_are_escaped_as_safetensors_does(text: str) -> None:
    arrays: Arrays = {f"name {text}": np.ones(2), "other": np.ones(1, np.int8)}
    assert joined(arrays, {"robocle": text}) == save(arrays, {"robocle": text})


def test_no_array_is_an_empty_file_of_safetensors() -> None:
    assert joined({}, {"robocle": "x"}) == save({}, {"robocle": "x"})


def test_contiguous_arrays_are_not_copied() -> None:
    array = np.arange(6.0).reshape(2, 3)
    _, (content,) = safetensors_pieces({"it": array}, {})
    assert np.shares_memory(np.frombuffer(content), array)


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3).T, np.arange(6.0)[::2], np.arange(3, dtype=">f4")]
)
def test_arrays_in_another_order_are_read_with_their_values(array: NDArray[np.generic]) -> None:
    np.testing.assert_array_equal(load(joined({"it": array}, {}))["it"], array)


def test_an_array_that_no_state_can_hold_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    write_state(tmp_path / "s", state_of({"means": np.ones((1, 2))}))
    texts = state_of({"means": np.array(["one"])})
    message = "the array folded.means has the type <U3, which no state can"
    with pytest.raises(StateError, match=message):
        write_state(tmp_path / "s", texts)
    assert read_state(tmp_path / "s").base.folded["means"].tolist() == [[1, 1]]


def test_a_state_is_the_file_that_safetensors_would_write(tmp_path: Path) -> None:
    arrays = {"counts": np.array([3, 1]), "means": np.ones((2, 5), np.float32)}
    state = state_of(arrays)
    identity = write_state(tmp_path / "s", state)
    assert (tmp_path / "s").read_bytes() == save(*encoded(state))
    assert read_identity(tmp_path / "s") == identity
