"""Runs a script of operations on a disk that fails on demand, and checks the state file.

    LD_PRELOAD=... python disk_driver.py kill FOLDER OUTCOME EVERY
    LD_PRELOAD=... python disk_driver.py power FOLDER CUTS SEED
    LD_PRELOAD=... python disk_driver.py fail FOLDER ERRNO EVERY

`kill` kills a fork that runs the script at each call, or at every n-th, to the system that changes
a file. `power` records the calls, and computes what a power failure at a random one may leave on
the disk; if that needs a recovery, the power fails again during the recovery. `fail` lets three
calls in a row fail, at each call or at every n-th.
"""

import errno
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from faulty_disk import Call, Disk, FaultyDisk, recorded
from random_operations import Words, is_result_of, perform
from robocle import Learner
from robocle.errors import StateAccessError, StateError
from stub_backbone import STUB

Result = TypeVar("Result")
CLASSIFIER = "slda:keep=4"
# All kinds of changes; with the last ones, samples are folded.
SCRIPT: list[list[Words]] = [
    [
        ["teach", "", "mug", "1"],
        ["teach", "a", "pan", "2"],
        ["teach", "a", "pan", "3"],
        ["merge", "", "jar", "4"],
        ["undo", ""],
        ["redo", ""],
        ["remove", "", "pan"],
        ["rename", "", "jar", "pan"],
    ],
    [
        ["undo", ""],
        ["forget", "", "mug"],
        ["purge", ""],
        ["teach", "", "cup", "5"],
    ],
    [
        ["teach", "", "cup", "6"],
        ["teach", "", "cup", "7"],
        ["teach", "", "cup", "8"],
    ],
]
OPERATIONS = [words for session in SCRIPT for words in session]


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier=CLASSIFIER)


def run(path: Path, done: Callable[[], object]) -> None:
    """Perform the script, and acknowledge each operation. After each session, save a copy."""
    for session in SCRIPT:
        learner = opened(path)
        for words in session:
            with learner.step(token=words[1]) if words[1] else nullcontext():
                perform(learner, words)
            done()
        save_copy(learner, path)
        learner.close()


def save_copy(learner: Learner, path: Path) -> None:
    copy = path.with_name("copy")
    learner.save(copy, replace=copy.exists())


def require_survival(path: Path, acknowledged: int, by: int) -> None:
    """Require the acknowledged operations, at most one more, and a usable state."""
    possible = [OPERATIONS[:acknowledged], OPERATIONS[: acknowledged + 1]]
    try:
        found = Learner.load(path, STUB) if by % 2 else opened(path)
    except StateError as error:
        if acknowledged or "teach something to make it" not in str(error):
            raise
        found = opened(path)
    what = f"after {acknowledged} operations, {by}: {found.counts}, {found.steps}"
    assert any(is_result_of(each, found) for each in possible), what
    assert not found.problems(), what
    found.close()
    with opened(path) as learner:
        counts = learner.counts
        perform(learner, ["teach", "", "keys", "9"])
        assert learner.counts == counts | {"keys": 1}
    copy = path.with_name("copy")
    assert not copy.exists() or Learner.load(copy, STUB).counts


def kill(folder: Path, outcome: int, every: int) -> None:
    """Kill a fork at each n-th call."""
    kills = 0
    for call in range(1, sys.maxsize, every):
        path, done = folder / str(call) / "home", folder / "done"
        path.parent.mkdir()
        done.write_bytes(b"")
        child = os.fork()
        if child == 0:
            try:
                FaultyDisk(path.parent).fail(call, call, outcome)
                run(path, partial(append, done))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            break
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"call {call} failed"
        require_survival(path, done.stat().st_size, call)
        shutil.rmtree(path.parent)
        kills += 1
    assert done.stat().st_size == len(OPERATIONS)
    print(f"{kills} kills")


def append(path: Path) -> None:
    with open(path, "ab", buffering=0) as file:
        file.write(b".")


def power(folder: Path, cuts: int, seed: int) -> None:
    """Cut the power at random calls."""
    path, record = folder / "original" / "home", folder / "record"
    path.parent.mkdir()
    before = Disk(path.parent)
    with record.open("wb", buffering=0) as file:
        disk = FaultyDisk(path.parent, file.fileno())
        run(path, lambda: disk.mark("done"))
    calls = list(recorded(record.read_bytes()))
    recoveries = 0
    rng = random.Random(seed)
    for cut, (left, acknowledged) in enumerate(cut_off(before, calls, folder, rng, cuts)):
        recoveries += os.path.exists(left / "home-journal")
        again = cut_again(left, folder, rng)
        require_survival(left / "home", acknowledged, cut)
        require_survival(again / "home", acknowledged, cut)
        shutil.rmtree(left)
        shutil.rmtree(again)
    print(f"{cuts} cuts of {len(calls)} calls, {recoveries} recoveries")


def cut_off(
    disk: Disk, calls: list[Call], folder: Path, rng: random.Random, cuts: int
) -> Iterator[tuple[Path, int]]:
    """Yield folders as they may be after cuts, and how many operations were acknowledged."""
    places = sorted(rng.randrange(len(calls) + 1) for _ in range(cuts))
    done = acknowledged = 0
    for number, place in enumerate(places):
        for call in calls[done:place]:
            disk.apply(call)
            acknowledged += call.verb == "mark"
        done = place
        left = folder / f"cut {number}"
        left.mkdir()
        disk.write_after_power_failure(left, rng)
        yield left, acknowledged


def cut_again(left: Path, folder: Path, rng: random.Random) -> Path:
    """Return a folder as it may be if the power fails again while the state is opened."""
    copy, again, record = folder / "copy", folder / "again", folder / "record"
    shutil.copytree(left, copy)
    again.mkdir()
    disk = Disk(copy)
    with record.open("wb", buffering=0) as file:
        FaultyDisk(copy, file.fileno())
        opened(copy / "home").close()
        FaultyDisk(folder)
    calls = list(recorded(record.read_bytes()))
    for call in calls[: rng.randrange(len(calls) + 1)]:
        disk.apply(call)
    disk.write_after_power_failure(again, rng)
    shutil.rmtree(copy)
    return again


def fail(folder: Path, error: int, every: int) -> None:
    """Let three calls fail at each n-th call."""
    failures = faults = 0
    for call in range(1, sys.maxsize, every):
        path = folder / str(call) / "home"
        path.parent.mkdir()
        disk = FaultyDisk(path.parent)
        disk.fail(call, call + 2, error)
        failures += run_in_spite_of_errors(path)
        left = sorted(each.name for each in path.parent.iterdir())
        assert left == ["copy", "home"] or error != errno.ENOSPC, left
        if disk.calls < call:
            break
        faults += 1
        shutil.rmtree(path.parent)
    print(f"{faults} faults, {failures} errors")


def run_in_spite_of_errors(path: Path) -> int:
    """Perform the script, each operation until it works, and return how often something failed."""
    failures = 0

    def until_it_works(call: Callable[[], Result]) -> Result:
        nonlocal failures
        while True:
            try:
                return call()
            except StateAccessError:
                failures += 1

    def done_once(learner: Learner, before: list[Words], words: Words) -> None:
        """Perform an operation, unless it has happened although it failed."""
        if not is_result_of([*before, words], learner):
            with learner.step(token=words[1]) if words[1] else nullcontext():
                perform(learner, words)

    done: list[Words] = []
    for session in SCRIPT:
        learner = until_it_works(partial(opened, path))
        for words in session:
            until_it_works(partial(done_once, learner, done, words))
            done.append(words)
            assert until_it_works(partial(is_result_of, done, learner)), words
        until_it_works(partial(save_copy, learner, path))
        learner.close()
        assert is_result_of(done, Learner.load(path, STUB))
        assert Learner.load(path.with_name("copy"), STUB).counts == learner.counts
    return failures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as warm:  # imports what forks need
        run(Path(warm) / "home", bool)
        require_survival(Path(warm) / "home", len(OPERATIONS), 0)
    verbs = {"kill": kill, "power": power, "fail": fail}
    verbs[sys.argv[1]](Path(sys.argv[2]).resolve(), int(sys.argv[3]), int(sys.argv[4]))
