"""The readiness of labels that are far apart, close together, or taught once."""

import numpy as np
import pytest

from robocle.classifiers import classifier
from robocle.recognition.decision import Decision
from robocle.recognition.readiness import LabelReadiness, Readiness, readiness_of

WIDTH = 40


def readiness(*labels: tuple[str, float, int]) -> Readiness:
    """Return the readiness after teaching labels, each with its distance and number of shots.

    The distance is that of the label's centre from a centre that all labels share.
    """
    rng = np.random.default_rng(0)
    directions = {label: rng.normal(size=WIDTH) for label, _, _ in labels}
    clf = classifier("slda:score=cosine")
    shared = next(iter(directions.values()))
    for label, apart, shots in labels:
        centre = shared + apart * directions[label]
        for _ in range(shots):
            clf.learn(centre + rng.normal(size=WIDTH), label)
    found = readiness_of(clf, Decision.of(clf.answer(), None))
    assert found is not None
    return found


def test_labels_far_apart_are_ready_and_not_confusable() -> None:
    found = readiness(("mug", 4, 5), ("book", 4, 5), ("lamp", 4, 5))
    assert [each.label for each in found.labels] == ["mug", "book", "lamp"]
    assert all(each.is_ready and each.recognised == each.left_out == 5 for each in found.labels)
    assert all(each.advice == "" for each in found.labels)
    assert found.confusable == ()


def test_two_similar_labels_are_listed_as_confusable_and_not_ready() -> None:
    found = readiness(("mug", 0.05, 6), ("cup", 0.05, 6), ("lamp", 5, 6), ("book", 5, 6))
    worst = found.confusable[0]
    assert {worst.label, worst.other} == {"mug", "cup"}
    assert 0.1 <= worst.likelihood <= 1
    assert worst.advice == "mug <-> cup: teach two more pictures of each, turned or moved"
    ready = {each.label: each.is_ready for each in found.labels}
    assert not (ready["mug"] and ready["cup"])
    assert ready["lamp"]
    assert ready["book"]


def test_a_label_taught_once_is_not_ready() -> None:
    found = readiness(("mug", 4, 1), ("book", 4, 3))
    mug, book = found.labels
    assert (mug.pictures, mug.left_out, mug.is_ready) == (1, 0, False)
    assert mug.advice == "teach another picture: a single one cannot be left out"
    assert book.is_ready


@pytest.mark.parametrize("shots", [1, 4])
def test_a_single_label_is_not_confusable(shots: int) -> None:
    assert readiness(("mug", 1, shots)).confusable == ()


def test_a_label_without_leave_one_out_scores_is_not_judged() -> None:
    label = LabelReadiness("mug", pictures=300, left_out=0, recognised=0)
    assert "its readiness is unknown" in label.advice
