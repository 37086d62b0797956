"""Reading a journal: what is intact is found, and a hostile journal cannot hold the reader up."""

import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from robocle.store.journal import HEADER, MAGIC, MARK, MAX_SEARCHED, encoded, read_journal
from robocle.store.operations import Forget, Operation, Remove, Rename, Teach, Undo, from_words
from robocle.store.steps import Step

IDENTITY = bytes(32)


def written(path: Path, *records: bytes) -> Path:
    head = MAGIC + IDENTITY
    path.write_bytes(head + struct.pack("<I", zlib.crc32(head)) + b"".join(records))
    return path


def test_every_operation_is_read_as_it_was_written(tmp_path: Path) -> None:
    taught = Teach("mug", np.array([0.5, 2], np.float32), Step("a lesson", "5e1f"))
    others: list[Operation | Undo] = [
        Remove((taught.id, "0" * 32)),
        Rename("mug", "pan"),
        Forget("pan"),
        Undo(),
    ]
    found = read_journal(written(tmp_path / "j", encoded(taught), *map(encoded, others)))
    assert found is not None
    first, *rest = found.operations
    assert isinstance(first, Teach)
    for name in ("label", "step", "id", "time"):
        assert getattr(first, name) == getattr(taught, name)
    np.testing.assert_array_equal(first.embedding, taught.embedding, strict=True)
    assert rest == others


ID = "0" * 32
IMPOSSIBLE: list[object] = [
    ["teach", "mug"],
    ["teach", "mug", ID[1:], 1.0],
    ["teach", "mug", ID, math.nan],
    ["teach", "mug", ID, -1.0],
    ["teach", "mug", ID, 1e300],
    ["teach", "mug", ID, True],
    ["teach", "\x1b[2J", ID, 1.0],
    ["remove"],
    ["remove", ID, 3],
    ["remove", ID.upper().replace("0", "A")],
    ["rename", "mug"],
    ["forget", "tea\ncup"],
    ["forget", "mug", {"step": 3}],
    ["learn", "mug"],
    [],
    None,
]


@pytest.mark.parametrize("words", IMPOSSIBLE, ids=str)
def test_words_that_describe_no_operation_are_refused(words: object) -> None:
    with pytest.raises(ValueError, match=r"operation|sample|label|step"):
        from_words(words, np.ones(2))


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
