"""Steps: what the user did in one go is undone and redone in one go, by any program."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from command_line import run
from from_scratch import equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import LabelError, NothingToUndoError, NotLastStepError
from robots import WIDTH, another, in_memory, loaded, opened, teach, visible
from stub_backbone import embedding


def titles(learner: Learner) -> list[str]:
    return [step.description for step in learner.steps]


def first_id(learner: Learner) -> str:
    return learner.samples[0].id


def visit(learner: Learner) -> None:
    """Make all kinds of changes in one step."""
    with learner.step("a visit"):
        teach(learner, "jar", 2, seed=3)
        learner.merge(another("cup", 2))
        learner.rename("mug", "jar")
        learner.remove(first_id(learner))
        learner.forget("cup")
        teach(learner, "cup", 1, seed=4)


CHANGES: dict[str, Callable[[Learner], object]] = {
    "teaching 'mug'": lambda learner: teach(learner, "mug", 1, seed=3),
    "teaching 3 pictures of 'jar', 'mug'": lambda learner: learner.teach_embeddings(
        [embedding([3, number], WIDTH) for number in range(3)], ["jar", "mug", "jar"]
    ),
    "forgetting 'mug'": lambda learner: learner.forget("mug"),
    "removing 1 picture": lambda learner: learner.remove(first_id(learner)),
    "renaming 'mug' to 'cup'": lambda learner: learner.rename("mug", "cup"),
    "renaming 'mug' to 'pan'": lambda learner: learner.rename("mug", "pan"),
    "merging 1 label, 2 pictures": lambda learner: learner.merge(another("mug", 2)),
    "a visit": visit,
}


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "after restarts"])
@pytest.mark.parametrize("description", CHANGES)
def test_every_change_is_undone_and_redone_as_a_whole(
    description: str, restarts: bool, tmp_path: Path
) -> None:
    learner = opened(tmp_path / "home")

    def known() -> tuple[dict[str, str], dict[str, int]]:
        nonlocal learner
        if restarts:
            learner.close()
            learner = opened(tmp_path / "home")
        assert visible(loaded(tmp_path / "home")) == visible(learner)
        return visible(learner), learner.counts

    teach(learner, "mug", 3)
    teach(learner, "pan", 2, seed=1)
    before = known()
    CHANGES[description](learner)
    after = known()
    assert before != after
    for _ in range(2):
        assert learner.undo() == description
        assert known() == before
        assert titles(learner) == ["teaching 'pan'"] * 2 + ["teaching 'mug'"] * 3
        assert learner.redo() == description
        assert known() == after
        assert titles(learner)[0] == description


def test_steps_are_undone_by_any_program_and_only_if_they_are_the_last(
    tmp_path: Path, refusal: Refusal
) -> None:
    with opened(tmp_path / "home") as here, opened(tmp_path / "home") as there:
        teach(here, "mug")
        (mine,) = here.steps
        teach(there, "pan", 1, seed=1)
        message = refusal(NotLastStepError, lambda: here.undo(mine.id))
        assert "teaching 'pan'" in message
        assert here.counts == {"mug": 1, "pan": 1}
        theirs = here.steps[0]
        assert here.undo(theirs.id) == str(theirs) == "teaching 'pan'"
        assert there.undo(mine.id) == "teaching 'mug'"
        refusal(NothingToUndoError, lambda: here.undo(mine.id))
        refusal(NotLastStepError, lambda: here.redo(theirs.id))
        assert there.counts == {}
        assert [step.id for step in here.undone] == [mine.id, theirs.id]
        assert here.redo(mine.id) == "teaching 'mug'"
        assert here.steps == [mine]


def test_a_new_step_of_any_program_makes_redo_impossible(tmp_path: Path, refusal: Refusal) -> None:
    with opened(tmp_path / "home") as here, opened(tmp_path / "home") as there:
        teach(here, "mug", 2)
        here.undo()
        teach(there, "pan", 1, seed=1)
        assert here.undone == []
        assert refusal(NothingToUndoError, here.redo) == (
            "nothing to redo: no step was undone last"
        )
        assert titles(here) == ["teaching 'pan'", "teaching 'mug'"]


@pytest.mark.parametrize("change", ["forget", "merge", "merge again", "rename"])
def test_a_change_after_an_undone_step_can_be_undone_and_redone(
    change: str, tmp_path: Path
) -> None:
    """What only the undone step could bring back is erased when that is no longer possible."""
    other = another("cup", 2)
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 2)
        learner.merge(other)
        if change == "merge again":
            learner.undo()
        else:
            teach(learner, "jar", 1, seed=5)
            learner.undo()
        before = visible(learner)
        {
            "forget": lambda: learner.forget("mug"),
            "merge": lambda: learner.merge(another("jar", 2, seed=6)),
            "merge again": lambda: learner.merge(other),
            "rename": lambda: learner.rename("mug", "jar"),
        }[change]()
        after = visible(learner)
        learner.undo()
        assert visible(learner) == visible(loaded(tmp_path / "home")) == before
        learner.redo()
        assert visible(learner) == visible(loaded(tmp_path / "home")) == after != before


# ---- what belongs to a step, and what it is called


def test_teaching_many_pictures_in_one_call_is_one_step(
    lite0: Backbone, photo: NDArray[np.uint8]
) -> None:
    learner = Learner(lite0, pooling="avg", classifier="ncm", views="plain")
    learner.teach_many([photo, photo[::-1]], ["mug", "pan"])
    assert learner.undo() == "teaching 2 pictures of 'mug', 'pan'"
    assert learner.labels == ()


def test_a_step_is_called_what_it_was_told_or_what_it_did() -> None:
    learner = in_memory()
    with learner.step("the kitchen,\n\x1bfirst shelf"):
        teach(learner, "mug", 2)
        with learner.step("a step within"):
            learner.rename("mug", "cup")
    with learner.step():
        teach(learner, "mug", 2)
        learner.rename("mug", "jug")
        learner.forget("cup")
    with learner.step():
        for number in range(9):
            teach(learner, f"{number}")
    named = "'0', '1', '2', '3', '4'"
    assert titles(learner) == [
        f"teaching 9 pictures of {named} and 4 other labels",
        "teaching 2 pictures of 'mug', renaming 'mug' to 'jug', forgetting 'cup'",
        "the kitchen, first shelf",
    ]


def test_a_step_has_an_id_once_something_is_changed_in_it() -> None:
    learner, other = in_memory(), another("mug", 2)
    for expected in (True, False):  # the second time, nothing is new
        with learner.step("a visit") as step:
            assert step.id == ""
            learner.merge(other)
        assert (step.id == learner.steps[0].id) == expected == (step.id != "")
    with learner.step(token="lesson a") as outer, learner.step() as inner:
        teach(learner, "mug")
    assert outer.id == inner.id == learner.steps[0].id == "lesson a"


def test_an_error_within_a_step_keeps_what_was_taught_before_it_as_one_step() -> None:
    learner = in_memory()

    def lesson() -> None:
        with learner.step():
            teach(learner, "mug", 2)
            teach(learner, "", 1)

    with pytest.raises(LabelError):
        lesson()
    teach(learner, "pan")
    assert learner.counts == {"mug": 2, "pan": 1}
    assert titles(learner) == ["teaching 'pan'", "teaching 2 pictures of 'mug'"]


def test_steps_with_the_same_token_that_follow_each_other_are_one_even_after_restarts(
    tmp_path: Path,
) -> None:
    for seed in (1, 2):
        with opened(tmp_path / "home") as learner, learner.step("a lesson", token="a"):
            teach(learner, "mug", 2, seed)
    with opened(tmp_path / "home") as learner, opened(tmp_path / "home") as other:
        assert titles(learner) == ["a lesson"]
        teach(other, "pan")
        with learner.step(token="a"):
            teach(learner, "mug", 1, seed=3)
        assert titles(learner) == ["teaching 'mug'", "teaching 'pan'", "a lesson"]
        learner.undo()
        with learner.step(token="a"):  # it does not go on with a step that was undone
            teach(learner, "jar", 1, seed=4)
        assert titles(learner) == ["teaching 'jar'", "teaching 'pan'", "a lesson"]
        assert [learner.undo() for _ in range(3)][-1] == "a lesson"
        assert learner.counts == {}


# ---- merges, exports and undo


def test_what_is_folded_or_merged_with_folded_pictures_can_no_longer_be_undone(
    tmp_path: Path,
) -> None:
    folded, plain = another("jar", 4, "slda:keep=2"), another("cup", 2, "slda:keep=2", seed=5)
    folded.purge()
    folded.save(tmp_path / "folded")
    plain.save(tmp_path / "plain")
    with opened(tmp_path / "home", "slda:keep=2") as learner:
        learner.merge_files(tmp_path / "folded", tmp_path / "plain")
        assert titles(learner) == []
        teach(learner, "mug", 2)
        assert learner.undo() == learner.undo() == "teaching 'mug'"
        assert learner.counts == {"jar": 4, "cup": 2}
        teach(learner, "pan", 70, seed=1)  # more than are kept one by one
        undone = len([learner.undo() for _ in titles(learner)])
        assert undone < 70
        assert learner.counts == {"jar": 4, "cup": 2, "pan": 70 - undone}
        assert learner.counts == loaded(tmp_path / "home").counts


# ---- erasing for good


def in_files(folder: Path, *texts: bytes) -> list[bytes]:
    """Return which of these texts are in a file of a folder."""
    return [text for text in texts if any(text in file.read_bytes() for file in folder.iterdir())]


@pytest.mark.parametrize("by", ["purge", "--purge"])
def test_a_purge_erases_what_was_removed_and_no_old_export_brings_it_back(
    by: str, tmp_path: Path
) -> None:
    folder, old = tmp_path / "home", tmp_path / "old"
    folder.mkdir()
    with opened(folder / "state") as learner:
        teach(learner, "secret", 5)
        teach(learner, "pan", 2, seed=1)
        learner.remove(learner.samples[-1].id)
        learner.save(old)
        learner.merge(another("whisper", 3, seed=2))
        learner.undo()
        secret = [embedding([0, number], WIDTH).tobytes() for number in range(5)]
        secret += [embedding([1, 1], WIDTH).tobytes(), embedding([2, 0], WIDTH).tobytes()]
        assert in_files(folder, *secret, b"secret", b"whisper") == [*secret, b"secret", b"whisper"]
        if by == "purge":
            learner.forget("secret")
            learner.purge()
        else:
            assert run("forget", folder / "state", "secret", "--purge").exit_code == 0
        assert (learner.counts, learner.steps, learner.undone) == ({"pan": 1}, [], [])
        assert in_files(folder, *secret, b"secret", b"whisper") == []
        learner.merge_files(old)
        assert learner.counts == {"pan": 1}
        assert in_files(folder, *secret, b"secret") == []
    assert in_files(folder, embedding([1, 0], WIDTH).tobytes())
    assert equals_learning_from_scratch(
        loaded(folder / "state"), [(embedding([1, 0], WIDTH), "pan")]
    )
    with sqlite3.connect(folder / "state") as database:  # what old exports are told by
        query = "SELECT count(*) FROM samples WHERE label IS NULL AND embedding IS NULL"
        assert database.execute(query).fetchone()[0] >= 6
    database.close()
