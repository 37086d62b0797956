"""Snapshots: everything a learner has learned, in one file.

A snapshot is a safetensors file; `robocle.store.description` says what is in it. It contains no
pictures and no code.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray
from safetensors import safe_open

from robocle.errors import StateAccessError, StateError
from robocle.files import patiently, replace_file
from robocle.store.description import decoded, encoded
from robocle.store.stored_state import StoredState
from robocle.store.tensors import safetensors_pieces

MAX_HEADER = 100_000_000  # the safetensors library's own limit


@dataclass(frozen=True, eq=False)
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
        StateError: The file cannot be written, or an array has a type that it cannot hold.
    """
    header, contents = safetensors_pieces(*encoded(state))
    try:
        replace_file(path, header, *contents)
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error
    return hashlib.sha256(header).digest()


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
        raise StateError(
            f"there is no state file {path}: check the name, or teach something to make it"
        )
    try:
        before, identity = b"", _identity_at(path)
        while before != identity:  # a writer has renamed a new file over the path: read that
            metadata, arrays = _read_tensors(path)
            before, identity = identity, _identity_at(path)
    except OSError as error:
        raise StateAccessError.of("read", path, error) from error
    except Exception as error:  # a damaged file can fail in any way
        raise StateError(
            f"{path} is damaged or not a robocle state ({error}): give another file, or a copy"
        ) from error
    state, damage = decoded(path, metadata, arrays)
    return Snapshot(identity, state, damage)


def _read_tensors(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    with patiently(lambda: safe_open(path, framework="numpy")) as tensors:
        arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
        for array in arrays.values():
            array.flags.writeable = False  # so that they can be shared
        return tensors.metadata() or {}, arrays


def _identity_at(path: Path) -> bytes:
    with patiently(lambda: open(path, "rb")) as file:
        return _identity(file)


def _identity(file: BinaryIO) -> bytes:
    """Return a hash of the header. At most MAX_HEADER bytes are read, even from a damaged file."""
    file.seek(0)
    start = file.read(8)
    length = min(int.from_bytes(start, "little"), MAX_HEADER)
    return hashlib.sha256(start + file.read(length)).digest()
