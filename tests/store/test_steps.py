"""Undo by what the user did: a step is undone as a whole, whatever its size, in memory and file."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from from_scratch import equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import StreamingClassifier
from robocle.errors import AlreadyMergedError, LabelError, NothingToUndoError, StateError
from robocle.store import Teach, read_state, recovered
from robocle.store.history import MARKED, UNDOABLE
from robocle.store.stored_state import CHECKPOINT_BYTES, MAX_SOURCES
from state_files import damage, replaced, rewrite
from stub_backbone import STUB, embedding

WIDTH = 24


def opened(path: Path, classifier: str = "ncm") -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier=classifier)


def teach(learner: Learner, label: str, pictures: int, seed: int = 0) -> None:
    for number in range(pictures):
        learner.teach_embedding(embedding([seed, number], WIDTH), label)


def another(label: str, pictures: int, classifier: str = "ncm") -> Learner:
    """Return another learner that was taught pictures of a label."""
    learner = Learner(STUB, "avg", classifier)
    teach(learner, label, pictures, seed=99)
    return learner


def crash(learner: Learner) -> None:
    """Release the lock without compacting the journal."""
    assert learner._state._store is not None
    learner._state._store.close()


@pytest.mark.parametrize("pictures", [2, UNDOABLE + 1, 2 * UNDOABLE + 1, 7 * UNDOABLE + 3])
@pytest.mark.parametrize("when", ["at once", "after closing", "after a crash"])
def test_a_step_of_any_size_is_undone_as_a_whole_and_so_is_what_came_before_it(
    pictures: int, when: str, tmp_path: Path
) -> None:
    path = tmp_path / "home"
    learner = opened(path)
    teach(learner, "mug", 3)
    with learner.step():
        teach(learner, "pan", pictures)
    assert learner.undoable == 4
    if when != "at once":
        (Learner.close if when == "after closing" else crash)(learner)
        learner = opened(path)
    assert learner.steps[0] == f"teaching {pictures} pictures of 'pan'"
    assert learner.undo() == f"teaching {pictures} pictures of 'pan'"
    assert learner.counts == read_state(path).counts == {"mug": 3}
    assert learner.undo() == "teaching 'mug'"
    assert learner.counts == read_state(path).counts == {"mug": 2}
    learner.close()
    assert Learner.load(path, STUB).steps == ["teaching 'mug'", "teaching 'mug'"]


def test_teaching_many_pictures_in_one_call_is_one_step(
    lite0: Backbone, photo: NDArray[np.uint8]
) -> None:
    learner = Learner(lite0, "avg", "ncm", "plain")
    learner.teach_many([photo, photo[::-1]], ["mug", "pan"])
    assert learner.undo() == "teaching 2 pictures of 'mug', 'pan'"
    assert learner.labels == ()


def test_a_step_says_what_it_was_told_to_say() -> None:
    learner = Learner(STUB, "avg", "ncm")
    with learner.step("the kitchen,\n\x1bfirst shelf"):
        teach(learner, "mug", 2)
        with learner.step("a step within"):
            learner.rename("mug", "cup")
    assert learner.steps == ["the kitchen, first shelf"]
    with learner.step():
        teach(learner, "mug", 2)
        learner.rename("mug", "jug")
        learner.forget("cup")
    description = "teaching 2 pictures of 'mug', renaming 'mug' to 'jug', forgetting 'cup'"
    assert learner.undo() == description
    assert learner.undo() == "the kitchen, first shelf"
    with pytest.raises(NothingToUndoError):
        learner.undo()


def test_a_step_with_many_labels_names_the_first_five() -> None:
    learner = Learner(STUB, "avg", "ncm")
    with learner.step():
        for number in range(9):
            teach(learner, f"{number}", 1)
    named = "'0', '1', '2', '3', '4'"
    assert learner.steps == [f"teaching 9 pictures of {named} and 4 other labels"]


def test_an_error_within_a_step_keeps_what_was_taught_before_it_as_one_step() -> None:
    learner = Learner(STUB, "avg", "ncm")

    def lesson() -> None:
        with learner.step():
            teach(learner, "mug", 2)
            teach(learner, "", 1)

    with pytest.raises(LabelError):
        lesson()
    teach(learner, "pan", 1)
    assert learner.counts == {"mug": 2, "pan": 1}
    assert learner.steps == ["teaching 'pan'", "teaching 2 pictures of 'mug'"]


@pytest.mark.parametrize("classifier", ["ncm", "slda", "sqda", "ridge"])
def test_a_merge_can_be_undone_and_so_can_what_came_before_it(
    classifier: str, tmp_path: Path
) -> None:
    path = tmp_path / "home"
    learner = opened(path, classifier)
    teach(learner, "mug", 3)
    learner.merge(another("pan", 4, classifier))
    teach(learner, "jar", 2)
    learner.close()
    learner = opened(path, classifier)
    assert learner.counts == {"mug": 3, "pan": 4, "jar": 2}
    assert [learner.undo() for _ in range(3)] == [
        "teaching 'jar'",
        "teaching 'jar'",
        "merging 1 label, 4 pictures",
    ]
    assert learner.undo() == "teaching 'mug'"
    learner.close()
    lessons = [(embedding([0, number], WIDTH), "mug") for number in range(2)]
    assert equals_learning_from_scratch(Learner.load(path, STUB), lessons)


def test_merges_and_lessons_in_one_step_are_undone_together() -> None:
    learner = Learner(STUB, "avg", "ncm")
    teach(learner, "mug", 1)
    with learner.step("a visit"):
        teach(learner, "pan", 2)
        learner.merge(another("jar", 1))
        teach(learner, "pan", 70)
        learner.merge(another("cup", 1))
        teach(learner, "pan", 1)
    assert learner.steps == ["a visit", "teaching 'mug'"]
    learner.undo()
    assert learner.counts == {"mug": 1}


def test_the_history_in_a_file_is_bounded(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        for number in range(5):
            with learner.step():
                teach(learner, f"{number}", 170)
            teach(learner, "mug", 20)
    stored = read_state(tmp_path / "home")
    assert UNDOABLE <= len(stored.history) <= 4 * UNDOABLE
    assert all(len(each.history) <= 3 * UNDOABLE for each in stored.checkpoints)
    assert len(stored.steps) == 20 + 5 + 4 * 20  # nothing is lost while checkpoints are small


@pytest.mark.slow
def test_checkpoints_beyond_the_bound_are_dropped_but_for_the_last(tmp_path: Path) -> None:
    wide = CHECKPOINT_BYTES // 4 // 3  # three samples of this width fill the bound
    with opened(tmp_path / "home") as learner:
        for number in range(5):
            other = Learner(STUB, "avg", "ncm")
            other.teach_embedding(embedding(number, wide), f"{number}")
            learner.merge(other)
    assert [len(each.base.samples) for each in read_state(tmp_path / "home").checkpoints] == [4]
    with opened(tmp_path / "home") as learner:
        assert learner.undo() == "merging 1 label, 1 picture"
        assert len(learner.labels) == 4
        assert learner.undoable == 0


def test_no_part_of_a_step_can_be_undone_once_its_checkpoint_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robocle.store.stored_state.CHECKPOINT_BYTES", 1)
    with opened(tmp_path / "home") as learner:
        with learner.step():
            teach(learner, "pan", 120)
        teach(learner, "mug", 2)
        with learner.step():
            teach(learner, "jar", 60)
        learner.merge(another("cup", 1))
    with opened(tmp_path / "home") as learner:
        undone = [learner.undo() for _ in range(learner.undoable)]
        assert undone == ["merging 1 label, 1 picture"]
        assert learner.counts == {"pan": 120, "mug": 2, "jar": 60}
        with learner.step():
            teach(learner, "box", 60)
        teach(learner, "mug", 1)
    with opened(tmp_path / "home") as learner:
        undone = [learner.undo() for _ in range(learner.undoable)]
        assert undone == ["teaching 'mug'", "teaching 60 pictures of 'box'"]
        assert learner.counts == {"pan": 120, "mug": 2, "jar": 60}


def test_a_large_step_can_be_undone_until_fifty_operations_follow(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        with learner.step():
            teach(learner, "pan", 120)
        teach(learner, "mug", UNDOABLE - 1)
    with opened(tmp_path / "home") as learner:
        assert learner.undoable == UNDOABLE
        teach(learner, "mug", 3 * UNDOABLE)
    stored = read_state(tmp_path / "home")
    assert stored.checkpoints == ()
    assert len(stored.steps) >= UNDOABLE


def test_a_purge_deletes_checkpoints(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "secret", 3)
        learner.merge(another("pan", 1))
        learner.forget("secret")
        assert b"secret" in (tmp_path / "home").read_bytes()
        learner.purge()
        assert learner.undoable == 0
    assert b"secret" not in (tmp_path / "home").read_bytes()


def test_a_copy_has_no_checkpoints(tmp_path: Path) -> None:
    learner = another("mug", 1)
    learner.merge(another("pan", 1))
    learner.save(tmp_path / "copy")
    assert read_state(tmp_path / "copy").checkpoints == ()


# ---- pictures that would count twice


def test_what_was_merged_before_is_not_merged_again(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "home"
    other = another("pan", 1)
    with opened(path) as learner:
        teach(learner, "mug", 1)
        learner.merge(other)
        teach(other, "jar", 1)
        message = refusal(AlreadyMergedError, lambda: learner.merge(other))
        assert "again=True" in message
    with opened(path) as learner:
        refusal(AlreadyMergedError, lambda: learner.merge(other))
        refusal(AlreadyMergedError, lambda: other.merge(learner))
        refusal(AlreadyMergedError, lambda: learner.merge(learner))
        assert learner.counts == {"mug": 1, "pan": 1}
        learner.undo()
        learner.merge(other)
        learner.merge(other, again=True)
        assert learner.counts == {"mug": 1, "pan": 1, "jar": 1}  # each picture counts once


def test_sums_that_are_merged_again_count_twice() -> None:
    other = another("pan", 2, "slda:keep=0")
    learner = another("mug", 1, "slda:keep=0")
    learner.merge(other)
    learner.merge(other, again=True)
    assert learner.counts == {"mug": 1, "pan": 4}


def test_two_robots_that_imported_the_same_state_are_not_merged(refusal: Refusal) -> None:
    shared = another("pan", 1)
    kitchen, office = another("mug", 1), another("pen", 1)
    kitchen.merge(shared)
    office.merge(shared)
    refusal(AlreadyMergedError, lambda: kitchen.merge(office))


def test_copies_of_an_empty_state_have_nothing_in_common(tmp_path: Path) -> None:
    Learner(STUB, "avg", "ncm").save(tmp_path / "empty")
    one, two = (Learner.load(tmp_path / "empty", STUB) for _ in range(2))
    teach(one, "mug", 1)
    teach(two, "mug", 1)
    one.merge(two)
    assert one.counts == {"mug": 2}


def test_the_number_of_sources_is_bounded() -> None:
    stored = another("mug", 1)._state.stored()
    many = stored.with_sources(f"{number}" for number in range(3 * MAX_SOURCES))
    assert len(many.sources) == MAX_SOURCES
    assert (many.sources[0], many.sources[-1]) == (stored.sources[0], f"{3 * MAX_SOURCES - 1}")


# ---- failures


def test_a_merge_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    for name, means in (("home", np.full((1, WIDTH), 1e60)), ("other", np.zeros((1, WIDTH)))):
        another("mug", 2, "slda:keep=0").save(tmp_path / name)
        rewrite(tmp_path / name, arrays=replaced(**{"folded.means": means}))
    before = path.read_bytes()
    with opened(path, "slda:keep=0") as learner:
        message = refusal(StateError, lambda: learner.merge(Learner.load(tmp_path / "other", STUB)))
        assert message.startswith("what would be merged is damaged: ")
        assert learner.counts == {"mug": 2}
    assert path.read_bytes() == before


def failing(error: BaseException) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["replace", "fdatasync"])
def test_a_merge_that_cannot_be_written_changes_nothing(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing(error))
            with pytest.raises((StateError, KeyboardInterrupt)):
                learner.merge(another("pan", 1))
        assert learner.counts == read_state(path).counts == {"mug": 2}
        teach(learner, "mug", 1)
        learner.undo()
        learner.undo()
    assert read_state(path).counts == {"mug": 1}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_undo_of_a_step_that_cannot_be_written_changes_nothing(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        with learner.step():
            teach(learner, "mug", 130)
        with monkeypatch.context() as patched:
            patched.setattr("robocle.store.journal._write", failing(error))
            with pytest.raises((StateError, KeyboardInterrupt)):
                learner.undo()
        assert learner.counts == read_state(path).counts == {"mug": 130}
        learner.undo()
        assert learner.counts == read_state(path).counts == {}


def test_after_an_interrupted_merge_memory_decides_and_the_file_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        with monkeypatch.context() as patched:
            store = learner._state._store
            patched.setattr(type(store), "_drop_journal", failing(KeyboardInterrupt()))
            with pytest.raises(KeyboardInterrupt):
                learner.merge(another("pan", 1))
        assert learner.counts == {"mug": 2}
        teach(learner, "mug", 1)
        assert learner.counts == read_state(path).counts == {"mug": 3}
        learner.merge(another("pan", 1))
    assert read_state(path).counts == {"mug": 3, "pan": 1}


def test_an_interrupt_while_the_history_is_bounded_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", MARKED + 1)
    learner = opened(tmp_path / "home")  # without a mark, the operations are applied again
    learnt, apply = [], Teach.apply

    def interrupted(operation: Teach, classifier: StreamingClassifier) -> None:
        learnt.append(operation.label)
        if len(learnt) == UNDOABLE + 11:  # the tenth that is applied to the stored classifier
            raise KeyboardInterrupt
        apply(operation, classifier)

    monkeypatch.setattr(Teach, "apply", interrupted)
    teach(learner, "mug", UNDOABLE)
    with pytest.raises(KeyboardInterrupt):
        teach(learner, "pan", 1)
    teach(learner, "jar", 1)
    assert learner.counts == {"mug": 3 * UNDOABLE + 1, "pan": 1, "jar": 1}
    for _ in range(3):
        learner.undo()
    mugs = [(embedding([0, number], WIDTH), "mug") for number in range(MARKED + 1)]
    mugs += [(embedding([0, number], WIDTH), "mug") for number in range(UNDOABLE - 1)]
    assert equals_learning_from_scratch(learner, mugs)


def test_an_interrupt_while_the_state_is_marked_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = Learner(STUB, "avg", "slda")
    teach(learner, "mug", MARKED - 1)
    with monkeypatch.context() as patched:
        patched.setattr(StreamingClassifier, "state", failing(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            teach(learner, "pan", 1)
    assert learner.counts == {"mug": MARKED - 1, "pan": 1}
    learner.undo()
    mugs = [(embedding([0, number], WIDTH), "mug") for number in range(MARKED - 1)]
    assert equals_learning_from_scratch(learner, mugs)


@pytest.mark.parametrize("undone", [0, 10])
@pytest.mark.parametrize("in_one_step", [1, 20])
def test_a_history_continues_from_a_mark_only_if_that_divides_no_step(
    undone: int, in_one_step: int
) -> None:
    learner = Learner(STUB, "avg", "slda")
    teach(learner, "mug", MARKED - 5)
    with learner.step():  # the mark is in the middle of the longer one
        teach(learner, "pan", in_one_step)
    teach(learner, "jar", 10)
    for _ in range(undone):
        learner.undo()
    teach(learner, "cup", 2 * UNDOABLE)
    taught = [("mug", MARKED - 5), ("pan", in_one_step), ("jar", 10 - undone), ("cup", UNDOABLE)]
    assert len(learner._state.stored().history) < 3 * UNDOABLE
    for _ in range(UNDOABLE):
        learner.undo()
    lessons = [
        (embedding([0, number], WIDTH), label) for label, many in taught for number in range(many)
    ]
    assert equals_learning_from_scratch(learner, lessons)


def test_a_journal_cut_off_anywhere_holds_a_step_up_to_the_cut_or_not_its_undo(
    tmp_path: Path,
) -> None:
    path, journal = tmp_path / "home", tmp_path / "home-journal"
    learner = opened(path)
    teach(learner, "mug", 1)
    with learner.step():
        teach(learner, "pan", 3)
    before = journal.stat().st_size
    learner.undo()
    content = journal.read_bytes()
    crash(learner)
    for cut in range(before, len(content)):
        journal.write_bytes(content[:cut])
        assert read_state(path).counts == {"mug": 1, "pan": 3}
        assert read_state(path).steps == ["teaching 3 pictures of 'pan'", "teaching 'mug'"]
    journal.write_bytes(content)
    assert read_state(path).counts == {"mug": 1}


def test_damage_to_a_checkpoint_loses_only_the_undo_history(
    tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        learner.save(path)
        learner.merge(another("pan", 1))
    damage(path, "undo.0.history", row=1)
    message = refusal(StateError, lambda: read_state(path))
    assert "undo.0.history" in message
    assert "recover" in message
    state, lost = recovered(path)
    assert (state.counts, lost) == ({"mug": 2, "pan": 1}, [])


@pytest.mark.parametrize("damaged", ["embeddings", "undo.0.embeddings", "undo.0.history"])
def test_recovery_returns_to_a_checkpoint_if_the_journal_does(damaged: str, tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 200)  # most of them are samples of the checkpoint
        learner.merge(another("pan", 1))
    learner = opened(path)
    learner.undo()
    teach(learner, "jar", 1)
    crash(learner)
    damage(path, damaged)
    state, lost = recovered(path)
    is_needed = damaged != "embeddings"  # what was merged is undone
    assert lost == ["a picture of 'mug'"] * is_needed
    assert state.counts == {"mug": 200 - is_needed, "jar": 1}


def test_a_checkpoint_with_impossible_contents_is_refused_when_it_is_needed(
    tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        learner.merge(another("pan", 1))
    impossible = {"history": [["forget", "jar"]], "labels": [], "samples": [], "sources": []}
    rewrite(path, replaced(checkpoints=[{"step": "x", **impossible}]))
    with opened(path) as learner:
        assert "undo history is damaged" in refusal(StateError, learner.undo)
        assert learner.counts == {"mug": 2, "pan": 1}


@pytest.mark.parametrize(
    "checkpoints", [None, 3, ["x"], [{}], [{"step": 3, "labels": [], "history": []}], [[]]]
)
def test_a_description_with_wrong_checkpoints_is_refused(
    checkpoints: object, tmp_path: Path, refusal: Refusal
) -> None:
    another("mug", 1).save(tmp_path / "home")
    rewrite(tmp_path / "home", replaced(checkpoints=checkpoints))
    assert "is damaged" in refusal(StateError, lambda: read_state(tmp_path / "home"))


def test_steps_with_the_same_token_that_follow_each_other_are_one_even_after_closing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "home.robocle"
    for seed in (1, 2):
        with opened(path) as learner, learner.step(token="lesson a"):
            teach(learner, "mug", 2, seed)
    with opened(path) as learner:
        assert learner.steps == ["teaching 4 pictures of 'mug'"]
        teach(learner, "pan", 1)
        with learner.step(token="lesson a"):
            teach(learner, "mug", 1, seed=3)
        assert learner.steps[0] == "teaching 'mug'"
        assert learner.undoable == 3
