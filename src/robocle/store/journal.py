"""The journal: an append-only log of the operations since a snapshot.

A header names the snapshot that the journal continues. Each record has a length and a checksum. A
truncated record at the end was never acknowledged and is ignored. A damaged record in the middle is
detected and skipped: every record starts with the same four bytes, so the next one can be found.

This is a plain log rather than a database: one write and one flush per operation is the minimum for
durability, and the format is specified on one page.
"""

import json
import os
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robocle.errors import StateAccessError, StateError
from robocle.files import flush_file, open_binary, patiently, replace_file
from robocle.store.operations import Operation, Teach, Undo, from_words, to_words

HEADER = struct.Struct("<16s32sI")  # magic, identity of the snapshot, CRC-32 of both
MAGIC = b"robocle journal1"
RECORD = struct.Struct("<4sII")  # mark, length of the content, its CRC-32
MARK = b"\xabRB\n"
WORDS = struct.Struct("<I")  # length of the JSON words; an embedding follows them
MAX_LENGTH = 1 << 26
# How many bytes may be checksummed in the search for the record after a damaged one, relative to
# the length of the journal. A hostile journal has many marks, each with a length up to its end.
MAX_SEARCHED = 8


@dataclass
class JournalContent:
    """What a journal holds."""

    identity: bytes
    """The identity of the snapshot that the journal continues."""
    operations: list[Operation | Undo] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    """The positions of damaged operations among all operations, counted from 1."""
    end: int = 0
    """The offset after the last intact record."""


def read_journal(path: Path) -> JournalContent | None:
    """Read a journal.

    Returns:
        Its content; None if there is no journal, or its header is truncated.

    Raises:
        StateError: Its header is damaged, or it cannot be read.
    """
    try:
        content = patiently(path.read_bytes)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateAccessError.of("read", path, error) from error
    if len(content) < HEADER.size:
        return None  # the program died while creating it: no operation was acknowledged
    magic, identity, checksum = HEADER.unpack_from(content)
    if magic != MAGIC or checksum != zlib.crc32(content[: HEADER.size - 4]):
        raise StateError(
            f"{path} is damaged: its header does not name a state; "
            "`robocle recover` keeps what is in the state itself"
        )
    return _records(content, identity)


def _records(content: bytes, identity: bytes) -> JournalContent:
    found = JournalContent(identity, end=HEADER.size)
    at, damaged, searched = HEADER.size, False, 0
    while at < len(content):
        operation, after = _record(content, at)
        if operation is None:
            damaged = True
            searched += after - at
            at = content.find(MARK, at + 1)
            if at < 0 or searched > MAX_SEARCHED * len(content):
                break
            continue
        # A damaged range counts as one lost operation: MARK may also occur inside an embedding.
        if damaged:
            found.lost.append(len(found.operations) + len(found.lost) + 1)
        found.operations.append(operation)
        at, damaged, found.end = after, False, after
    return found


def _record(content: bytes, at: int) -> tuple[Operation | Undo | None, int]:
    """Return the operation at an offset, or None if it is damaged, and where reading it ended."""
    if at + RECORD.size > len(content):
        return None, at
    mark, length, checksum = RECORD.unpack_from(content, at)
    start = at + RECORD.size
    if mark != MARK or length > min(MAX_LENGTH, len(content) - start):
        return None, at
    inside = content[start : start + length]
    try:
        intact = zlib.crc32(inside) == checksum
        return _decoded(inside) if intact else None, start + length
    except (ValueError, RecursionError, struct.error):
        return None, start + length


def encoded(operation: Operation | Undo) -> bytes:
    """Return the bytes of a record."""
    words = json.dumps(to_words(operation), ensure_ascii=False).encode()
    inside = WORDS.pack(len(words)) + words
    if isinstance(operation, Teach):
        inside += operation.embedding.dtype.str.encode() + operation.embedding.tobytes()
    return RECORD.pack(MARK, len(inside), zlib.crc32(inside)) + inside


def _decoded(inside: bytes) -> Operation | Undo:
    (length,) = WORDS.unpack_from(inside)
    rest = inside[WORDS.size + length :]
    words = json.loads(inside[WORDS.size : WORDS.size + length])
    embedding = None
    if rest:
        kind = rest[:3].decode("ascii")
        if kind not in ("<f4", "<f8"):
            raise ValueError("embedding of an unknown type")
        embedding = np.frombuffer(rest[3:], kind)
    return from_words(words, embedding)


class Journal:
    """A journal that is open for writing."""

    def __init__(self, path: Path, handle: int, end: int, records: int) -> None:
        self._path = path
        self._handle = handle
        self._end = end
        self.records = records
        self.is_broken = False
        """Whether a failed write has left it in an unknown state."""

    @classmethod
    def create(cls, path: Path, identity: bytes, snapshot: Path) -> "Journal":
        """Create an empty journal that continues a snapshot. An existing journal is replaced.

        The journal gets the permissions of the snapshot: it is as private.

        Raises:
            OSError: The journal cannot be written.
        """
        head = MAGIC + identity
        replace_file(path, head + struct.pack("<I", zlib.crc32(head)), like=snapshot)
        return cls(path, open_binary(path, os.O_RDWR), HEADER.size, 0)

    @classmethod
    def reopen(cls, path: Path, end: int, records: int) -> "Journal":
        """Continue an existing journal. Everything after its last intact record is cut off.

        Raises:
            OSError: The journal cannot be written.
        """
        handle = open_binary(path, os.O_RDWR)
        try:
            os.ftruncate(handle, end)
            flush_file(handle)
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle, end, records)

    def append(self, operation: Operation | Undo) -> None:
        """Write an operation; it is on disk when this returns.

        Raises:
            StateAccessError: It cannot be written. The journal has not changed.
        """
        record = encoded(operation)
        try:
            _write(self._handle, record, self._end)
            self._flush()
        except OSError as error:
            self._cut_off()
            raise StateAccessError.of("write", self._path, error) from error
        self._end += len(record)
        self.records += 1

    def is_at(self, path: Path) -> bool:
        """Return whether the file is still the one at this path: a cleaner may have removed it."""
        try:
            return os.path.samestat(os.fstat(self._handle), os.stat(path))
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _flush(self) -> None:
        try:
            flush_file(self._handle)
        except OSError:
            # The kernel may have dropped the data it could not write, so later writes are unsafe.
            self.is_broken = True
            raise

    def _cut_off(self) -> None:
        try:
            os.ftruncate(self._handle, self._end)
            flush_file(self._handle)
        except OSError:
            self.is_broken = True


def _write(handle: int, content: bytes, at: int) -> None:
    os.lseek(handle, at, os.SEEK_SET)  # Windows has no pwrite, and there is only one writer
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
