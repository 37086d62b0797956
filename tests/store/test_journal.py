"""Reading a journal: what is intact is found, and a hostile journal cannot hold the reader up."""

import struct
import zlib
from pathlib import Path

import pytest

from robocle.store.journal import HEADER, MAGIC, MARK, MAX_SEARCHED, encoded, read_journal
from robocle.store.operations import Forget

IDENTITY = bytes(32)


def written(path: Path, *records: bytes) -> Path:
    head = MAGIC + IDENTITY
    path.write_bytes(head + struct.pack("<I", zlib.crc32(head)) + b"".join(records))
    return path


def test_the_records_around_a_damaged_one_are_read(tmp_path: Path) -> None:
    damaged = bytearray(encoded(Forget("keys")))
    damaged[-2] ^= 1
    path = written(tmp_path / "j", encoded(Forget("mug")), bytes(damaged), encoded(Forget("pan")))
    found = read_journal(path)
    assert found is not None
    assert [str(each) for each in found.operations] == ["forgetting 'mug'", "forgetting 'pan'"]
    assert found.lost == [2]


def test_a_journal_full_of_marks_is_searched_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 20_000
    marks = b"".join(
        struct.pack("<4sII", MARK, 12 * (size - number - 1), 0) for number in range(size)
    )
    path = written(tmp_path / "j", encoded(Forget("mug")), marks)
    checksummed, crc32 = 0, zlib.crc32

    def counting(content: bytes, start: int = 0) -> int:
        nonlocal checksummed
        checksummed += len(content)
        return crc32(content, start)

    monkeypatch.setattr(zlib, "crc32", counting)
    found = read_journal(path)
    assert found is not None
    assert [str(each) for each in found.operations] == ["forgetting 'mug'"]
    assert found.end == HEADER.size + len(encoded(Forget("mug")))
    assert checksummed <= (MAX_SEARCHED + 3) * path.stat().st_size
