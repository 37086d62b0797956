"""Snapshots: everything a learner has learned, in one file.

A snapshot is a safetensors file. Its metadata entry "robocle" is a JSON object with the format
version, the parts (backbone by name and fingerprint, preprocessing, pooling, classifier, views),
the labels, the operations that can be undone, and checksums. Its tensors are the classifier's
arrays and the embeddings of the operations. It contains no pictures and no code.
"""

import hashlib
import io
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from robocle.errors import StateAccessError, StateError
from robocle.files import patiently, replace_file
from robocle.store.operations import Operation, Teach, Undo, counts_after, from_words, to_words
from robocle.store.parts import Parts

FORMAT = 2
METADATA_KEY = "robocle"
HISTORY = "history"
"""The array that holds the embeddings of the operations."""
MAX_HEADER = 100_000_000  # the safetensors library's own limit

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class StoredState:
    """A state as it is stored: a classifier, and the operations applied since."""

    parts: Parts
    labels: tuple[str, ...]
    arrays: Arrays
    history: tuple[Operation, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of pictures taught per label, after the operations.

        Raises:
            StateError: The arrays hold no valid counts.
        """
        before = self.arrays.get("counts", np.empty(0))
        if before.shape != (len(self.labels),) or before.dtype.kind not in "iu":
            raise StateError("state has no valid number of pictures per label")
        return counts_after(dict(zip(self.labels, before.tolist(), strict=True)), self.history)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot file as it was read."""

    identity: bytes
    """A hash of its header, which holds the checksums of everything else."""
    state: StoredState
    damage: Mapping[str, list[int]]
    """The rows whose checksum is wrong, by array name."""


def write_state(path: Path, state: StoredState) -> bytes:
    """Write a state to a file, atomically.

    Returns:
        The identity of the new snapshot.

    Raises:
        StateAccessError: The file cannot be written.
    """
    content = encoded(state)
    try:
        replace_file(path, content)
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error
    return _identity(io.BytesIO(content))


def read_identity(path: Path) -> bytes:
    """Return the identity of the snapshot that is now at a path.

    Raises:
        StateAccessError: The file cannot be read.
    """
    try:
        return _identity_at(path)
    except OSError as error:
        raise StateAccessError.of("read", path, error) from error


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot and check it as far as possible without its parts.

    Raises:
        StateError: It is not a snapshot, or its description is damaged. Damaged array rows raise
            nothing: they are listed in the result.
    """
    if not os.path.isfile(path):  # unlike path.is_file(), no error for a name that is too long
        raise StateError(f"there is no state file {path}: teach something to make one")
    try:
        before, identity = b"", _identity_at(path)
        while before != identity:  # a writer has renamed a new file over the path: read that
            metadata, arrays = _read_tensors(path)
            before, identity = identity, _identity_at(path)
    except OSError as error:
        raise StateAccessError.of("read", path, error) from error
    except Exception as error:  # a damaged file can fail in any way
        raise StateError(f"{path} is damaged or not a robocle state ({error})") from error
    return _parsed(path, metadata, arrays, identity)


def _read_tensors(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    with patiently(lambda: safe_open(path, framework="numpy")) as tensors:
        arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
        return tensors.metadata() or {}, arrays


def encoded(state: StoredState) -> bytes:
    """Return the bytes of a snapshot."""
    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    embeddings = [op.embedding for op in state.history if isinstance(op, Teach)]
    if embeddings:
        arrays[HISTORY] = np.array(embeddings)
    head = {
        "format": FORMAT,
        **asdict(state.parts),
        "labels": list(state.labels),
        "history": [to_words(operation) for operation in state.history],
        "crc32": {name: checksums(array) for name, array in sorted(arrays.items())},
    }
    return save(arrays, sealed(head))


def sealed(head: Mapping[str, object]) -> dict[str, str]:
    """Return a header as metadata. Its last entry is the CRC-32 of the text before that entry."""
    text = json.dumps({**head, "seal": "00000000"})
    return {METADATA_KEY: f'{text[:-10]}{_seal(text)}"}}'}


def _seal(text: str) -> str:
    return f"{zlib.crc32(text[:-10].encode()):08x}"


def checksums(array: NDArray[Any]) -> str:
    """Return the checksums of an array, 8 hexadecimal digits each.

    There is one CRC-32 per row, or a single one for an array with one axis. Each starts from the
    CRC-32 of the shape.
    """
    start = zlib.crc32(repr(array.shape).encode())
    rows = np.ascontiguousarray(array)
    rows = rows.reshape(len(rows), -1) if array.ndim > 1 and len(rows) else rows.reshape(1, -1)
    return "".join(f"{zlib.crc32(row.data, start):08x}" for row in rows)


def _identity_at(path: Path) -> bytes:
    with patiently(lambda: open(path, "rb")) as file:
        return _identity(file)


def _identity(file: BinaryIO) -> bytes:
    """Return a hash of the header. At most MAX_HEADER bytes are read, even from a damaged file."""
    file.seek(0)
    start = file.read(8)
    length = min(int.from_bytes(start, "little"), MAX_HEADER)
    return hashlib.sha256(start + file.read(length)).digest()


def _parsed(
    path: Path, metadata: Mapping[str, str], arrays: dict[str, NDArray[Any]], identity: bytes
) -> Snapshot:
    head = _head(path, metadata)
    version = head.pop("format", None)
    if version != FORMAT:
        raise StateError(
            f"{path} has state format {version}, and this robocle reads format {FORMAT}: "
            "use the robocle version that wrote it"
        )
    words, expected, seal = (head.pop(key, None) for key in ("history", "crc32", "seal"))
    if seal != _seal(metadata[METADATA_KEY]):
        raise StateError(f"{path} is damaged: the checksum of its description is wrong")
    damage = _damaged(path, arrays, expected)
    embeddings = arrays.pop(HISTORY, np.empty((0, 0)))
    labels, parts = _labels_and_parts(path, head)
    history = _history(path, words, embeddings)
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
            raise StateError(f"{path} is damaged: {name} has an unexpected shape")
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
    # Printable text cannot send control sequences to a terminal when it is shown.
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise StateError(f"{path} is damaged: a part or label in it is not plain text")
    return tuple(labels), parts


def _history(path: Path, words: object, embeddings: NDArray[Any]) -> tuple[Operation, ...]:
    rows = iter(embeddings)
    operations: list[Operation] = []
    try:
        if not isinstance(words, list):
            raise ValueError("no list of operations")
        for each in words:
            embedding = next(rows) if isinstance(each, list) and each[:1] == ["teach"] else None
            operation = from_words(each, embedding)
            if isinstance(operation, Undo):
                raise ValueError("an undo, which a snapshot does not hold")
            operations.append(operation)
    except (ValueError, StopIteration) as error:
        raise StateError(f"{path} is damaged: its history cannot be read") from error
    return tuple(operations)
