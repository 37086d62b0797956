"""Readiness of labels that are far apart, close together, or shown once."""

import numpy as np
import pytest

from robocle.classifiers import classifier
from robocle.recognition.readiness import LabelReadiness, Readiness, readiness

WIDTH = 40


def taught(*lessons: tuple[str, float, int]) -> Readiness:
    """Labels with a place on the line they lie on, and how often each is shown."""
    rng = np.random.default_rng(0)
    axes = {label: rng.normal(size=WIDTH) for label, _, _ in lessons}
    clf = classifier("slda:score=cosine")
    first = next(iter(axes.values()))
    for label, apart, shots in lessons:
        centre = first + apart * axes[label]
        for _ in range(shots):
            clf.learn(centre + rng.normal(size=WIDTH), label)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    return readiness(clf.counts, leave_one_out)


def test_labels_far_apart_are_ready_and_not_confused() -> None:
    found = taught(("mug", 4, 5), ("book", 4, 5), ("lamp", 4, 5))
    assert [each.label for each in found.labels] == ["mug", "book", "lamp"]
    assert all(each.is_ready and each.recognised == each.left_out == 5 for each in found.labels)
    assert all(each.advice == "" for each in found.labels)
    assert found.confusable == ()


def test_two_labels_that_look_alike_are_named_and_not_ready() -> None:
    found = taught(("mug", 0.05, 6), ("cup", 0.05, 6), ("lamp", 5, 6), ("book", 5, 6))
    worst = found.confusable[0]
    assert {worst.label, worst.other} == {"mug", "cup"}
    assert 0.1 <= worst.likelihood <= 1
    assert worst.advice == "mug <-> cup: teach two more pictures of each, turned or moved"
    ready = {each.label: each.is_ready for each in found.labels}
    assert not (ready["mug"] and ready["cup"])
    assert ready["lamp"]
    assert ready["book"]


def test_the_only_picture_of_a_label_cannot_be_left_out() -> None:
    found = taught(("mug", 4, 1), ("book", 4, 3))
    mug, book = found.labels
    assert (mug.pictures, mug.left_out, mug.is_ready) == (1, 0, False)
    assert mug.advice == "teach another picture: a single one cannot be left out"
    assert book.is_ready


@pytest.mark.parametrize("shots", [1, 4])
def test_a_single_label_is_confused_with_nothing(shots: int) -> None:
    assert taught(("mug", 1, shots)).confusable == ()


def test_the_readiness_of_a_label_is_unknown_if_none_of_its_pictures_can_be_left_out() -> None:
    label = LabelReadiness("mug", pictures=300, left_out=0, recognised=0)
    assert "its readiness is unknown" in label.advice
