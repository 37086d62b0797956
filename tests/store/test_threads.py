"""Several threads use one learner, and forks of a program do not share it."""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from from_scratch import equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner, files
from robocle.classifiers import StreamingClassifier
from robocle.errors import StateError
from robocle.store import Teach
from stub_backbone import STUB, embedding

WIDTH = 96


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier="slda:score=cosine")


def test_threads_that_teach_and_predict_at_once_lose_nothing(tmp_path: Path) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    learner = opened(tmp_path / "home")
    learner.teach_embedding(embedding(0, WIDTH), "mug 0")
    start = threading.Barrier(4)

    def teach(thread: int) -> None:
        start.wait()
        for number in range(40):
            seed = 1 + 100 * thread + number
            learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed % 5}")
            if number % 10 == 9:
                learner.undo()

    def predict(thread: int) -> None:
        start.wait()
        for number in range(60):
            found = learner.predict_embedding(embedding(number, WIDTH))
            assert set(found.scores) <= {f"mug {row}" for row in range(5)}
            assert sum(learner.counts.values()) >= 1

    try:
        with ThreadPoolExecutor(4) as threads:
            jobs = [threads.submit(teach, 0), threads.submit(teach, 1)]
            jobs += [threads.submit(predict, 0), threads.submit(predict, 1)]
            for job in jobs:
                job.result()
    finally:
        sys.setswitchinterval(interval)
    assert sum(learner.counts.values()) == 1 + 2 * (40 - 4)
    counts = learner.counts
    learner.close()
    assert Learner.load(tmp_path / "home", STUB).counts == counts


FOLLOWED = "slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=3"


@pytest.mark.slow
@pytest.mark.parametrize("spec", [FOLLOWED, "slda:score=cosine", "ncm"])
def test_eight_threads_see_only_what_one_thread_would_have_seen(spec: str) -> None:
    """Each prediction equals that of a learner that was taught some of the lessons, in order."""
    interval = sys.getswitchinterval()
    learner = Learner(STUB, "avg", spec)
    learner.teach_embedding(embedding(0, WIDTH), "mug 0")
    learner.teach_embedding(embedding(1, WIDTH), "mug 1")
    query = embedding(1000, WIDTH)
    start = threading.Barrier(8)
    seen: list[dict[str, float]] = []

    def teach(thread: int) -> None:
        start.wait()
        for number in range(25):
            seed = 2 + 100 * thread + number
            learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed % 7}")

    def predict() -> None:
        start.wait()
        for _ in range(50):
            seen.append(learner.predict_embedding(query).scores)

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            jobs = [threads.submit(teach, thread) for thread in range(4)]
            jobs += [threads.submit(predict) for _ in range(4)]
            for job in jobs:
                job.result()
    finally:
        sys.setswitchinterval(interval)
    lessons = [each for each in learner._state.stored().history if isinstance(each, Teach)]
    assert len(lessons) == 102
    alone = Learner(STUB, "avg", spec)
    possible = {}
    for lesson in lessons:
        alone.teach_embedding(lesson.embedding, lesson.label)
        scores = alone.predict_embedding(query).scores
        possible[len(alone.labels), _rounded(scores)] = scores
    assert len(seen) == 200
    for scores in seen:
        assert any(_close(scores, each) for each in possible.values())
    assert _close(learner.predict_embedding(query).scores, scores_of(alone, query))


def scores_of(learner: Learner, query: NDArray[np.float32]) -> dict[str, float]:
    return learner.predict_embedding(query).scores


def _rounded(scores: dict[str, float]) -> tuple[float, ...]:
    return tuple(round(score, 9) for score in scores.values())


def _close(found: dict[str, float], expected: dict[str, float]) -> bool:
    return list(found) == list(expected) and np.allclose(
        list(found.values()), list(expected.values()), rtol=1e-7, atol=1e-9
    )


def two_mugs() -> Learner:
    learner = Learner(STUB, "avg", FOLLOWED)
    for seed in range(6):
        learner.teach_embedding(embedding(seed, WIDTH), f"mug {seed % 2}")
    return learner


class PausedLesson:
    """Stops each lesson on a cup after the classifier has learned it and before it counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        apply = Teach.apply

        def slow(lesson: Teach, classifier: StreamingClassifier) -> None:
            apply(lesson, classifier)
            if lesson.label == "cup":
                self.begun.set()
                assert self.go_on.wait(60)

        monkeypatch.setattr(Teach, "apply", slow)


def test_a_prediction_does_not_wait_for_a_lesson_that_is_going_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = two_mugs()
    before = scores_of(learner, embedding(9, WIDTH))
    paused = PausedLesson(monkeypatch)
    with ThreadPoolExecutor(1) as other:
        lesson = other.submit(learner.teach_embedding, embedding(7, WIDTH), "cup")
        assert paused.begun.wait(60)
        during = scores_of(learner, embedding(9, WIDTH))
        assert learner.labels == ("mug 0", "mug 1")
        paused.go_on.set()
        lesson.result()
    assert during == before
    assert set(scores_of(learner, embedding(9, WIDTH))) == {"mug 0", "mug 1", "cup"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_goes_on_with_a_learner_that_another_thread_was_changing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = two_mugs()
    expected = scores_of(learner, embedding(9, WIDTH))
    paused = PausedLesson(monkeypatch)
    other = threading.Thread(target=learner.teach_embedding, args=(embedding(7, WIDTH), "cup"))
    other.start()
    assert paused.begun.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a lock that nobody releases must not hang the test
        try:
            same = _close(scores_of(learner, embedding(9, WIDTH)), expected)
            learner.teach_embedding(embedding(8, WIDTH), "jar")
            same = same and learner.labels == ("mug 0", "mug 1", "jar")
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    paused.go_on.set()
    other.join()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert learner.labels == ("mug 0", "mug 1", "cup")


def test_a_step_of_one_thread_has_no_operations_of_another(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner, ThreadPoolExecutor(1) as other:
        with learner.step("the step of this thread"):
            learner.teach_embedding(embedding(1, WIDTH), "mug")
            other.submit(learner.teach_embedding, embedding(2, WIDTH), "cup").result()
        assert learner.steps == ["teaching 'cup'", "the step of this thread"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_cannot_change_the_state_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "home"
    learner = opened(path)
    learner.teach_embedding(embedding(1, WIDTH), "mug")
    child = os.fork()
    if child == 0:
        try:
            learner.teach_embedding(embedding(2, WIDTH), "cup")
        except StateError as error:
            learner.close()
            os._exit(0 if "before this process was forked" in str(error) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    learner.teach_embedding(embedding(3, WIDTH), "mug")
    with pytest.raises(StateError, match="another program"):
        opened(path)  # the lock is still held
    lessons = [(embedding(seed, WIDTH), "mug") for seed in (1, 3)]
    assert equals_learning_from_scratch(Learner.load(path, STUB), lessons)
    learner.close()
    assert equals_learning_from_scratch(Learner.load(path, STUB), lessons)


@pytest.mark.parametrize("removed", ["home-journal", "home"])
@pytest.mark.parametrize("then", ["close", "teach"])
def test_what_a_cleaner_removes_is_written_again(removed: str, then: str, tmp_path: Path) -> None:
    learner = opened(tmp_path / "home")
    learner.teach_embedding(embedding(1, WIDTH), "mug")
    (tmp_path / removed).unlink()
    counts = {"mug": 1}
    if then == "teach":
        learner.teach_embedding(embedding(2, WIDTH), "cup")
        counts["cup"] = 1
        assert Learner.load(tmp_path / "home", STUB).counts == counts
    learner.close()
    assert Learner.load(tmp_path / "home", STUB).counts == counts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_a_journal_that_is_removed_after_a_crash_is_written_again(tmp_path: Path) -> None:
    learner = opened(tmp_path / "home")
    learner.teach_embedding(embedding(1, WIDTH), "mug")
    assert learner._state._store is not None
    learner._state._store.close()
    with opened(tmp_path / "home") as again:
        (tmp_path / "home-journal").unlink()
        again.teach_embedding(embedding(2, WIDTH), "cup")
        assert Learner.load(tmp_path / "home", STUB).counts == {"mug": 1, "cup": 1}


def test_a_merge_whose_write_failed_after_the_rename_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Learner(STUB, "avg", "slda:score=cosine")
    other.teach_embedding(embedding(1, WIDTH), "cup")
    learner = opened(tmp_path / "home")
    learner.teach_embedding(embedding(2, WIDTH), "mug")

    def failing(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(files, "flush_folder", failing)
        with pytest.raises(StateError, match="Input/output error"):
            learner.merge(other)
    assert learner.counts == {"mug": 1}
    learner.merge(other)
    assert learner.counts == {"mug": 1, "cup": 1}
    learner.close()
    assert Learner.load(tmp_path / "home", STUB).counts == {"mug": 1, "cup": 1}


def test_a_hard_link_is_a_copy_from_the_first_write_on(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        learner.teach_embedding(embedding(1, WIDTH), "mug")
    os.link(tmp_path / "home", tmp_path / "backup")
    with opened(tmp_path / "home") as one, opened(tmp_path / "backup") as other:
        one.teach_embedding(embedding(2, WIDTH), "cup")
        other.teach_embedding(embedding(3, WIDTH), "pan")
    assert Learner.load(tmp_path / "home", STUB).counts == {"mug": 1, "cup": 1}
    assert Learner.load(tmp_path / "backup", STUB).counts == {"mug": 1, "pan": 1}


def test_a_state_that_is_moved_while_it_is_open_harms_no_other(
    tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "here").mkdir()
    learner = opened(tmp_path / "here" / "home")
    learner.teach_embedding(embedding(1, WIDTH), "mug")
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "here").mkdir()
    with opened(tmp_path / "here" / "home") as other:
        other.teach_embedding(embedding(2, WIDTH), "cup")
        message = refusal(StateError, lambda: learner.teach_embedding(embedding(3, WIDTH), "mug"))
        assert "was moved, or its lock file was removed" in message
        learner.close()
        with pytest.raises(StateError):
            opened(tmp_path / "here" / "home")  # the other one still has its lock
    assert Learner.load(tmp_path / "here" / "home", STUB).counts == {"cup": 1}
    assert Learner.load(tmp_path / "there" / "home", STUB).counts == {"mug": 1}
