"""What is in a snapshot: arrays by name, and a description of them in JSON.

The description has the format version, the parts (backbone by name and fingerprint, preprocessing,
pooling, classifier, views), the labels, the operations and checkpoints for undo, the sources, and
checksums. The arrays are the samples' embeddings and times, folded sums, the embeddings of the
operations, and the same for each checkpoint. `docs/state-file.md` specifies both.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import ClassifierState
from robocle.classifiers.embedding_numbers import embedding_numbers
from robocle.classifiers.labels import plain_label
from robocle.classifiers.samples import Sample, kept_embedding
from robocle.errors import StateError
from robocle.store.operations import (
    Operation,
    Teach,
    Undo,
    from_words,
    to_words,
    valid_id,
    valid_time,
)
from robocle.store.parts import Parts
from robocle.store.steps import step_from_words, step_words
from robocle.store.stored_state import Checkpoint, StoredState

Arrays = Mapping[str, NDArray[Any]]

FORMAT = 4
METADATA_KEY = "robocle"
HISTORY = "history"
"""The array that holds the embeddings of the operations."""
FOLDED = "folded."
"""How the names of the arrays of folded sums begin."""
CHECKPOINT = "undo."
"""How the names of the arrays of all checkpoints begin."""


def encoded(state: StoredState) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the arrays of a snapshot, and its metadata."""
    arrays = _arrays_of(state)
    for number, checkpoint in enumerate(state.checkpoints):
        inner = _arrays_of(checkpoint)
        arrays |= {checkpoint_prefix(number) + name: array for name, array in inner.items()}
    head = {
        "format": FORMAT,
        **asdict(state.parts),
        **_words_of(state),
        "checkpoints": [{**step_words(each.step), **_words_of(each)} for each in state.checkpoints],
        "crc32": {name: checksums(array) for name, array in sorted(arrays.items())},
    }
    return arrays, sealed(head)


def checkpoint_prefix(number: int) -> str:
    """Return how the names of the arrays of a checkpoint begin.

    >>> checkpoint_prefix(0)
    'undo.0.'
    """
    return f"{CHECKPOINT}{number}."


def _arrays_of(state: StoredState | Checkpoint) -> dict[str, NDArray[Any]]:
    samples = state.base.samples
    arrays = {FOLDED + name: np.ascontiguousarray(a) for name, a in state.base.folded.items()}
    if samples:
        arrays["embeddings"] = np.array([sample.embedding for sample in samples])
        arrays["times"] = np.array([sample.time for sample in samples])
    embeddings = [op.embedding for op in state.history if isinstance(op, Teach)]
    if embeddings:
        arrays[HISTORY] = np.array(embeddings)
    return arrays


def _words_of(state: StoredState | Checkpoint) -> dict[str, Any]:
    return {
        "labels": list(state.base.labels) if state.base.folded else [],
        "samples": [[sample.id, sample.label] for sample in state.base.samples],
        "history": [to_words(operation) for operation in state.history],
        "sources": list(state.sources),
    }


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


def decoded(
    path: Path, metadata: Mapping[str, str], arrays: dict[str, NDArray[Any]]
) -> tuple[StoredState, dict[str, list[int]]]:
    """Return the state that a snapshot describes.

    Args:
        path: The snapshot, for messages.
        metadata: Its metadata.
        arrays: Its arrays.

    Returns:
        The state, and the rows whose checksum is wrong, by array name. In the state, their values
        are zero: damage can turn them into anything.

    Raises:
        StateError: The description is damaged, or has another format.
    """
    head = _head(path, metadata)
    version = head.pop("format", None)
    if version != FORMAT or isinstance(version, float):
        raise StateError(
            f"{path} has state format {version}, and this robocle reads format {FORMAT}: "
            "use the robocle version that wrote it"
        )
    expected, seal = (head.pop(key, None) for key in ("crc32", "seal"))
    if seal != _seal(metadata[METADATA_KEY]):
        raise StateError(f"{path} is damaged: the checksum of its description is wrong")
    damage = _damaged(path, arrays, expected)
    arrays = arrays | {name: _without(arrays[name], rows) for name, rows in damage.items()}
    checkpoints = _checkpoints(path, head.pop("checkpoints", []), arrays)
    base, history = _base(path, head, arrays), _history(path, head, arrays)
    sources, parts = _sources(path, head), _parts(path, head)
    return StoredState(parts, base, history, sources, checkpoints), damage


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


def _without(array: NDArray[Any], rows: list[int]) -> NDArray[Any]:
    """Return an array whose damaged rows are zero."""
    if array.ndim < 2:
        return np.zeros_like(array)
    found = array.copy()
    found[rows] = 0
    return found


def _parts(path: Path, head: dict[str, Any]) -> Parts:
    try:
        parts = Parts(**head)
    except TypeError as error:
        raise StateError(f"{path} is damaged: its description is incomplete") from error
    _require_plain_text(path, asdict(parts).values())
    return parts


def _base(path: Path, head: dict[str, Any], arrays: Arrays) -> ClassifierState:
    labels, words = head.pop("labels", None), head.pop("samples", None)
    folded = {
        name.removeprefix(FOLDED): array
        for name, array in arrays.items()
        if name.startswith(FOLDED)
    }
    embeddings, times = (arrays.get(name, np.empty(0)) for name in ("embeddings", "times"))
    lists = isinstance(labels, list) and isinstance(words, list) and times.ndim == 1
    if not lists or len(words) != len(times) or (labels and not folded):
        raise StateError(f"{path} is damaged: its description is incomplete")
    try:
        labels = [plain_label(label) for label in labels]
        samples = [_sample(*each) for each in zip(words, embeddings, times.tolist(), strict=True)]
    except (TypeError, ValueError) as error:
        raise StateError(f"{path} is damaged: its samples cannot be read ({error})") from error
    return ClassifierState(tuple(labels), tuple(samples), folded)


def _sample(words: object, embedding: NDArray[Any], time: object) -> Sample:
    match words:
        case [id, str(label)]:
            values = kept_embedding(embedding_numbers(embedding, 1))
            return Sample(plain_label(label), values, valid_id(id), valid_time(time))
    raise ValueError("a sample without id or label")


def _sources(path: Path, head: dict[str, Any]) -> tuple[str, ...]:
    sources = head.pop("sources", None)
    if not isinstance(sources, list):
        raise StateError(f"{path} is damaged: its sources cannot be read")
    _require_plain_text(path, sources)
    return tuple(sources)


def _require_plain_text(path: Path, texts: Iterable[object]) -> None:
    # Printable text cannot send control sequences to a terminal when it is shown.
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise StateError(f"{path} is damaged: a part or source in it is not plain text")


def _history(path: Path, head: dict[str, Any], arrays: Arrays) -> tuple[Operation, ...]:
    words = head.pop("history", None)
    rows = iter(arrays.get(HISTORY, np.empty((0, 0))))
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
    except (ValueError, TypeError, StopIteration) as error:
        raise StateError(f"{path} is damaged: its history cannot be read") from error
    return tuple(operations)


def _checkpoints(path: Path, found: object, arrays: Arrays) -> tuple[Checkpoint, ...]:
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise StateError(f"{path} is damaged: its checkpoints cannot be read")
    return tuple(_checkpoint(path, each, n, arrays) for n, each in enumerate(found))


def _checkpoint(path: Path, words: dict[str, Any], number: int, arrays: Arrays) -> Checkpoint:
    prefix = checkpoint_prefix(number)
    inner = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    base, history = _base(path, words, inner), _history(path, words, inner)
    try:
        return Checkpoint(step_from_words(words), base, history, _sources(path, words))
    except ValueError as error:
        raise StateError(f"{path} is damaged: its checkpoints cannot be read") from error
