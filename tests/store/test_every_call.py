"""A program that is killed before or after any of its calls to the system loses nothing."""

from functools import partial
from pathlib import Path

import pytest

from from_scratch import equals_learning_from_scratch
from killed_calls import killed_at
from random_operations import Words, equivalent_lessons, perform
from robocle import Learner
from robocle.store import history, state_store
from stub_backbone import STUB

# A step that needs a checkpoint, a compaction, a merge, undo, a removal, a rename that joins two
# labels, purge, and a second opening.
SCRIPT: list[list[Words]] = [
    [
        ["teach", "", "mug", "1"],
        ["teach", "", "cup", "2"],
        *(["teach", "a", "pan", f"a{number}"] for number in range(4)),
        ["rename", "", "cup", "jar"],
        ["merge", "", "pan", "3"],
        ["undo", ""],
        ["teach", "", "mug", "4"],
        ["remove", "", "pan"],
    ],
    [
        ["undo", ""],
        ["rename", "", "jar", "pan"],
        ["forget", "", "mug"],
        ["purge", ""],
        ["teach", "", "cup", "5"],
        ["remove", "", "pan"],
    ],
]


def run(path: Path, done: Path) -> None:
    """Perform the script, and write down each operation that was acknowledged."""
    for operations in SCRIPT:
        learner = Learner.open(path, STUB, pooling="avg", classifier="slda")
        for step, grouped in steps(operations):
            with learner.step() if step else learner.step("one"):
                for words in grouped:
                    perform(learner, words)
                    with open(done, "ab", buffering=0) as file:
                        file.write(b".")
        learner.close()


def steps(operations: list[Words]) -> list[tuple[str, list[Words]]]:
    """Return the operations by step."""
    found: list[tuple[str, list[Words]]] = []
    for words in operations:
        if found and words[1] and found[-1][0] == words[1]:
            found[-1][1].append(words)
        else:
            found.append((words[1], [words]))
    return found


def survives(path: Path, acknowledged: int) -> bool:
    """Return whether a state holds the acknowledged operations, and at most one more."""
    operations = [words for session in SCRIPT for words in session]
    possible = [operations[:acknowledged], operations[: acknowledged + 1]]
    if not path.exists():
        return acknowledged == 0
    learner = Learner.load(path, STUB)
    return any(equals_learning_from_scratch(learner, equivalent_lessons(each)) for each in possible)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_any_call_to_the_system_loses_no_acknowledged_operation(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "UNDOABLE", 2)
    monkeypatch.setattr(state_store, "FULL", 5)
    assert not Learner(STUB, "avg", "slda").samples  # imports what the forks need
    kills = 0
    while True:
        folder = tmp_path / str(kills)
        folder.mkdir()
        path, done = folder / "home", folder / "done"
        done.touch()
        if not killed_at(kills + 1, partial(run, path, done), after=after):
            break
        assert survives(path, done.stat().st_size), f"kill {kills + 1} lost something"
        kills += 1
    assert survives(path, sum(map(len, SCRIPT)))
    assert kills > 100
