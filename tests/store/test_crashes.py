"""Nothing acknowledged is lost and nothing is half done, whenever the program or the disk fails."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import StateError
from robocle.store import read_state
from robocle.store.journal import JournalContent, read_journal

DRIVER = Path(__file__).with_name("crash_driver.py")


def vector(number: int, width: int = 1280) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.abs(np.random.default_rng(number).normal(size=width)).astype(np.float32)


def opened(path: Path, lite0: Backbone) -> Learner:
    return Learner.open(path, lite0, pooling="avg", classifier="slda")


@pytest.mark.slow
@pytest.mark.parametrize(("classifier", "seed"), [("ncm", 1), ("slda", 2), ("slda", 3)])
def test_a_program_killed_a_hundred_times_loses_nothing_it_acknowledged(
    classifier: str, seed: int, tmp_path: Path
) -> None:
    path = tmp_path / "home.robocle"
    command = [sys.executable, str(DRIVER), str(path), "100", str(seed), classifier]
    # A killed process reports no coverage, and measuring it would only slow it down.
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_PROCESS")}
    result = subprocess.run(command, capture_output=True, check=False, timeout=240, env=unmeasured)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.startswith(b"100 kills")
    assert int(result.stdout.split()[2]) > 500


def test_a_journal_cut_anywhere_holds_the_operations_before_the_cut(
    lite0: Backbone, tmp_path: Path
) -> None:
    learner = opened(tmp_path / "home", lite0)
    journal = tmp_path / "home-journal"
    ends = []
    for number in range(4):
        learner.teach_embedding(vector(number), "mug")
        ends.append(journal.stat().st_size)
    whole = journal.read_bytes()
    # The header (52 bytes) is whole: a journal is made under another name first.
    for cut in sorted({*range(52, len(whole), 997), *ends, *(end - 1 for end in ends)}):
        for torn in (whole[:cut], whole[:cut] + bytes(len(whole) - cut)):
            journal.write_bytes(torn)
            taught = sum(end <= cut for end in ends)
            assert read_state(tmp_path / "home").counts == ({"mug": taught} if taught else {})
    journal.write_bytes(whole)
    learner.close()


@pytest.mark.parametrize("call", ["pwrite", "fdatasync", "fsync", "replace", "ftruncate"])
@pytest.mark.parametrize("number", range(1, 8))
def test_a_disk_that_fails_at_any_call_costs_at_most_the_operation_that_was_refused(
    call: str, number: int, lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a write gets through before the disk is full."""
    real, calls = getattr(os, call), []

    def full(*arguments: Any, **options: Any) -> object:
        calls.append(call)
        if len(calls) < number or len(calls) > number + 2:
            return real(*arguments, **options)
        if call == "pwrite":
            handle, content, at = arguments
            real(handle, bytes(content)[: len(content) // 2], at)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "home"
    opened(path, lite0).close()
    expected: dict[str, int] = {}
    monkeypatch.setattr("robocle.store.state_store.FULL", 3)
    monkeypatch.setattr(os, call, full)
    learner = opened(path, lite0)
    for turn in range(12):
        try:
            learner.teach_embedding(vector(turn), f"{turn % 3}")
            expected[f"{turn % 3}"] = expected.get(f"{turn % 3}", 0) + 1
        except StateError:
            assert learner.counts == expected
            learner.close()
            learner = opened(path, lite0)
        assert learner.counts == expected
    learner.close()
    monkeypatch.undo()
    assert read_state(path).counts == expected


def test_a_limit_of_the_system_stops_a_write_and_nothing_else(
    lite0: Backbone, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    learner = opened(path, lite0)
    learner.teach_embedding(vector(0), "mug")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / "home-journal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, before[1]))
    try:
        message = refusal(StateError, lambda: learner.teach_embedding(vector(1), "cup"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot write" in message
    assert learner.counts == read_state(path).counts == {"mug": 1}
    learner.teach_embedding(vector(2), "cup")
    learner.close()
    assert read_state(path).counts == {"mug": 1, "cup": 1}


def test_a_second_writer_is_refused_and_a_reader_is_not(
    lite0: Backbone, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    with opened(path, lite0) as learner:
        learner.teach_embedding(vector(0), "mug")
        message = refusal(StateError, lambda: opened(path, lite0))
        assert "being taught by another program" in message
        refusal(StateError, lambda: Learner(lite0).save(path))
        assert Learner.load(path, lite0).counts == {"mug": 1}
        learner.teach_embedding(vector(1), "mug")
    assert Learner.load(path, lite0).counts == {"mug": 2}
    assert [each.name for each in tmp_path.iterdir()] == ["home"]
    refusal(StateError, lambda: learner.teach_embedding(vector(2), "mug"))
    assert learner.counts == {"mug": 2}


def test_a_reader_never_sees_less_than_was_there_when_it_began(
    lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer compacts between any two steps of the reader."""
    path = tmp_path / "home"
    learner = opened(path, lite0)
    learner.teach_embedding(vector(0), "mug")
    steps = []

    def compact_first(name: Path) -> JournalContent | None:
        steps.append(name)
        if len(steps) == 1:
            learner.save(path)
            learner.teach_embedding(vector(1), "mug")
        return read_journal(name)

    monkeypatch.setattr("robocle.store.state_store.read_journal", compact_first)
    assert read_state(path).counts["mug"] >= 1
    assert len(steps) > 1
    learner.close()


def test_what_a_killed_writer_left_half_written_is_swept_up(
    lite0: Backbone, tmp_path: Path
) -> None:
    path = tmp_path / "home"
    opened(path, lite0).close()
    for name in (".home-abcd1234", ".home-journal-abcd1234", ".home-2-abcd1234", "home-abcd1234"):
        (tmp_path / name).write_bytes(b"half")
    opened(path, lite0).close()
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [".home-2-abcd1234", "home", "home-abcd1234"]


def test_a_journal_of_another_state_is_left_out(lite0: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path, lite0) as learner:
        learner.teach_embedding(vector(0), "mug")
        journal = (tmp_path / "home-journal").read_bytes()
    (tmp_path / "home-journal").write_bytes(journal)
    assert read_state(path).counts == {"mug": 1}
    with opened(path, lite0) as learner:
        learner.teach_embedding(vector(1), "mug")
    assert read_state(path).counts == {"mug": 2}


def test_a_flipped_bit_in_the_journal_is_found_and_costs_one_operation(
    lite0: Backbone, tmp_path: Path, refusal: Refusal
) -> None:
    from robocle.store import recovered

    path, journal = tmp_path / "home", tmp_path / "home-journal"
    learner = opened(path, lite0)
    ends = [0]
    for number in range(4):
        learner.teach_embedding(vector(number), f"{number}")
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
