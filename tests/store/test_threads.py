"""Several threads use one learner, and a fork goes on with it."""

import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from robocle import Learner
from robocle.errors import RobocleError
from robocle.learner.learned import _after_fork, _before_fork
from robocle.store.state import is_open_here
from robots import Scores, are_close
from stub_backbone import STUB, embedding

WIDTH = 96
QUERY = embedding(1000, WIDTH)


@pytest.fixture
def _frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def opened(path: Path, classifier: str = "slda:score=cosine") -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier=classifier)


FOLLOWED = "slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=3"


@pytest.mark.usefixtures("_frequent_switches")
@pytest.mark.parametrize("spec", [FOLLOWED, "slda:score=cosine", "ncm"])
def test_eight_threads_lose_nothing_and_see_only_what_one_thread_would_have_seen(
    spec: str, tmp_path: Path
) -> None:
    """Each prediction equals that of a learner that was taught some of the lessons, in order."""
    learner = opened(tmp_path / "home", spec)
    for seed in range(2):
        learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed}")
    start = threading.Barrier(8)

    def teach(thread: int) -> None:
        start.wait()
        for seed in range(100 * thread, 100 * thread + 15):
            learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed % 7}")

    def predict(_: int) -> list[Scores]:
        start.wait()
        return [learner.predict_embedding(QUERY).scores for _ in range(30)]

    with ThreadPoolExecutor(8) as threads:
        teaching = [threads.submit(teach, thread) for thread in range(1, 5)]
        predicting = [threads.submit(predict, thread) for thread in range(4)]
        assert [job.result() for job in teaching] == [None] * 4
        seen = [scores for job in predicting for scores in job.result()]
    alone, possible = Learner(STUB, pooling="avg", classifier=spec), []
    for label, content in sqlite3.connect(tmp_path / "home").execute(
        "SELECT label, embedding FROM samples ORDER BY time"
    ):
        alone.teach_embedding(np.frombuffer(content, np.float32), label)
        possible.append(alone.predict_embedding(QUERY).scores)
    assert len(possible) == 2 + 4 * 15
    assert all(any(are_close(scores, each, 1e-7) for each in possible) for scores in seen)
    assert are_close(learner.predict_embedding(QUERY).scores, possible[-1], 1e-7)
    learner.close()


@pytest.mark.usefixtures("_frequent_switches")
def test_learners_are_made_while_another_thread_goes_through_those_there_are(
    tmp_path: Path,
) -> None:
    opened(tmp_path / "home").close()
    with ThreadPoolExecutor(1) as thread:
        making = thread.submit(lambda: [Learner(STUB, pooling="avg") for _ in range(200)])
        while not making.done():
            assert not is_open_here(tmp_path / "home")
            _before_fork()
            _after_fork()
        assert len(making.result()) == 200


class SlowPath(os.PathLike[str]):
    """The path of a state file, which can only be read when `go_on` is set."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __fspath__(self) -> str:
        self.begun.set()
        assert self.go_on.wait(60)
        return self._path


@contextmanager
def changing(path: Path) -> Iterator[tuple[Learner, SlowPath, "Future[list[RobocleError]]"]]:
    """Open a state in which another thread has begun to merge one with a cup."""
    with opened(path.with_name("other")) as other:
        other.teach_embedding(embedding(7, WIDTH), "cup")
    with opened(path) as learner, ThreadPoolExecutor(1) as thread:
        for seed in range(6):
            learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed % 2}")
        assert set(learner.predict_embedding(QUERY).scores) == set(learner.counts)
        slow = SlowPath(path.with_name("other"))
        change = thread.submit(learner.merge_files, slow)
        assert slow.begun.wait(60)
        try:
            yield learner, slow, change
        finally:
            slow.go_on.set()


def test_predictions_do_not_wait_for_a_change_that_is_going_on(tmp_path: Path) -> None:
    with changing(tmp_path / "home") as (learner, slow, change):
        with pytest.raises(sqlite3.OperationalError, match="locked"):  # it is going on
            sqlite3.connect(tmp_path / "home", timeout=0).execute("BEGIN IMMEDIATE")
        assert set(learner.predict_embedding(QUERY).scores) == {"mug 0", "mug 1"}
        assert learner.counts == {"mug 0": 3, "mug 1": 3}
        with opened(tmp_path / "home") as of_another_program:
            assert set(of_another_program.predict_embedding(QUERY).scores) == {"mug 0", "mug 1"}
        slow.go_on.set()
        change.result(60)
        assert set(learner.predict_embedding(QUERY).scores) == {"mug 0", "mug 1", "cup"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_a_change_of_another_thread_and_goes_on_with_the_learner(
    tmp_path: Path,
) -> None:
    with changing(tmp_path / "home") as (learner, slow, change):
        threading.Timer(0.2, slow.go_on.set).start()
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a lock that nobody releases must not hang the test
            try:
                assert learner.counts == {"mug 0": 3, "mug 1": 3, "cup": 1}
                learner.teach_embedding(embedding(8, WIDTH), "jar")
                assert set(learner.predict_embedding(QUERY).scores) >= {"cup", "jar"}
                os._exit(0)
            finally:
                os._exit(1)
        change.result(60)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert learner.counts == {"mug 0": 3, "mug 1": 3, "cup": 1, "jar": 1}
        learner.undo()
        assert "jar" not in learner.labels


def test_a_step_of_one_thread_has_no_operations_of_another(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner, ThreadPoolExecutor(1) as other:
        with learner.step("the step of this thread"):
            learner.teach_embedding(embedding(1, WIDTH), "mug")
            other.submit(learner.teach_embedding, embedding(2, WIDTH), "cup").result()
        steps = [each.description for each in learner.steps]
        assert steps == ["teaching 'cup'", "the step of this thread"]


@pytest.mark.usefixtures("_frequent_switches")
def test_two_learners_merge_each_other_in_two_threads(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as one, opened(tmp_path / "two") as two:
        learners = (one, two)

        def teach_and_merge(own: int) -> None:
            for number in range(15):
                seed = 100 * own + number
                learners[own].teach_embedding(embedding(seed, WIDTH), f"mug {own}")
                learners[own].merge(learners[1 - own])

        with ThreadPoolExecutor(2) as threads:
            for job in [threads.submit(teach_and_merge, own) for own in (0, 1)]:
                job.result(60)
        one.merge(two)
        two.merge(one)
        assert one.counts == two.counts == {"mug 0": 15, "mug 1": 15}
