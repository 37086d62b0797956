"""Undo, forget, rename and merge, in memory and in a file, equal teaching from scratch."""

import tempfile
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import NothingToUndoError, StateError
from robocle.store import read_state
from robocle.store.history import UNDOABLE


class StubBackbone:
    """A backbone that is never asked to look."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())
Lessons = list[tuple[int, str]]


def vector(number: int, width: int) -> NDArray[np.float32]:
    return np.abs(np.random.default_rng(number).normal(size=width)).astype(np.float32)


def require_as_taught(learner: Learner, lessons: Lessons, width: int) -> None:
    """The learner knows what one that was taught these lessons alone knows."""
    fresh = CLASSIFIERS.build(learner.parts.classifier)
    for number, label in lessons:
        fresh.learn(vector(number, width), label)
    assert learner.counts == fresh.counts
    if lessons:
        query = vector(10**6, width)
        expected = dict(zip(fresh.labels, fresh.scores(query[None])[0].tolist(), strict=True))
        largest = max(abs(score) for score in expected.values())
        found = learner.predict_embedding(query).scores
        assert all(abs(found[each] - expected[each]) <= 1e-6 * largest for each in expected)


def renamed(lessons: Lessons, label: str, new: str) -> Lessons:
    return [(number, new if name == label else name) for number, name in lessons]


STEP = st.tuples(
    st.sampled_from(
        ["teach"] * 5 + ["undo"] * 3 + ["forget", "rename", "merge", "purge", "reopen"]
    ),
    st.sampled_from("abcd"),
    st.sampled_from("abcd"),
)


@settings(max_examples=40)
@given(
    steps=st.lists(STEP, max_size=40),
    classifier=st.sampled_from(["ncm", "slda", "slda:shrinkage=1e-4"]),
    width=st.sampled_from([64, 200]),
)
def test_any_life_of_a_state_equals_teaching_from_scratch(
    steps: list[tuple[str, str, str]], classifier: str, width: int
) -> None:
    live(steps, classifier, width)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["ncm", "slda:covariance=blocks,blocks=3", "slda"])
def test_a_life_at_full_width_equals_teaching_from_scratch(classifier: str) -> None:
    steps = [("teach", "abcd"[n % 4], "a") for n in range(12)]
    steps += [("undo", "", ""), ("forget", "b", ""), ("reopen", "", ""), ("teach", "b", "")]
    steps += [("merge", "c", ""), ("rename", "c", "e"), ("undo", "", ""), ("forget", "d", "")]
    live(steps, classifier, 3840)


def live(steps: list[tuple[str, str, str]], classifier: str, width: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home"
        learner = Learner.open(path, STUB, pooling="avg", classifier=classifier)
        lives: list[Lessons] = [[]]  # one after each operation that can be taken back
        for number, (verb, label, new) in enumerate(steps):
            learner = step(learner, path, lives, verb, label, new, number, width)
        require_as_taught(Learner.load(path, STUB), lives[-1], width)
        learner.close()
        require_as_taught(Learner.load(path, STUB), lives[-1], width)


def step(
    learner: Learner, path: Path, lives: list[Lessons], verb: str, label: str, new: str,
    number: int, width: int,
) -> Learner:  # fmt: skip
    now = lives[-1]
    known = {name for _, name in now}
    if verb == "teach":
        learner.teach_embedding(vector(number, width), label)
        lives.append([*now, (number, label)])
    elif verb == "undo" and len(lives) > 1:
        learner.undo()
        lives.pop()
    elif verb == "forget" and label in known:
        learner.forget(label)
        lives.append([lesson for lesson in now if lesson[1] != label])
    elif verb == "rename" and label in known and new not in known:
        learner.rename(label, new)
        lives.append(renamed(now, label, new))
    elif verb == "merge":
        other = Learner(STUB, "avg", learner.parts.classifier)
        other.teach_embedding(vector(-number % 10**5 + 1000, width), label)
        learner.merge(other)
        lives[:] = [[*now, (-number % 10**5 + 1000, label)]]
    elif verb == "purge":
        learner.purge()
        lives[:] = [now]
    elif verb == "reopen":
        learner.close()
        return Learner.open(path, STUB)
    return learner


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_every_classifier_takes_back_exactly_what_it_learnt_last(classifier: str) -> None:
    learner = Learner(STUB, "avg", classifier)
    for number in range(12):
        learner.teach_embedding(vector(number, 24), f"{number % 3}")
    before = learner.predict_embedding(vector(99, 24))
    learner.teach_embedding(vector(50, 24), "1")
    learner.teach_embedding(vector(51, 24), "new")
    assert learner.undo() == "teaching 'new'"
    learner.undo()
    assert learner.predict_embedding(vector(99, 24)).scores == pytest.approx(
        before.scores, rel=1e-9
    )


def test_at_least_fifty_operations_can_be_taken_back_and_no_more_are_kept_than_twice_that(
    tmp_path: Path,
) -> None:
    learner = Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="ncm")
    for number in range(237):
        learner.teach_embedding(vector(number, 24), "mug")
    learner.close()
    assert UNDOABLE <= len(read_state(tmp_path / "home").history) <= 2 * UNDOABLE
    learner = Learner.open(tmp_path / "home", STUB)
    for _ in range(UNDOABLE):
        learner.undo()
    assert learner.counts == {"mug": 187}
    for _ in learner._state.operations:
        learner.undo()
    with pytest.raises(NothingToUndoError):
        learner.undo()
    learner.close()


def test_an_open_learner_that_is_saved_in_its_own_file_can_undo_still(tmp_path: Path) -> None:
    with Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="ncm") as learner:
        learner.teach_embedding(vector(0, 24), "mug")
        learner.teach_embedding(vector(1, 24), "mug")
        learner.save(tmp_path / "home")
        learner.undo()
        assert read_state(tmp_path / "home").counts == {"mug": 1}
    assert read_state(tmp_path / "home").counts == {"mug": 1}


def test_a_purged_label_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    with Learner.open(tmp_path / "home", STUB, pooling="avg", classifier="slda") as learner:
        for number in range(6):
            learner.teach_embedding(vector(number, 64), "ab"[number % 2])
        learner.forget("a")
        learner.purge()
        left = learner._state.stored()
    assert left.history == ()
    directions = np.asarray(read_state(tmp_path / "home").arrays["0.basis"])
    taught = np.array([vector(number, 64) for number in (1, 3, 5)], float)
    assert np.linalg.matrix_rank(np.vstack([directions, taught])) == len(directions) == 3


def test_a_merge_with_other_parts_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    learner = Learner(STUB, "avg", "ncm")
    learner.teach_embedding(vector(0, 24), "mug")
    with pytest.raises(StateError, match="both learners must have the same parts"):
        learner.merge(Learner(STUB, "max", "ncm"))
    assert learner.undo() == "teaching 'mug'"
