"""The journal: an append-only log of the operations since a snapshot.

A header names the snapshot that it continues; each record has a length and a checksum. A record
that was cut off at the end was never acknowledged and is left out. A damaged record in the middle
is found and skipped: every record starts with the same four bytes.

A plain log rather than a database: one write and one flush an operation, the least that can be
durable, and a page of specification.
"""

import json
import os
import struct
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robocle.errors import StateError
from robocle.store.operations import Operation, Teach, Undo, described, from_words
from robocle.store.snapshot import flush_folder

HEADER = struct.Struct("<16s32sI")  # magic, identity of the snapshot, CRC-32 of both
MAGIC = b"robocle journal1"
RECORD = struct.Struct("<4sII")  # mark, length of the content, its CRC-32
MARK = b"\xabRB\n"
WORDS = struct.Struct("<I")  # length of the JSON words; a vector follows them
MAX_LENGTH = 1 << 26


@dataclass
class JournalContent:
    """What a journal holds."""

    identity: bytes
    operations: list[Operation | Undo] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    """Where in the order of operations a damaged one was, plural from 1."""
    end: int = 0
    """Where the next record goes."""


def read_journal(path: Path) -> JournalContent | None:
    """The content of a journal, or None if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) < HEADER.size:
        return None  # cut off while it was made: no operation was acknowledged in it
    magic, identity, checksum = HEADER.unpack_from(content)
    if magic != MAGIC or checksum != zlib.crc32(content[: HEADER.size - 4]):
        raise StateError(
            f"{path} is damaged: it does not say which state it continues; "
            "`robocle recover` keeps what is in the state itself"
        )
    return _records(content, identity)


def _records(content: bytes, identity: bytes) -> JournalContent:
    found = JournalContent(identity, end=HEADER.size)
    at, lost = HEADER.size, 0
    while at < len(content):
        operation, after = _record(content, at)
        if operation is None:
            lost += 1
            at = content.find(MARK, at + 1)
            if at < 0:
                break
            continue
        # A damaged stretch is one lost operation, or more: a mark inside a vector is no record.
        if lost:
            found.lost.append(len(found.operations) + len(found.lost) + 1)
        found.operations.append(operation)
        at, lost, found.end = after, 0, after
    return found


def _record(content: bytes, at: int) -> tuple[Operation | Undo | None, int]:
    """The operation at an offset and the offset after it; None if there is no sound one."""
    if at + RECORD.size > len(content):
        return None, at
    mark, length, checksum = RECORD.unpack_from(content, at)
    start = at + RECORD.size
    if mark != MARK or length > min(MAX_LENGTH, len(content) - start):
        return None, at
    inside = content[start : start + length]
    if zlib.crc32(inside) != checksum:
        return None, at
    try:
        return _decoded(inside), start + length
    except (ValueError, RecursionError, struct.error):
        return None, at


def encoded(operation: Operation | Undo) -> bytes:
    """The bytes of a record."""
    words = json.dumps(described(operation), ensure_ascii=False).encode()
    inside = WORDS.pack(len(words)) + words
    if isinstance(operation, Teach):
        inside += operation.vector.dtype.str.encode() + operation.vector.tobytes()
    return RECORD.pack(MARK, len(inside), zlib.crc32(inside)) + inside


def _decoded(inside: bytes) -> Operation | Undo:
    (length,) = WORDS.unpack_from(inside)
    rest = inside[WORDS.size + length :]
    words = json.loads(inside[WORDS.size : WORDS.size + length])
    vector = None
    if rest:
        kind = rest[:3].decode("ascii")
        if kind not in ("<f4", "<f8"):
            raise ValueError("a vector of an unknown kind")
        vector = np.frombuffer(rest[3:], kind)
    return from_words(words, vector)


class Journal:
    """A journal open for writing."""

    def __init__(self, path: Path, handle: int, end: int, records: int) -> None:
        self._path = path
        self._handle = handle
        self._end = end
        self.records = records
        self._broken = False

    @classmethod
    def created(cls, path: Path, identity: bytes) -> "Journal":
        """A new journal that continues a snapshot; it takes the place of an old one."""
        head = MAGIC + identity
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            _write(handle, head + struct.pack("<I", zlib.crc32(head)), 0)
            os.fsync(handle)
            os.replace(temporary, path)
            flush_folder(path.parent)
        except BaseException:
            os.close(handle)
            Path(temporary).unlink(missing_ok=True)
            raise
        return cls(path, handle, HEADER.size, 0)

    @classmethod
    def continued(cls, path: Path, content: JournalContent) -> "Journal":
        """An existing journal; what is after its last sound record is cut off."""
        handle = os.open(path, os.O_RDWR)
        try:
            os.ftruncate(handle, content.end)
            os.fsync(handle)
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle, content.end, len(content.operations))

    def append(self, operation: Operation | Undo) -> None:
        """Write an operation down; it is on the disk when this returns."""
        if self._broken:
            raise StateError(f"cannot write {self._path}: an earlier write failed; open it again")
        record = encoded(operation)
        try:
            _write(self._handle, record, self._end)
            self._flush()
        except BaseException as error:
            self._cut()
            if isinstance(error, OSError):
                reason = error.strerror or error
                raise StateError(f"cannot write {self._path}: {reason}") from error
            raise
        self._end += len(record)
        self.records += 1

    def close(self) -> None:
        os.close(self._handle)

    def _flush(self) -> None:
        try:
            _sync(self._handle)
        except OSError:
            # The kernel may have dropped what it could not write: nothing after is certain.
            self._broken = True
            raise

    def _cut(self) -> None:
        try:
            os.ftruncate(self._handle, self._end)
            _sync(self._handle)
        except OSError:
            self._broken = True


def _sync(handle: int) -> None:
    """Flush a file; what the system notes about it beside its length can wait where it may."""
    (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(handle)


def _write(handle: int, content: bytes, at: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(handle, view, at)
        view, at = view[written:], at + written
