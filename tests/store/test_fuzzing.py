"""Ten thousand damaged and hostile states: each is loaded or refused in one line, in little memory.

Some are damaged as a disk would do it, others are made by someone who knows the format: sound in
every checksum, and wrong inside.
"""

import json
import random
import resource
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import RobocleError, StateError
from robocle.store import METADATA_KEY, recovered
from robocle.store.journal import HEADER, RECORD
from robocle.store.snapshot import checksums, sealed

MUTATIONS = 10_000
MEMORY = 256 << 10  # kilobytes, as the system counts them
Files = tuple[bytes, bytes]
Mutation = Callable[[random.Random, Files], Files]


class StubBackbone:
    """A backbone that is never asked to look."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())


def files_of(folder: Path, classifier: str) -> Files:
    """A snapshot with a history and a journal that continues it."""
    rng = np.random.default_rng(0)
    path = folder / classifier.partition(":")[0]
    with Learner.open(path, STUB, pooling="avg", classifier=classifier) as learner:
        for number in range(130):
            learner.teach_embedding(rng.normal(size=24).astype(np.float32), f"thing {number % 5}")
    learner = Learner.open(path, STUB)
    learner.teach_embedding(rng.normal(size=24).astype(np.float32), "new")
    learner.rename("new", "newer")
    learner.undo()
    learner.forget("thing 2")
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
    """A length or offset that someone chose."""
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
    """Another description or other arrays, under the right checksums."""
    snapshot, journal = files
    (length,) = struct.unpack("<Q", snapshot[:8])
    head = json.loads(json.loads(snapshot[8 : 8 + length])["__metadata__"][METADATA_KEY])
    arrays = load(snapshot)
    name = rng.choice(sorted(arrays))
    if rng.random() < 0.7:
        arrays[name] = other_array(rng, arrays[name])
        if rng.random() < 0.1:
            del arrays[name]
    else:
        key = rng.choice(sorted(head))
        head[key] = other_value(rng, head[key])
    head.pop("seal", None)
    if isinstance(head.get("crc32"), dict):
        head["crc32"] = {each: checksums(array) for each, array in arrays.items()}
    return save(arrays, sealed(head)), journal


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
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers near the end of float64
@pytest.mark.parametrize("classifier", ["ncm", "slda:covariance=blocks,blocks=3", "sqda", "ridge"])
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
        except RobocleError as error:
            message, refused = str(error), refused + 1
            assert message.splitlines() == [message]
        slowest = max(slowest, time.perf_counter() - start)
    assert refused > MUTATIONS // 16
    assert slowest < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("classifier", ["ncm", "slda"])
def test_recovering_from_any_of_them_gives_a_state_or_one_line(
    classifier: str, tmp_path: Path
) -> None:
    files = files_of(tmp_path, classifier)
    rng = random.Random(classifier)
    sound = 0
    for _ in range(400):
        changed = rng.choice([damaged, hostile])(rng, files)
        (tmp_path / "fuzzed").write_bytes(changed[0])
        (tmp_path / "fuzzed-journal").write_bytes(changed[1])
        try:
            state, _ = recovered(tmp_path / "fuzzed")
            sound += len(state.counts) > 0
        except RobocleError as error:
            message = str(error)
            assert message.splitlines() == [message]
    assert sound > 100


def test_any_flipped_bit_of_a_snapshot_is_found(tmp_path: Path) -> None:
    snapshot, _ = files_of(tmp_path, "slda")
    rng = random.Random(0)
    path = tmp_path / "flipped"
    for _ in range(300):
        changed = bytearray(snapshot)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(StateError):
            Learner.load(path, STUB)


def test_the_sizes_of_the_specification_are_those_of_the_code() -> None:
    assert (HEADER.size, RECORD.size) == (52, 12)
