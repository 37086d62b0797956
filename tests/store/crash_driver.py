"""Kills a program that teaches, undoes, removes and so on, many times, and checks its state file.

    python crash_driver.py STATE KILLS SEED CLASSIFIER

The program is a fork, so that it starts without importing anything. It announces each operation,
performs it, and acknowledges it. After a kill, every acknowledged operation must be in the file.
One that was only announced must be in the file completely or not at all. An undo undoes a whole
step, which may be the part of a step that was acknowledged before a kill.

A kill comes a random time after a random number of acknowledged operations. So the number of
operations does not depend on the speed of the machine.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from random_operations import Words, is_result_of, next_operations, perform
from robocle import Learner
from robocle.errors import NothingToUndoError
from stub_backbone import STUB

OPERATIONS = (2, 8, 30)  # acknowledged operations before a kill
# Seconds to wait if the program is killed before it has acknowledged an operation.
OPENING = 0.02


def run_until_killed(path: Path, classifier: str, seed: int, out: int) -> None:
    """The program that is killed."""
    rng = random.Random(seed)
    step = 0
    while True:
        learner = Learner.open(path, STUB, pooling="avg", classifier=classifier)
        for _ in range(rng.choice([3, 30, 300])):
            step += 1
            operations = next_operations(rng, learner, f"{seed}/{step}")
            with learner.step() if len(operations) > 1 else nullcontext():
                for words in operations:
                    announce_and_perform(learner, words, out)
        learner.close()


def announce_and_perform(learner: Learner, words: Words, out: int) -> None:
    """Perform an operation, and report before and after. There may be nothing to undo."""
    os.write(out, json.dumps(["announced", words]).encode() + b"\n")
    try:
        perform(learner, words)
        os.write(out, json.dumps(["done", words]).encode() + b"\n")
    except NothingToUndoError:
        os.write(out, json.dumps(["impossible", words]).encode() + b"\n")


def kill_one(path: Path, classifier: str, seed: int) -> tuple[list[Words], Words]:
    """Start the program and kill it.

    Returns:
        The operations it acknowledged, and the one it was performing, if any.
    """
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inside)
        try:
            run_until_killed(path, classifier, seed, outside)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(outside)
    with os.fdopen(inside, "rb") as pipe:
        lines = wait(pipe, random.Random(f"kill {seed}"))
        os.kill(child, signal.SIGKILL)
        lines += pipe.readlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the program failed by itself with seed {seed}"
    reports = [json.loads(line) for line in lines]
    done = [words for what, words in reports if what == "done"]
    return done, reports[-1][1] if reports and reports[-1][0] == "announced" else []


def wait(pipe: BinaryIO, rng: random.Random) -> list[bytes]:
    """Wait until it is time to kill the program, and return what it has reported until then.

    The time after the last acknowledged operation is up to one or up to ten operations long.
    """
    wanted = rng.randint(0, rng.choice(OPERATIONS))
    lines: list[bytes] = []
    times: list[float] = []
    while sum(line.startswith(b'["done"') for line in lines) < wanted and (line := pipe.readline()):
        lines.append(line)
        times.append(time.perf_counter())
    pace = (times[-1] - times[0]) / wanted if times else OPENING
    time.sleep(pace * rng.choice([1, 10]) * rng.random())
    return lines


def is_found(path: Path, kill: int, operations: list[Words]) -> bool:
    """Return whether the file is the result of operations, when it is loaded or opened."""
    if kill % 2:
        return is_result_of(operations, Learner.load(path, STUB))
    with Learner.open(path, STUB) as learner:
        return is_result_of(operations, learner)


def main(path: Path, kills: int, seed: int, classifier: str) -> None:
    assert not Learner(
        STUB, pooling="avg", classifier=classifier
    ).samples  # imports what the forks need
    operations: list[Words] = []
    interrupted = unfinished = 0
    for kill in range(kills):
        done, doing = kill_one(path, classifier, 1000 * seed + kill)
        operations += done
        interrupted += bool(doing)
        if not path.exists() or not path.stat().st_size:
            assert not operations
            continue
        unfinished += os.path.exists(f"{path}-journal")
        if not is_found(path, kill, operations):
            assert doing, f"an acknowledged operation is lost after kill {kill}"
            operations.append(doing)
            assert is_found(path, kill, operations), f"{doing} is half done after kill {kill}"
    print(
        f"{kills} kills, {interrupted} during an operation, {unfinished} with a journal left, "
        f"{len(operations)} operations"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
