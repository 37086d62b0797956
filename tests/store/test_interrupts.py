"""An interrupt at any instant leaves a learner whole, its file like it, and no lock taken."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from from_scratch import equals_learning_from_scratch
from interrupts import Interrupt
from random_operations import Words, is_result_of, lesson, next_operations, perform
from robocle import Learner
from robocle._internal import blas
from robocle.errors import NothingToUndoError
from stub_backbone import STUB

# Between two bytecodes of a `with` statement, an interrupt may leave a file to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

QUERY = lesson("", "query")[0]


@pytest.fixture(autouse=True)
def _no_lock_of_all_threads_stays_taken() -> Iterator[None]:
    yield
    for lock in (blas._lock, blas._importing):
        assert in_another_thread(partial(taken_and_released, lock))


def in_another_thread(call: Callable[[], bool]) -> bool:
    """Return what a call in another thread returns; fail if it takes more than a minute."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(call).result(60)


def taken_and_released(lock: Any) -> bool:
    taken: bool = lock.acquire(timeout=10)
    if taken:
        lock.release()
    return taken


def same_counts(one: Learner, other: Learner) -> bool:
    return one.counts == other.counts


def require_unlocked(path: Path) -> None:
    """Fail unless another program could write the file now."""
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.close()


def opened(path: Path, classifier: str) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier=classifier)


def survive_interrupts(path: Path, classifier: str, seed: int, times: int) -> int:
    """Interrupt random operations and predictions, and return how many were interrupted."""
    rng = random.Random(seed)
    learner = opened(path, classifier)
    operations: list[Words] = []
    interrupted = 0
    for number in range(times):
        words = next_operations(rng, learner, f"{seed}/{number}")[0]
        at = rng.randrange(1, rng.choice([100, 1000]))
        try:
            with Interrupt(at) as interrupt:
                perform(learner, words)
                learner.predict_embedding(QUERY) if learner.labels else None
        except NothingToUndoError:
            continue
        interrupted += interrupt.count >= at
        require_unlocked(path)
        if not is_result_of(operations, learner):
            operations.append(words)
        why = f"{words}, interrupt {number}"
        assert in_another_thread(partial(is_result_of, operations, learner)), why
        if number % 5 == 0:
            assert is_result_of(operations, Learner.load(path, STUB)), why
            following: Words = ["teach", "", "mug", f"{seed}/after {number}"]
            perform(learner, following)
            operations.append(following)
    learner.close()
    assert is_result_of(operations, Learner.load(path, STUB))
    return interrupted


@pytest.mark.slow
@pytest.mark.parametrize(("classifier", "seed"), [("ncm", 1), ("slda", 2)])
def test_after_a_hundred_interrupts_nothing_is_lost_and_nothing_is_half_done(
    classifier: str, seed: int, tmp_path: Path
) -> None:
    assert survive_interrupts(tmp_path / "home", classifier, seed, 130) >= 100


START = [["teach", "", "mug", "1"], ["teach", "", "cup", "2"], ["teach", "", "mug", "3"]]
MERGE = ["merge", "", "pan", "4"]
Change = Callable[[Learner, Path], object]
CHANGES: dict[str, tuple[Change, list[Words]]] = {
    "merge": (lambda learner, _: perform(learner, MERGE), [MERGE]),
    "merge_files": (lambda learner, folder: learner.merge_files(folder / "other"), [MERGE]),
    "save": (lambda learner, folder: learner.save(folder / "other", replace=True), []),
    "purge": (lambda learner, _: learner.purge(), [["purge", ""]]),
    "open": (lambda _, folder: opened(folder / "home", "slda").close(), []),
    "create": (lambda _, folder: opened(folder / "new", "slda").close(), []),
    "close": (lambda learner, _: learner.close(), []),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupted_change_happens_as_a_whole_or_not_at_all(name: str, tmp_path: Path) -> None:
    change, words = CHANGES[name]
    count = 0
    for at in [0, *random.Random(name).sample(range(1, 700), 15)]:
        if at > count > 0:
            continue
        folder = tmp_path / str(at)
        folder.mkdir()
        with opened(folder / "other", "slda") as other:
            perform(other, ["teach", *MERGE[1:]])
        learner = opened(folder / "home", "slda")
        for each in START:
            perform(learner, each)
        with Interrupt(at) as interrupt:
            change(learner, folder)
        count = count or interrupt.count
        for file in ("home", "other"):
            require_unlocked(folder / file)
            assert Learner.load(folder / file, STUB).counts
        opened(folder / "new", "slda").close()
        found = opened(folder / "home", "slda") if name == "close" else learner
        assert is_result_of(START, found) or is_result_of(START + words, found)
        perform(found, ["teach", "", "jar", "5"])
        stored = Learner.load(folder / "home", STUB)
        assert in_another_thread(partial(same_counts, found, stored))
        found.close()


@pytest.mark.slow
def test_an_interrupted_prediction_leaves_the_learner_as_it_was() -> None:
    lessons = [lesson(label, label) for label in ("mug", "cup", "pan")]
    rng = random.Random(0)
    for number in range(60):
        learner = Learner(STUB, pooling="avg", classifier="slda:score=cosine")
        for each in lessons:
            learner.teach_embedding(*each)
        with Interrupt(rng.randrange(1, 700)):
            learner.predict_embedding(QUERY)
        assert in_another_thread(partial(equals_learning_from_scratch, learner, lessons)), number
