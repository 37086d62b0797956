"""Undo, forget, remove, rename and merge, in memory and in a file, equal teaching from scratch."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load

from from_scratch import equals_learning_from_scratch
from robocle import Learner
from robocle.classifiers import CLASSIFIERS
from robocle.errors import NothingToUndoError, StateError
from robocle.store import read_state
from robocle.store.history import UNDOABLE
from robocle.store.stored_state import CHECKPOINT_BYTES
from stub_backbone import STUB, embedding

Lessons = list[tuple[int, str]]
"""Seeds of embeddings with their labels."""
Steps = list[tuple[str, str, str]]
"""Verbs with the labels that they may need."""


def assert_taught(learner: Learner, lessons: Lessons, width: int) -> None:
    """Assert that a learner equals one that was taught only these lessons."""
    taught = [(embedding(seed, width), label) for seed, label in lessons]
    assert equals_learning_from_scratch(learner, taught)


STEP = st.tuples(
    st.sampled_from(
        ["teach"] * 5
        + ["undo"] * 3
        + ["forget", "remove", "rename", "merge", "purge", "reopen", "folder", "large folder"]
    ),
    st.sampled_from("abcd"),
    st.sampled_from("abcd"),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    steps=st.lists(STEP, max_size=40),
    classifier=st.sampled_from(["ncm", "slda", "slda:shrinkage=1e-4"]),
    width=st.sampled_from([64, 200]),
    checkpoint_bytes=st.sampled_from([1, CHECKPOINT_BYTES]),
)
def test_any_sequence_of_operations_equals_teaching_from_scratch(
    steps: Steps, classifier: str, width: int, checkpoint_bytes: int
) -> None:
    with mock.patch("robocle.store.stored_state.CHECKPOINT_BYTES", checkpoint_bytes):
        check_steps(steps, classifier, width)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["ncm", "slda:covariance=blocks,blocks=3", "slda"])
def test_a_sequence_of_operations_at_full_width_equals_teaching_from_scratch(
    classifier: str,
) -> None:
    steps = [("teach", "abcd"[n % 4], "a") for n in range(12)]
    steps += [("undo", "", ""), ("forget", "b", ""), ("reopen", "", ""), ("teach", "b", "")]
    steps += [("merge", "c", ""), ("rename", "c", "e"), ("undo", "", ""), ("forget", "d", "")]
    steps += [("remove", "a", ""), ("rename", "a", "c"), ("reopen", "", ""), ("remove", "b", "")]
    check_steps(steps, classifier, 3840)


def check_steps(steps: Steps, classifier: str, width: int) -> None:
    """Perform the steps that are possible, and compare the file with teaching from scratch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home"
        learner = Learner.open(path, STUB, pooling="avg", classifier=classifier)
        versions: list[Lessons] = [[]]  # the equivalent lessons after each undoable operation
        for number, step in enumerate(steps):
            learner = perform(learner, path, versions, step, number, width)
        assert_taught(Learner.load(path, STUB), versions[-1], width)
        learner.close()
        assert_taught(Learner.load(path, STUB), versions[-1], width)


def perform(
    learner: Learner, path: Path, versions: list[Lessons], step: tuple[str, str, str],
    number: int, width: int,
) -> Learner:  # fmt: skip
    """Perform a step if it is possible, and add or remove versions accordingly."""
    verb, label, new = step
    now = versions[-1]
    known = {name for _, name in now}
    if verb == "teach":
        learner.teach_embedding(embedding(number, width), label)
        versions.append([*now, (number, label)])
    elif verb == "undo" and learner.undoable:
        learner.undo()
        versions.pop()
    elif verb == "forget" and label in known:
        learner.forget(label)
        versions.append([lesson for lesson in now if lesson[1] != label])
    elif verb == "remove" and label in known:
        place = [name for _, name in now].index(label)
        learner.remove(learner.samples[place].id)
        versions.append([*now[:place], *now[place + 1 :]])
    elif verb == "rename" and label in known and new != label:  # it may join two labels
        learner.rename(label, new)
        versions.append([(seed, new if name == label else name) for seed, name in now])
    elif verb == "merge":
        other = Learner(STUB, "avg", learner.parts.classifier)
        other.teach_embedding(embedding(1000 + number, width), label)
        learner.merge(other)
        versions.append([*now, (1000 + number, label)])
    elif verb.endswith("folder"):
        seeds = range(
            10_000 * (number + 1), 10_000 * (number + 1) + (3 if verb == "folder" else 60)
        )
        with learner.step():
            for seed in seeds:
                learner.teach_embedding(embedding(seed, width), label)
        versions.append([*now, *((seed, label) for seed in seeds)])
    elif verb == "purge":
        learner.purge()
        versions[:] = [now]
    elif verb == "reopen":
        learner.close()
        return Learner.open(path, STUB)
    return learner


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_every_classifier_undoes_teaching_exactly(classifier: str) -> None:
    learner = Learner(STUB, "avg", classifier)
    for number in range(12):
        learner.teach_embedding(embedding(number, 24), f"{number % 3}")
    query = embedding(99, 24)
    before = learner.predict_embedding(query)
    learner.teach_embedding(embedding(50, 24), "1")
    learner.teach_embedding(embedding(51, 24), "new")
    assert learner.undo() == "teaching 'new'"
    learner.undo()
    assert learner.predict_embedding(query).scores == pytest.approx(before.scores, rel=1e-9)


def test_fifty_operations_can_be_undone_and_at_most_two_hundred_are_stored(tmp_path: Path) -> None:
    assert UNDOABLE == 50
    learner = Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="ncm")
    for number in range(237):
        learner.teach_embedding(embedding(number, 24), "mug")
    learner.close()
    assert UNDOABLE <= len(read_state(tmp_path / "home").history) <= 4 * UNDOABLE
    learner = Learner.open(tmp_path / "home", STUB)
    for _ in range(UNDOABLE):
        learner.undo()
    assert learner.counts == {"mug": 187}
    for _ in range(learner.undoable):
        learner.undo()
    with pytest.raises(NothingToUndoError):
        learner.undo()
    learner.close()


def test_an_open_learner_saved_to_its_own_file_can_still_undo(tmp_path: Path) -> None:
    with Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="ncm") as learner:
        learner.teach_embedding(embedding(0, 24), "mug")
        learner.teach_embedding(embedding(1, 24), "mug")
        learner.save(tmp_path / "home")
        learner.undo()
        assert read_state(tmp_path / "home").counts == {"mug": 1}
    assert read_state(tmp_path / "home").counts == {"mug": 1}


def test_a_purged_label_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    with Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="slda") as learner:
        for number in range(6):
            learner.teach_embedding(embedding(number, 64), "ab"[number % 2])
        learner.forget("a")
        learner.purge()
        assert learner._state.stored().history == ()
    arrays = load((tmp_path / "home").read_bytes())
    assert set(arrays) == {"embeddings", "times"}
    remaining = np.array([embedding(number, 64) for number in (1, 3, 5)])
    np.testing.assert_array_equal(arrays["embeddings"], remaining)


@pytest.mark.parametrize("keep", [0, 3, 100])
def test_a_state_lists_its_labels_in_the_order_of_its_learner(keep: int, tmp_path: Path) -> None:
    classifier = f"slda:keep={keep}"
    with Learner.open(tmp_path / "home", STUB, pooling="avg", classifier=classifier) as learner:
        for number in range(10):
            learner.teach_embedding(embedding(number, 24), "abcde"[number // 2])
        learner.purge()
        changes: list[Callable[[], None]] = [
            lambda: learner.rename("a", "z"),
            lambda: learner.teach_embedding(embedding(20, 24), "f"),
            lambda: learner.rename("z", "b"),
            lambda: learner.forget("d"),
            lambda: learner.rename("f", "c"),
            lambda: learner.rename("c", "c"),
        ]
        for change in changes:
            change()
            assert list(read_state(tmp_path / "home").counts.items()) == [*learner.counts.items()]


def test_a_merge_with_other_parts_is_refused_and_changes_nothing() -> None:
    learner = Learner(STUB, "avg", "ncm")
    learner.teach_embedding(embedding(0, 24), "mug")
    with pytest.raises(StateError, match="both learners must have the same parts"):
        learner.merge(Learner(STUB, "max", "ncm"))
    with pytest.raises(StateError, match=r"cannot merge what was learned with sqda\S* into ncm"):
        learner.merge(Learner(STUB, "avg", "sqda"))
    assert learner.undo() == "teaching 'mug'"
