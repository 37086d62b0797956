"""If the program or the disk fails, no acknowledged operation is lost and none is half done."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from environments import unmeasured_environment
from refusal import Refusal
from robocle import Learner
from robocle.errors import NothingToUndoError, StateError
from robocle.store import read_state, recovered
from robocle.store.journal import HEADER, JournalContent, read_journal
from stub_backbone import STUB, embedding

DRIVER = Path(__file__).with_name("crash_driver.py")
SHARED = Path(__file__).parents[1] / "shared"
WIDTH = 1280


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier="slda")


def teach(learner: Learner, seed: int, label: str) -> None:
    learner.teach_embedding(embedding(seed, WIDTH), label)


@pytest.mark.slow
@pytest.mark.parametrize(("classifier", "seed"), [("ncm", 1), ("slda", 2), ("slda", 3)])
def test_a_program_killed_a_hundred_times_loses_no_acknowledged_operation(
    classifier: str, seed: int, tmp_path: Path
) -> None:
    path = tmp_path / "home.robocle"
    command = [sys.executable, str(DRIVER), str(path), "100", str(seed), classifier]
    places = [str(SHARED), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = unmeasured_environment() | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    result = subprocess.run(command, capture_output=True, check=False, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr.decode()
    kills, interrupted, operations = (int(word) for word in result.stdout.split() if word.isdigit())
    assert kills == 100
    assert interrupted > 20
    assert operations > 500


def test_a_truncated_journal_holds_the_operations_before_the_cut(tmp_path: Path) -> None:
    learner = opened(tmp_path / "home")
    journal = tmp_path / "home-journal"
    ends = []
    for number in range(4):
        teach(learner, number, "mug")
        ends.append(journal.stat().st_size)
    content = journal.read_bytes()
    # The header is always whole: a journal is written under another name first.
    cuts = {*range(HEADER.size, len(content), 997), *ends, *(end - 1 for end in ends)}
    for cut in sorted(cuts):
        for torn in (content[:cut], content[:cut] + bytes(len(content) - cut)):
            journal.write_bytes(torn)
            taught = sum(end <= cut for end in ends)
            assert read_state(tmp_path / "home").counts == ({"mug": taught} if taught else {})
    journal.write_bytes(content)
    learner.close()


def full_disk(call: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the disk full for three calls from a given one; it writes half of what it is given."""
    real, calls = getattr(os, call), []

    def full(*arguments: Any, **options: Any) -> object:
        calls.append(call)
        if len(calls) < number or len(calls) > number + 2:
            return real(*arguments, **options)
        if call == "write":
            handle, content = arguments
            real(handle, bytes(content)[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("robocle.store.state_store.FULL", 3)
    monkeypatch.setattr(os, call, full)


@pytest.mark.parametrize("call", ["write", "fdatasync", "fsync", "replace", "ftruncate"])
@pytest.mark.parametrize("number", range(1, 8))
def test_a_disk_that_fails_at_any_call_loses_only_the_operation_that_raised_an_error(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home"
    opened(path).close()
    expected: dict[str, int] = {}
    full_disk(call, number, monkeypatch)
    learner = opened(path)
    for turn in range(12):
        label = f"{turn % 3}"
        try:
            teach(learner, turn, label)
            expected[label] = expected.get(label, 0) + 1
        except StateError:
            assert learner.counts == expected
            learner.close()
            learner = opened(path)
        assert learner.counts == expected
    learner.close()
    monkeypatch.undo()
    assert read_state(path).counts == expected


def two_pictures(learner: Learner, turn: int) -> None:
    with learner.step():
        teach(learner, turn, "mug")
        teach(learner, 100 + turn, "mug")


def merged(learner: Learner, turn: int) -> None:
    other = Learner(STUB, "avg", "slda")
    teach(other, turn, "pan")
    learner.merge(other)


@pytest.mark.parametrize("call", ["write", "fdatasync", "fsync", "replace", "ftruncate"])
@pytest.mark.parametrize("number", range(1, 12))
def test_a_disk_that_fails_leaves_steps_merges_and_their_undo_done_or_not_done(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last picture of a step may be missing: each is acknowledged by itself."""
    path = tmp_path / "home"
    opened(path).close()
    full_disk(call, number, monkeypatch)
    changes: list[tuple[Callable[[Learner, int], object], int, int]] = [
        (two_pictures, 2, 0),
        (merged, 0, 1),
        (two_pictures, 2, 0),
        (lambda learner, _: learner.undo(), -2, 0),
        (lambda learner, _: learner.undo(), 0, -1),
    ]
    learner = opened(path)
    for turn in range(15):
        change, mugs, pans = changes[turn % len(changes)]
        mug, pan = counts = (learner.counts.get("mug", 0), learner.counts.get("pan", 0))
        allowed = {counts, (mug + mugs, pan + pans)} | ({(mug + 1, pan)} if mugs > 0 else set())
        steps = learner.undoable
        try:
            change(learner, turn)
            assert abs(learner.undoable - steps) == 1
        except NothingToUndoError:
            assert steps == 0
        except StateError:
            learner.close()
            learner = opened(path)
        found = (learner.counts.get("mug", 0), learner.counts.get("pan", 0))
        assert found in allowed
        stored = read_state(path).counts
        assert (stored.get("mug", 0), stored.get("pan", 0)) == found
        if found != (mug + mugs, pan + pans):  # the next changes expect what this one did
            while learner.undoable:
                try:
                    learner.undo()
                except StateError:
                    learner.close()
                    learner = opened(path)
    learner.close()


def test_after_a_write_beyond_the_file_size_limit_teaching_can_continue(
    tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    learner = opened(path)
    teach(learner, 0, "mug")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / "home-journal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, before[1]))
    try:
        message = refusal(StateError, lambda: teach(learner, 1, "cup"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot write" in message
    assert learner.counts == read_state(path).counts == {"mug": 1}
    teach(learner, 2, "cup")
    learner.close()
    assert read_state(path).counts == {"mug": 1, "cup": 1}


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, 0, "mug")
        message = refusal(StateError, lambda: opened(path))
        assert "being taught by another program" in message
        refusal(StateError, lambda: Learner(STUB).save(path))
        assert Learner.load(path, STUB).counts == {"mug": 1}
        teach(learner, 1, "mug")
    assert Learner.load(path, STUB).counts == {"mug": 2}
    assert [each.name for each in tmp_path.iterdir()] == ["home"]
    refusal(StateError, lambda: teach(learner, 2, "mug"))
    assert learner.counts == {"mug": 2}


def test_a_reader_sees_all_that_was_acknowledged_before_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer compacts while the reader is between the snapshot and the journal."""
    path = tmp_path / "home"
    learner = opened(path)
    teach(learner, 0, "mug")
    reads = []

    def compact_first(name: Path) -> JournalContent | None:
        reads.append(name)
        if len(reads) == 1:
            learner.save(path)
            teach(learner, 1, "mug")
        return read_journal(name)

    monkeypatch.setattr("robocle.store.reading.read_journal", compact_first)
    assert read_state(path).counts["mug"] >= 1
    assert len(reads) > 1
    learner.close()


def test_opening_removes_the_temporary_files_of_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "home"
    opened(path).close()
    for name in (".home-abcd1234", ".home-journal-abcd1234", ".home-2-abcd1234", "home-abcd1234"):
        (tmp_path / name).write_bytes(b"half")
    opened(path).close()
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [".home-2-abcd1234", "home", "home-abcd1234"]


def test_the_journal_of_an_older_snapshot_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, 0, "mug")
        journal = (tmp_path / "home-journal").read_bytes()
    (tmp_path / "home-journal").write_bytes(journal)
    assert read_state(path).counts == {"mug": 1}
    with opened(path) as learner:
        teach(learner, 1, "mug")
    assert read_state(path).counts == {"mug": 2}


def test_a_flipped_bit_in_the_journal_is_found_and_loses_one_operation(
    tmp_path: Path, refusal: Refusal
) -> None:
    path, journal = tmp_path / "home", tmp_path / "home-journal"
    learner = opened(path)
    ends = [0]
    for number in range(4):
        teach(learner, number, f"{number}")
        ends.append(journal.stat().st_size)
    content = bytearray(journal.read_bytes())
    for place in (ends[2] - 100, ends[1] + 5, ends[1] + 1):
        content[place] ^= 4
        journal.write_bytes(content)
        content[place] ^= 4
        assert "operation 2 of 4 is lost" in refusal(StateError, lambda: read_state(path))
        state, lost = recovered(path)
        assert state.counts == {"0": 1, "2": 1, "3": 1}
        assert lost == ["operation 2 of the journal"]
    journal.write_bytes(content)
    learner.close()
