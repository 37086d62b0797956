"""Snapshots: everything a learner has learnt, in one file.

A snapshot is a safetensors file. Its metadata entry "robocle" is a JSON object with the format
version, the parts (backbone by name and fingerprint, preprocessing, pooling and classifier specs),
the labels, the operations that can be taken back, and checksums; its tensors are the classifier's
arrays and the operations' vectors. There is no picture and no code in it.

A write is whole or not at all: a temporary file, flushed to disk, renamed over the old one, and
the folder flushed too.
"""

import hashlib
import io
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from robocle.errors import StateError
from robocle.store.operations import Operation, Teach, Undo, counts_after, described, from_words

FORMAT = 2
METADATA_KEY = "robocle"
VECTORS = "history"
MAX_HEADER = 100_000_000  # the safetensors library's own limit

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Parts:
    """What a state was learnt with. Only the same parts can go on with it."""

    backbone: str
    fingerprint: str
    preprocessing: str
    pooling: str
    classifier: str
    views: str = "plain"
    """How pictures are looked at when they are taught; states did not always say so."""

    def require_same(self, name: str, here: "Parts") -> None:
        """Refuse to go on with what was learnt with another backbone or preprocessing."""
        if self.fingerprint != here.fingerprint:
            raise StateError(
                f"{name} was learned on {self.backbone} (sha {self.fingerprint[:8]}), not on "
                f"{here.backbone} (sha {here.fingerprint[:8]}): load it with that backbone"
            )
        if self.preprocessing != here.preprocessing:
            raise StateError(
                f"{name} was learned with preprocessing {self.preprocessing!r}, and this robocle "
                f"has {here.preprocessing!r}: use the robocle version that wrote it"
            )


@dataclass(frozen=True)
class StoredState:
    """A state: the classifier some operations ago, and the operations since."""

    parts: Parts
    labels: tuple[str, ...]
    arrays: Arrays
    history: tuple[Operation, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How often each label was taught, after the operations."""
        before = self.arrays.get("counts", np.empty(0))
        if before.shape != (len(self.labels),) or before.dtype.kind not in "iu":
            raise StateError("state does not say how often its labels were taught")
        return counts_after(dict(zip(self.labels, before.tolist(), strict=True)), self.history)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot file as it was found."""

    identity: bytes
    """A hash of its header, which holds the checksums of all the rest."""
    state: StoredState
    damage: Mapping[str, list[int]]
    """The rows that do not have their checksum, by array."""


def write_state(path: Path, state: StoredState) -> bytes:
    """Replace the file at path by this state, or leave it as it was. Gives its identity."""
    content = encoded(state)
    try:
        _replace(path, content)
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror or error}") from error
    return _identity(io.BytesIO(content))


def read_identity(path: Path) -> bytes:
    """The identity of the snapshot that is there now."""
    try:
        with open(path, "rb") as file:
            return _identity(file)
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror or error}") from error


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in a file, checked as far as this can be done without its parts."""
    if not os.path.isfile(path):  # unlike path.is_file(), no error for a name that is too long
        raise StateError(f"there is no state file {path}: teach something to make one")
    try:
        # One open file throughout: another may be renamed over it meanwhile.
        with open(path, "rb") as file:
            name = f"/proc/self/fd/{file.fileno()}"
            with safe_open(name if os.path.exists(name) else path, framework="numpy") as tensors:
                metadata = tensors.metadata() or {}
                arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
            identity = _identity(file)
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can fail in any way
        raise StateError(f"{path} is damaged or not a robocle state ({error})") from error
    return _parsed(path, metadata, arrays, identity)


def encoded(state: StoredState) -> bytes:
    """The bytes of a snapshot."""
    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    vectors = [op.vector for op in state.history if isinstance(op, Teach)]
    if vectors:
        arrays[VECTORS] = np.array(vectors)
    head = {
        "format": FORMAT,
        **asdict(state.parts),
        "labels": list(state.labels),
        "history": [described(operation) for operation in state.history],
        "crc32": {name: checksums(array) for name, array in sorted(arrays.items())},
    }
    return save(arrays, sealed(head))


def sealed(head: Mapping[str, object]) -> dict[str, str]:
    """The metadata that holds a description; its last entry is the CRC-32 of what is before."""
    text = json.dumps({**head, "seal": "00000000"})
    return {METADATA_KEY: f'{text[:-10]}{_seal(text)}"}}'}


def _seal(text: str) -> str:
    return f"{zlib.crc32(text[:-10].encode()):08x}"


def checksums(array: NDArray[Any]) -> str:
    """The CRC-32 of each row of an array as 8 hexadecimal digits; of the whole if it has one axis.

    The shape goes in, too.
    """
    start = zlib.crc32(repr(array.shape).encode())
    rows = np.ascontiguousarray(array)
    rows = rows.reshape(len(rows), -1) if array.ndim > 1 and len(rows) else rows.reshape(1, -1)
    return "".join(f"{zlib.crc32(row.data, start):08x}" for row in rows)


def _identity(file: BinaryIO) -> bytes:
    """A hash of the header, at most of as much as can be one."""
    file.seek(0)
    start = file.read(8)
    length = min(int.from_bytes(start, "little"), MAX_HEADER)
    return hashlib.sha256(start + file.read(length)).digest()


def _parsed(
    path: Path, metadata: Mapping[str, str], arrays: dict[str, NDArray[Any]], identity: bytes
) -> Snapshot:
    head = _head(path, metadata)
    version = head.pop("format", None)
    if version is True or version not in (1, FORMAT):
        raise StateError(
            f"{path} has state format {version}, and this robocle reads up to {FORMAT}: "
            "use the robocle version that wrote it"
        )
    words, checked, seal = (head.pop(key, None) for key in ("history", "crc32", "seal"))
    damage: dict[str, list[int]] = {}
    if version == FORMAT:  # format 1 has neither history nor checksums
        if seal != _seal(metadata[METADATA_KEY]):
            raise StateError(f"{path} is damaged: its description does not have its checksum")
        damage = _damaged(path, arrays, checked)
    vectors = arrays.pop(VECTORS, np.empty((0, 0)))
    labels, parts = _labels_and_parts(path, head)
    history = _history(path, words if version == FORMAT else [], vectors)
    return Snapshot(identity, StoredState(parts, labels, arrays, history), damage)


def _head(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if METADATA_KEY not in metadata:
        raise StateError(f"{path} is not a robocle state")
    try:
        head = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path} is damaged: its description cannot be read") from error
    if not isinstance(head, dict) or "format" not in head:
        raise StateError(f"{path} is damaged: its description cannot be read")
    return head


def _damaged(path: Path, arrays: Arrays, expected: object) -> dict[str, list[int]]:
    if not isinstance(expected, dict) or set(expected) != set(arrays):
        raise StateError(f"{path} is damaged: its arrays are not those of its description")
    damage = {}
    for name, array in arrays.items():
        found, wanted = checksums(array), expected[name]
        if not isinstance(wanted, str) or len(wanted) != len(found):
            raise StateError(f"{path} is damaged: {name} has another shape than described")
        if found != wanted:
            starts = range(0, len(found), 8)
            damage[name] = [at // 8 for at in starts if found[at : at + 8] != wanted[at : at + 8]]
    return damage


def _labels_and_parts(path: Path, head: dict[str, Any]) -> tuple[tuple[str, ...], Parts]:
    try:
        labels = head.pop("labels")
        parts = Parts(**head)
    except (KeyError, TypeError) as error:
        raise StateError(f"{path} is damaged: its description is incomplete") from error
    texts = [*asdict(parts).values(), *labels] if isinstance(labels, list) else [None]
    # What is printable cannot play tricks on a terminal when it is shown.
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise StateError(f"{path} is damaged: a part or label in it is not plain text")
    return tuple(labels), parts


def _history(path: Path, words: object, vectors: NDArray[Any]) -> tuple[Operation, ...]:
    rows = iter(vectors)
    operations: list[Operation] = []
    try:
        if not isinstance(words, list):
            raise ValueError("no list of operations")
        for each in words:
            vector = next(rows) if isinstance(each, list) and each[:1] == ["teach"] else None
            operation = from_words(each, vector)
            if isinstance(operation, Undo):
                raise ValueError("an undo, which a snapshot does not hold")
            operations.append(operation)
    except (ValueError, StopIteration) as error:
        raise StateError(f"{path} is damaged: its history cannot be read") from error
    return tuple(operations)


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make a rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
