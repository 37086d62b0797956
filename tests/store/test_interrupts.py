"""An interrupt at any instant leaves a learner whole, and its file agrees with what comes next."""

import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from from_scratch import equals_learning_from_scratch
from interrupts import Interrupt
from random_operations import (
    UNDOABLE,
    Words,
    equivalent_lessons,
    lesson,
    next_operations,
    perform,
)
from robocle import Learner, blas, imports
from robocle.errors import NothingToUndoError
from robocle.store import history, state_store
from stub_backbone import STUB

# Between two bytecodes of a `with` statement, an interrupt may leave a file to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

Operate = Callable[[Learner], object]


@pytest.fixture(autouse=True)
def _no_lock_of_all_threads_stays_taken() -> Iterator[None]:
    yield
    with ThreadPoolExecutor(1) as other:
        for lock in (blas._lock, imports._lock):
            assert other.submit(taken_and_released, lock).result()


def taken_and_released(lock: Any) -> bool:
    """Return whether this thread gets a lock within ten seconds."""
    taken: bool = lock.acquire(timeout=10)
    if taken:
        lock.release()
    return taken


def opened(path: Path, classifier: str) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier=classifier)


def after_power_failure(path: Path, folder: Path) -> Learner:
    """Return what is in the files now, as if the power failed."""
    folder.mkdir(exist_ok=True)
    for name in (path.name, f"{path.name}-journal"):
        (folder / name).unlink(missing_ok=True)
        if path.with_name(name).exists():
            shutil.copy(path.with_name(name), folder)
    return Learner.load(folder / path.name, STUB)


def taught(learner: Learner, operations: list[Words]) -> bool:
    return equals_learning_from_scratch(learner, equivalent_lessons(operations))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "seed"), [("ncm", 1), ("slda", 2), ("slda:shrinkage=stepped,score=cosine", 3)]
)
def test_after_five_hundred_interrupts_nothing_acknowledged_is_lost_and_nothing_is_half_done(
    classifier: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "UNDOABLE", UNDOABLE)
    monkeypatch.setattr(state_store, "FULL", 7)  # so that many interrupts hit a compaction
    rng = random.Random(seed)
    path = tmp_path / "home"
    learner = opened(path, classifier)
    operations: list[Words] = []
    length = 500
    for number in range(500):
        words = next_operations(rng, learner, f"{seed}/{number}")[0]
        try:
            with Interrupt(rng.randrange(1, length)) as interrupt:
                perform(learner, words)
                learner.predict_embedding(lesson("", "query")[0]) if learner.labels else None
        except NothingToUndoError:
            continue
        length = max(length // 2, min(4 * interrupt.count, 20_000))
        if not taught(learner, operations):
            operations.append(words)
            assert taught(learner, operations), f"{words} is half done after interrupt {number}"
        # What is acknowledged from now on must be in the file, whatever state it was left in.
        following: Words = ["teach", "", "mug", f"{seed}/after {number}"]
        perform(learner, following)
        operations.append(following)
        if number % 5 == 0:
            copy = after_power_failure(path, tmp_path / "copy")
            assert taught(copy, operations), f"the file differs after interrupt {number}"
    learner.close()
    assert taught(Learner.load(path, STUB), operations)


MERGED = [["teach", "", "pan", "1"], ["teach", "", "pan", "2"]]


def merged_in() -> Learner:
    other = Learner(STUB, "avg", "slda")
    for words in MERGED:
        perform(other, words)
    return other


CHANGES: dict[str, tuple[Operate, list[Words]]] = {
    "merge": (lambda learner: learner.merge(merged_in()), MERGED),
    "save": (lambda learner: learner.save(learner._state._store.path), []),  # type: ignore[union-attr]
    "purge": (lambda learner: learner.purge(), []),
    "close": (lambda learner: learner.close(), []),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupted_change_happens_as_a_whole_or_not_at_all(name: str, tmp_path: Path) -> None:
    change, added = CHANGES[name]
    start = [["teach", "", "mug", "1"], ["teach", "", "cup", "2"], ["teach", "", "mug", "3"]]
    count = 0
    for at in [0, *random.Random(name).sample(range(1, 1500), 100)]:
        if at > count > 0:
            continue
        folder = tmp_path / str(at)
        folder.mkdir()
        learner = opened(folder / "home", "slda")
        for words in start:
            perform(learner, words)
        with Interrupt(at) as interrupt:
            change(learner)
        count = count or interrupt.count
        if name == "close":
            learner.close()
            assert taught(Learner.load(folder / "home", STUB), start)
            continue
        whole = start + added if "pan" in learner.labels else start
        assert taught(learner, whole)
        perform(learner, ["teach", "", "jar", "4"])
        copy = after_power_failure(folder / "home", folder / "copy")
        assert taught(copy, [*whole, ["teach", "", "jar", "4"]])
        learner.close()


@pytest.mark.slow
def test_an_interrupted_prediction_leaves_the_learner_as_it_was(tmp_path: Path) -> None:
    operations: list[Words] = [["teach", "", label, label] for label in ("mug", "cup", "pan")]
    query = lesson("", "query")[0]
    rng = random.Random(0)
    for number in range(100):
        learner = Learner(STUB, "avg", "slda:score=cosine")
        for words in operations:
            perform(learner, words)
        with Interrupt(rng.randrange(1, 3000)):
            learner.predict_embedding(query)
        assert taught(learner, operations), f"after interrupt {number}"
