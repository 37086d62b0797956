"""Random bytes and ten thousand changed states are loaded or refused in one line, in little memory.

Some states are damaged, as by a failing disk. Others are hostile, as by an attacker who knows the
format: their checksums are correct and their contents are wrong.
"""

import random
import resource
import struct
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load

from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import RobocleError, StateError
from robocle.store import recovered
from robocle.store.journal import HEADER, RECORD
from state_files import description_of, header_size, sealed_file
from stub_backbone import STUB

MUTATIONS = 10_000
# All have samples in their states, and the last one sums, too.
CLASSIFIERS = ["ncm", "sqda", "slda:covariance=blocks,blocks=3", "slda:score=cosine,keep=40"]
MEMORY = 256 << 10  # in kilobytes, the unit of ru_maxrss
Files = tuple[bytes, bytes]
"""A snapshot and its journal."""


def files_of(folder: Path, classifier: str) -> Files:
    """Return a snapshot with an undo history and a checkpoint, and the journal after it."""
    rng = np.random.default_rng(0)
    path = folder / classifier.partition(":")[0]
    with Learner.open(path, STUB, pooling="avg", classifier=classifier) as learner:
        for number in range(130):
            learner.teach_embedding(rng.normal(size=24).astype(np.float32), f"object {number % 5}")
        with learner.step("a folder"):
            for number in range(60):
                learner.teach_embedding(rng.normal(size=24).astype(np.float32), f"{number % 3}")
    learner = Learner.open(path, STUB)
    assert len(learner._state.stored().checkpoints) == 1
    learner.teach_embedding(rng.normal(size=24).astype(np.float32), "new")
    learner.rename("new", "newer")
    learner.undo()
    learner.forget("object 2")
    learner.remove(learner.samples[0].id)
    files = path.read_bytes(), path.with_name(f"{path.name}-journal").read_bytes()
    learner.close()
    return files


def flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def spliced(rng: random.Random, content: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    middle = rng.choice([b"", rng.randbytes(end - start), content[start:end] * 2, bytes(20)])
    return content[:start] + middle + content[end:]


def with_a_number(rng: random.Random, content: bytes) -> bytes:
    """Replace a number, which may be a length or an offset."""
    number = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, rng.getrandbits(24)])
    at = rng.choice([0, HEADER.size + 4, rng.randrange(len(content) - 8)])
    kind = rng.choice(["<I", "<Q"])
    size = struct.calcsize(kind)
    packed = struct.pack(kind, number % 2 ** (8 * size))
    return content[:at] + packed + content[at + size :]


def damaged(rng: random.Random, files: Files) -> Files:
    snapshot, journal = files
    change = rng.choice([flipped, spliced, with_a_number])
    if rng.random() < 0.5:
        return change(rng, snapshot), journal
    return snapshot, change(rng, journal)


def hostile(rng: random.Random, files: Files) -> Files:
    """Change the description or an array, and make the checksums correct."""
    snapshot, journal = files
    description = description_of(snapshot)
    arrays = load(snapshot)
    name = rng.choice(sorted(arrays))
    if rng.random() < 0.7:
        arrays[name] = other_array(rng, arrays[name])
        if rng.random() < 0.1:
            del arrays[name]
    else:
        key = rng.choice(sorted(description))
        description[key] = other_value(rng, description[key])
    return sealed_file(description, arrays), journal


def other_array(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    choices: list[Callable[[], NDArray[Any]]] = [
        lambda: array[: rng.randrange(len(array) + 1)],
        lambda: np.concatenate([array, array]),
        lambda: np.ascontiguousarray(array.T),
        lambda: array.reshape(-1),
        lambda: np.full_like(array, rng.choice([0, 1, 100])),
        lambda: np.full(array.shape, rng.choice([np.nan, np.inf, 1e300, -1.0, 1e-300])),
        lambda: (array * -1e9).astype(array.dtype),
        lambda: array.astype(np.float16),
        lambda: np.zeros((0, 2**40), array.dtype),
        lambda: np.zeros((*array.shape, 1), array.dtype),
    ]
    return np.ascontiguousarray(rng.choice(choices)())


def other_value(rng: random.Random, value: object) -> object:
    if isinstance(value, list) and value and rng.random() < 0.7:
        return rng.choice(
            [value[1:], value + value, value[::-1], [*value, ["undo"]], [[]], [value]]
        )
    return rng.choice([None, 0, -1, 2**70, 1e308, "", "x" * 5000, "\x1b[2J", [], {}, [["teach"]]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflows of float64
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_damaged_or_hostile_state_is_loaded_or_refused_in_one_line(
    classifier: str, tmp_path: Path
) -> None:
    files = files_of(tmp_path, classifier)
    path = tmp_path / "fuzzed"
    journal = tmp_path / "fuzzed-journal"
    rng = random.Random(classifier)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slowest, refused = 0.0, 0
    for _ in range(MUTATIONS // 4):
        changed = rng.choice([damaged, hostile])(rng, files)
        path.write_bytes(changed[0])
        journal.write_bytes(changed[1])
        start = time.perf_counter()
        try:
            learner = Learner.load(path, STUB)
            if learner.labels:
                learner.predict_embedding(np.ones(24, np.float32))
            assert all(datetime.fromtimestamp(each.time) for each in learner.samples)
            for _ in range(min(len(learner.steps), 3)):  # the second returns to a checkpoint
                learner.undo()
        except RobocleError as error:
            message, refused = str(error), refused + 1
            assert message.splitlines() == [message]
        slowest = max(slowest, time.perf_counter() - start)
    assert refused > MUTATIONS // 16
    assert slowest < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("classifier", ["ncm", "slda:keep=40"])
def test_recovery_from_any_of_them_returns_a_state_or_raises_an_error_of_one_line(
    classifier: str, tmp_path: Path
) -> None:
    files = files_of(tmp_path, classifier)
    rng = random.Random(classifier)
    recoveries = 0
    for _ in range(400):
        changed = rng.choice([damaged, hostile])(rng, files)
        (tmp_path / "fuzzed").write_bytes(changed[0])
        (tmp_path / "fuzzed-journal").write_bytes(changed[1])
        try:
            state, _ = recovered(tmp_path / "fuzzed")
            recoveries += len(state.counts) > 0
        except RobocleError as error:
            message = str(error)
            assert message.splitlines() == [message]
    assert recoveries > 100


@pytest.mark.slow
def test_every_flipped_bit_of_a_snapshot_is_detected(tmp_path: Path) -> None:
    snapshot, _ = files_of(tmp_path, "slda")
    rng = random.Random(0)
    path = tmp_path / "flipped"
    for _ in range(300):
        changed = bytearray(snapshot)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(StateError):
            Learner.load(path, STUB)


def test_the_code_has_the_sizes_of_the_specification() -> None:
    assert (HEADER.size, RECORD.size) == (52, 12)


# ---- random bytes, and random changes to the file of a small state


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path to write to; hypothesis does not allow `tmp_path`."""
    return tmp_path_factory.mktemp("scratch") / "home.robocle"


def assert_loaded_or_refused(path: Path, content: bytes, backbone: Backbone) -> None:
    path.write_bytes(content)
    try:
        learner = Learner.load(path, backbone)
    except RobocleError:
        return
    assert all(isinstance(label, str) and label.isprintable() for label in learner.labels)
    assert all(count >= 1 for count in learner.counts.values())


def test_a_truncated_state_is_refused(saved: bytes, state: Path, lite0: Backbone) -> None:
    start = header_size(saved)
    for end in [*range(start), *range(start, len(saved), 997), len(saved) - 1]:
        state.write_bytes(saved[:end])
        with pytest.raises(StateError):
            Learner.load(state, lite0)


@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(scratch: Path, lite0: Backbone, content: bytes) -> None:
    scratch.write_bytes(content)
    with pytest.raises(StateError):
        Learner.load(scratch, lite0)


@given(data=st.data())
def test_a_mutated_header_is_loaded_or_refused(
    saved: bytes, scratch: Path, lite0: Backbone, data: st.DataObject
) -> None:
    content = bytearray(saved)
    places = st.integers(0, header_size(saved) - 1)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=6)):
        content[place] = value
    assert_loaded_or_refused(scratch, bytes(content), lite0)


@given(data=st.data())
def test_mutated_values_are_loaded_or_refused(
    saved: bytes, scratch: Path, lite0: Backbone, data: st.DataObject
) -> None:
    content = bytearray(saved)
    places = st.integers(header_size(saved), len(saved) - 8)
    numbers = st.floats() | st.integers(-(1 << 63), (1 << 63) - 1)
    for place, number in data.draw(st.lists(st.tuples(places, numbers), max_size=6)):
        kind = "<d" if isinstance(number, float) else "<q"
        content[place : place + 8] = struct.pack(kind, number)
    assert_loaded_or_refused(scratch, bytes(content), lite0)
