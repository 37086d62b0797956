"""Several programs use one state at once: nothing is lost, and each sees what the others did."""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from from_scratch import equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner
from robocle.errors import StateLockedError
from stub_backbone import STUB, embedding

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

WIDTH = 24


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier="slda")


def teach(learner: Learner, seed: int, label: str = "mug") -> None:
    learner.teach_embedding(embedding(seed, WIDTH), label)


def started(program: Callable[[], object]) -> int:
    """Start a program, which is ended after a minute, and return its number."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            program()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def exit_codes(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def wait_until(moment: float) -> None:
    while time.time() < moment:
        pass


def teach_together(path: Path, program: int, lessons: int, starts: float) -> None:
    wait_until(starts)
    with opened(path) as learner:
        for number in range(lessons):
            teach(learner, 1000 * program + number, f"mug {program}")


def test_four_programs_teach_one_state_two_hundred_times(tmp_path: Path) -> None:
    path = tmp_path / "home"
    starts = time.time() + 0.1
    programs = [started(partial(teach_together, path, each, 50, starts)) for each in range(4)]
    assert exit_codes(programs) == [0] * 4
    lessons = [
        (embedding(1000 * each + number, WIDTH), f"mug {each}")
        for each in range(4)
        for number in range(50)
    ]
    found = Learner.load(path, STUB)
    assert equals_learning_from_scratch(found, lessons)
    assert len(found.steps) == 200
    assert not found.problems()


@pytest.mark.slow
@pytest.mark.parametrize("programs", [2, 4])
def test_programs_that_create_a_state_at_the_same_moment_share_it(
    programs: int, tmp_path: Path
) -> None:
    for number in range(20):
        path = tmp_path / f"home{number}"
        starts = time.time() + 0.02
        races = [partial(teach_together, path, each, 1, starts) for each in range(programs)]
        assert exit_codes([started(each) for each in races]) == [0] * programs
        assert Learner.load(path, STUB).counts == {f"mug {each}": 1 for each in range(programs)}
    assert {each.name for each in tmp_path.iterdir()} == {f"home{n}" for n in range(20)}


@pytest.mark.slow
def test_programs_that_are_killed_lose_nothing_and_leave_no_lock_to_the_others(
    tmp_path: Path,
) -> None:
    path, rng = tmp_path / "home", random.Random(0)
    opened(path).close()

    def teach_and_acknowledge(program: int) -> None:
        with opened(path) as learner, (tmp_path / f"{program}").open("wb", buffering=0) as done:
            for number in range(100_000):
                teach(learner, 1000 * program + number, f"mug {program}")
                done.write(b".")

    programs = {each: started(partial(teach_and_acknowledge, each)) for each in range(4)}
    for each in range(4, 24):
        time.sleep(0.2 * rng.random())
        killed = rng.choice(list(programs))
        os.kill(programs[killed], signal.SIGKILL)
        assert exit_codes([programs.pop(killed)]) == [-signal.SIGKILL]
        programs[each] = started(partial(teach_and_acknowledge, each))
    for child in programs.values():
        os.kill(child, signal.SIGKILL)
    assert exit_codes(list(programs.values())) == [-signal.SIGKILL] * 4
    counts = Learner.load(path, STUB).counts
    files = {each: tmp_path / f"{each}" for each in range(24)}
    acknowledged = {each: file.stat().st_size for each, file in files.items() if file.exists()}
    assert sum(acknowledged.values()) > 20
    for each, lessons in acknowledged.items():
        assert counts.get(f"mug {each}", 0) in (lessons, lessons + 1)


@contextmanager
def taught_on_demand(path: Path) -> Iterator[Callable[[str], None]]:
    """Start another program, and yield a function that makes it teach a label, and waits."""
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()

    def program() -> None:
        with opened(path) as learner:
            while (label := os.read(asked, 100).decode()) != "end":
                assert not learner.labels or label not in learner.labels
                teach(learner, int(label), label)
                os.write(answer, b"done")

    child = started(program)

    def demand(label: str) -> None:
        os.write(ask, label.encode())
        assert label == "end" or os.read(answered, 100) == b"done"

    yield demand
    demand("end")
    assert exit_codes([child]) == [0]
    for handle in (asked, ask, answered, answer):
        os.close(handle)


def test_the_next_prediction_sees_what_another_program_has_just_taught(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner, taught_on_demand(tmp_path / "home") as demand:
        for number in range(20):
            demand(f"{number}")
            found = learner.predict_embedding(embedding(number, WIDTH), false_accept=1)
            assert found.label == f"{number}"
            if number % 3 == 0:
                assert learner.undo() == f"teaching '{number}'"
                demand(f"{number}")  # sees that it is not there
                assert learner.counts[f"{number}"] == 1
        assert learner.counts == {f"{number}": 1 for number in range(20)}


def test_a_state_that_stays_locked_is_an_error_after_a_while_and_predictions_go_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Refusal,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("robocle.store.tables.BUSY_SECONDS", 0.1)
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, 0)
        before = learner.predict_embedding(embedding(0, WIDTH)).scores
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert "is locked" in refusal(StateLockedError, lambda: teach(learner, 1))
        assert not caplog.records
        other.execute("COMMIT")
        other.execute("BEGIN EXCLUSIVE")
        refusal(StateLockedError, learner.undo)
        refusal(StateLockedError, lambda: opened(path))
        refusal(StateLockedError, lambda: Learner.load(path, STUB))
        assert learner.predict_embedding(embedding(0, WIDTH)).scores == before
        assert [each.levelname for each in caplog.records] == ["WARNING"]
        other.close()
        teach(learner, 1)
        assert learner.counts == {"mug": 2}
