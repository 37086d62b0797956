"""State files: everything a learner has learnt, in one file.

A state is a safetensors file. Its metadata entry "robocle" is a JSON object with the format
version, the parts (backbone by name and fingerprint, preprocessing, pooling and classifier specs)
and the labels; its tensors are the classifier's arrays. There is no picture and no code in it.

A write is whole or not at all: a temporary file, flushed to disk, renamed over the old one, and
the folder flushed too.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from robocle.errors import StateError

FORMAT = 1
METADATA_KEY = "robocle"


@dataclass(frozen=True)
class Parts:
    """What a state was learnt with. Only the same parts can go on with it."""

    backbone: str
    fingerprint: str
    preprocessing: str
    pooling: str
    classifier: str


@dataclass(frozen=True)
class StoredState:
    """The contents of a state file."""

    parts: Parts
    labels: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]


def write_state(path: Path, state: StoredState) -> None:
    """Replace the file at path by this state, or leave it as it was."""
    head = {"format": FORMAT, **asdict(state.parts), "labels": list(state.labels)}
    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    content = save(arrays, {METADATA_KEY: json.dumps(head, ensure_ascii=False)})
    try:
        _replace(path, content)
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror or error}") from error


def read_state(path: Path) -> StoredState:
    """The state in a file, checked as far as this can be done without its parts."""
    if not os.path.isfile(path):  # unlike path.is_file(), no error for a name that is too long
        raise StateError(f"there is no state file {path}: teach something to make one")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can fail in any way
        raise StateError(f"{path} is damaged or not a robocle state ({error})") from error
    return _parsed(path, metadata, arrays)


def _parsed(
    path: Path, metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]
) -> StoredState:
    if METADATA_KEY not in metadata:
        raise StateError(f"{path} is not a robocle state")
    try:
        head = json.loads(metadata[METADATA_KEY])
        version = head.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError(f"{path} is damaged: its description cannot be read") from error
    if version != FORMAT:
        raise StateError(
            f"{path} has state format {version}, and this robocle reads {FORMAT}: "
            "use the robocle version that wrote it"
        )
    try:
        labels = head.pop("labels")
        parts = Parts(**head)
    except (KeyError, TypeError) as error:
        raise StateError(f"{path} is damaged: its description is incomplete") from error
    texts = [*asdict(parts).values(), *labels] if isinstance(labels, list) else [None]
    # What is printable cannot play tricks on a terminal when it is shown.
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise StateError(f"{path} is damaged: a part or label in it is not plain text")
    return StoredState(parts, tuple(labels), arrays)


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
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
