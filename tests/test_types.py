"""A prediction is the same value, whether its dicts were given or are built when first read."""

import copy
import gc
import json
import pickle
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, astuple, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocle import Learner, Prediction
from robocle.learner.embedding import Embedding
from robocle.types import LabelNumbers
from stub_backbone import STUB, embedding

LABELS = ("mug", "pan", "cup", "jug")
SCORES, CONFIDENCES = (3.0, 5.0, 5.0, -1.0), (0.125, 0.25, 0.5, 0.0)
FIELDS = ["label", "confidence", "scores", "nearest", "known_probability", "confidences", "nothing",
          "familiarity", "sure"]  # fmt: skip


def of_numbers() -> Prediction:
    scores, confidences = (
        LabelNumbers(LABELS, np.array(each)).unread() for each in (SCORES, CONFIDENCES)
    )
    return Prediction("pan", 0.25, scores, "pan", 0.9, confidences, familiarity=2.0)


def of_dicts() -> Prediction:
    scores, confidences = (dict(zip(LABELS, each, strict=True)) for each in (SCORES, CONFIDENCES))
    return Prediction("pan", 0.25, scores, "pan", 0.9, confidences, "", 2.0)


def taught(labels: int = 5) -> Learner:
    learner = Learner(STUB, pooling="avg", classifier="slda:scatter=exact,score=cosine")
    for row in range(3 * labels):
        learner.teach_embedding(embedding(row, 24), f"object {row % labels}")
    return learner


def built_dicts(prediction: Prediction) -> set[str]:
    return {name for name in ("scores", "confidences") if type(vars(prediction)[name]) is dict}


def test_a_prediction_builds_its_dict_of_scores_when_it_is_first_read() -> None:
    found = taught().predict_embedding(embedding(99, 24))
    assert not built_dicts(found)
    assert list(found.scores) == [f"object {row}" for row in range(5)]
    assert built_dicts(found) == {"scores"}
    assert found.scores is found.scores
    assert type(found.scores) is type(found.confidences) is dict
    assert all(type(each) is float for each in [*found.scores.values(), found.confidence])
    assert json.loads(json.dumps(found.scores)) == found.scores


def test_the_label_the_best_labels_and_unknown_need_no_dict() -> None:
    def values(found: Prediction) -> tuple[object, ...]:
        return (found.label, found.nearest, found.confidence, found.known_probability,
                found.unknown_probability, found.verdict, found.top(2))  # fmt: skip

    found = taught().predict_embedding(embedding(99, 24))
    unread = values(found)
    assert not built_dicts(found)
    assert values(replace(found)) == unread  # made of dicts


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 9, -1])
def test_the_best_labels_are_the_same_from_arrays_and_from_dicts(number: int) -> None:
    assert of_numbers().top(number) == of_dicts().top(number)
    read = of_numbers()
    assert read.scores
    assert read.top(number) == of_dicts().top(number)


def test_a_dict_that_a_program_changes_changes_what_is_best() -> None:
    found = of_numbers()
    found.scores["jug"], found.confidences["jug"] = 9.0, 0.125
    assert found.top(1) == [("jug", 0.125)]
    assert found.unknown_probability == 0.0


@pytest.mark.parametrize("made", [of_numbers, of_dicts])
def test_both_are_equal_and_shown_alike(made: Callable[[], Prediction]) -> None:
    assert made() == of_numbers() == of_dicts()
    assert made() != replace(made(), confidence=0.5)
    assert repr(made()) == repr(of_dicts())
    assert asdict(made()) == asdict(of_dicts())
    assert list(asdict(made())) == FIELDS
    assert astuple(made()) == astuple(of_dicts())
    assert "scores" in dir(made())


@pytest.mark.parametrize("made", [of_numbers, of_dicts])
def test_both_are_pickled_copied_and_replaced(made: Callable[[], Prediction]) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made(), protocol)) == of_dicts()
    assert copy.copy(made()) == copy.deepcopy(made()) == of_dicts()
    changed = replace(made(), label=None, scores={"mug": 1.0})
    assert (changed.label, changed.scores) == (None, {"mug": 1.0})
    assert changed.confidences == of_dicts().confidences


@pytest.mark.parametrize("made", [of_numbers, of_dicts])
def test_both_are_immutable_and_not_hashable(made: Callable[[], Prediction]) -> None:
    for name in ("label", "scores", "confidences", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(made(), name, {})
        with pytest.raises(FrozenInstanceError):
            delattr(made(), name)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made())


def test_the_constructor_takes_the_fields_in_their_order() -> None:
    assert [each.name for each in fields(Prediction)] == FIELDS
    found = Prediction("cup", 0.75, {"cup": 5.0}, "cup", 0.9, {"cup": 0.75})
    assert (found.nothing, found.familiarity, found.unknown_probability) == ("", 0.0, 0.25)
    with pytest.raises(TypeError, match="confidences"):
        Prediction("cup", 0.75, {"cup": 5.0}, "cup", 0.9)  # type: ignore[call-arg]


def test_a_picture_of_nothing_has_confidences_of_zero() -> None:
    learner = taught()
    black = Embedding(embedding(99, 24), "prediction", nothing="the picture is black")
    found = learner.predict_embedding(black)
    assert (found.verdict, found.label, found.nothing) == ("nothing", None, black.nothing)
    assert found.unknown_probability == 1.0
    assert found.confidences == dict.fromkeys(learner.labels, 0.0)
    assert found.top(1) == [(found.nearest, 0.0)]
    named = learner.predict_embedding(black, false_accept=1)  # then nothing is unknown
    assert (named.label, named.nothing) == (found.nearest, "")


def test_a_prediction_keeps_nothing_of_the_learner_but_its_labels() -> None:
    learner = taught()
    found = learner.predict_embedding(embedding(99, 24))
    snapshot = learner._learned._now
    assert snapshot is not None
    kept = [vars(found)[name] for name in ("scores", "confidences")]
    assert all(each.labels is snapshot.labels for each in kept)
    assert all(each.numbers.base is None and each.numbers.shape == (5,) for each in kept)
    gone = weakref.ref(snapshot)
    del learner, snapshot
    gc.collect()
    assert gone() is None
    assert len(found.scores) == 5


@given(st.lists(st.sampled_from([-2.0, -0.0, 0.0, 0.5, 7.0]), max_size=60), st.integers(-3, 70))
def test_the_best_labels_are_in_the_order_of_a_stable_sort(
    numbers: list[float], number: int
) -> None:
    labels = [str(row) for row in range(len(numbers))]
    found = LabelNumbers(tuple(labels), np.array(numbers))
    named = dict(zip(labels, numbers, strict=True))
    expected = sorted(labels, key=named.__getitem__, reverse=True)[:number]
    assert found.best(number) == [(label, named[label]) for label in expected]
