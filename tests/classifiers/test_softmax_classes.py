"""Softmax classifiers whose number of classes is known from the start, against a plain layer."""

from pathlib import Path

import numpy as np
import pytest

from parity import CLASSES, WIDTH, labelled_stream, stored_samples
from robocle import Learner
from robocle.classifiers import StreamingClassifier, classifier
from robocle.errors import InexactError, LabelError, SpecError, StateError
from stub_backbone import STUB

SPECS = [f"finetune:classes={CLASSES}", f"icarl:classes={CLASSES},buffer=20,variant=published"]


def taught(spec: str, samples: int) -> StreamingClassifier:
    clf = classifier(spec)
    embeddings, rows, _ = labelled_stream()
    for embedding, row in zip(embeddings[:samples], rows[:samples], strict=True):
        clf.learn(embedding, str(row))
    return clf


def test_a_class_that_was_never_taught_has_no_score_but_takes_part_in_every_step() -> None:
    clf, growing = taught(SPECS[0], 15), taught("finetune", 15)
    queries = labelled_stream()[2]
    assert clf.labels == growing.labels == ("0", "1", "2")
    assert clf.scores(queries).shape == (CLASSES, 3)
    assert np.abs(clf.scores(queries) - growing.scores(queries)).max() > 0.01
    clf.learn(np.zeros(WIDTH), "new")
    assert clf.scores(np.zeros((1, WIDTH)))[0, 3] < 0  # its bias was zero at the start


@pytest.mark.parametrize("name", ["finetune", "icarl"])
def test_without_a_number_of_classes_the_softmax_grows(name: str) -> None:
    default, growing = taught(name, 40), taught(f"{name}:classes=growing", 40)
    queries = labelled_stream()[2]
    np.testing.assert_array_equal(default.scores(queries), growing.scores(queries))
    assert classifier(name, classes=7).classes == 7  # type: ignore[attr-defined]
    assert classifier(f"{name}:classes=growing", classes=7).classes == "growing"  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", ["finetune:classes=2", "icarl:classes=2"])
def test_one_label_too_many_is_refused_and_changes_nothing(spec: str) -> None:
    clf = classifier(spec)
    clf.learn([1.0, 0.0], "mug")
    clf.learn([0.0, 1.0], "pan")
    before = clf.scores([[1.0, 1.0]])
    with pytest.raises(LabelError) as error:
        clf.learn([1.0, 1.0], "wok")
    assert str(error.value) == (
        "cannot teach 'wok': with classes=2 there are at most 2 labels; "
        "give more classes, or classes=growing"
    )
    assert error.value.label == "wok"
    assert clf.counts == {"mug": 1, "pan": 1}
    np.testing.assert_array_equal(clf.scores([[1.0, 1.0]]), before)
    clf.learn([1.0, 1.0], "pan")
    clf.forget("mug")
    clf.learn([1.0, 1.0], "wok")
    assert clf.labels == ("pan", "wok")


def test_a_learner_that_refuses_a_label_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with Learner.open(path, STUB, pooling="avg", classifier="finetune:classes=1") as learner:
        learner.teach_embedding([1.0, 0.0], "mug")
        with pytest.raises(LabelError, match="at most 1 label;"):
            learner.teach_embedding([0.0, 1.0], "pan")
        learner.teach_embedding([1.0, 0.5], "mug")
        before = learner.predict_embedding([1.0, 0.0]).scores
    with Learner.open(path, STUB) as learner:
        assert learner.counts == {"mug": 2}
        assert learner.predict_embedding([1.0, 0.0]).scores == before
        learner.undo()
        assert learner.counts == {"mug": 1}


@pytest.mark.parametrize("value", ["0", "-3", "2.5", "all"])
def test_a_number_of_classes_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(SpecError, match="classes"):
        classifier(f"finetune:classes={value}")


def test_a_state_with_more_labels_than_classes_is_refused_and_changes_nothing() -> None:
    clf = classifier("finetune:classes=2").learn_one([1.0, 0.0], "mug")
    refused = "state does not fit this classifier: .* classes=2 there are at most 2 labels"
    with pytest.raises(StateError, match=refused):
        clf.restore(taught("finetune", 15).state())
    other = classifier("finetune:classes=2").learn_one([1, 0], "pan").learn_one([0, 1], "wok")
    with pytest.raises(InexactError, match=f"these classifiers cannot be merged: {refused}"):
        clf.merge(other)
    assert clf.counts == {"mug": 1}


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ("icarl:buffer=30,variant=published", 29),
        ("icarl:buffer=30", 30),
        ("icarl:per_class=2,classes=12,variant=published", 23),
        ("icarl:per_class=2,variant=published", 23),
        ("icarl:per_class=2,classes=20,variant=published", 39),
        ("icarl:per_class=2", 24),
        ("icarl:buffer=1,variant=published", 0),
    ],
)
def test_the_published_buffer_holds_one_sample_less_than_its_size(spec: str, most: int) -> None:
    assert len(stored_samples(taught(spec, 150))) == most
