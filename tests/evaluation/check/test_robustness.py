"""Which learner is tested on which picture, and what it was taught."""

from pathlib import Path

import numpy as np
import pytest

from robocle.backbones import Backbone
from robocle.evaluation.check import MAX_FOLDS, cross_validation_tests, folds
from robocle.learner import Learner
from robocle.types import Example

COUNTS = {"mug": 2, "ball": 3, "box": 5, "keys": 13}


def examples(counts: dict[str, int]) -> list[Example]:
    return [
        Example(Path(label) / f"{number}.jpg", label)
        for label, count in counts.items()
        for number in range(count)
    ]


def test_every_picture_is_in_one_fold() -> None:
    pictures = examples(COUNTS)
    found = folds(pictures)
    assert len(found) == MAX_FOLDS
    assert sorted(str(each.path) for fold in found for each in fold) == sorted(
        str(each.path) for each in pictures
    )


def test_no_fold_holds_all_pictures_of_a_label() -> None:
    for fold in folds(examples(COUNTS)):
        for label, count in COUNTS.items():
            assert sum(picture.label == label for picture in fold) < count


def test_labels_with_two_pictures_need_two_folds() -> None:
    assert [len(fold) for fold in folds(examples({"mug": 2, "ball": 2}))] == [2, 2]


def test_neighbours_are_in_the_same_fold() -> None:
    numbers = [
        int(picture.path.stem)
        for fold in folds(examples(COUNTS))
        for picture in fold
        if picture.label == "keys"
    ]
    assert numbers == list(range(13))


def test_a_learner_was_taught_all_folds_but_the_one_it_is_tested_on(lite0: Backbone) -> None:
    rng = np.random.default_rng(0)
    embeddings = {each: rng.random(12, np.float32) for each in examples(COUNTS)}
    fold_of = {picture: fold for fold in folds(list(embeddings)) for picture in fold}
    tested = []
    for test in cross_validation_tests(embeddings, lite0):
        alone = Learner(lite0)
        for other, embedding in embeddings.items():
            if other not in fold_of[test.picture]:
                alone.teach_embedding(embedding, other.label)
        found, expected = (
            learner.predict_embedding(embeddings[test.picture]) for learner in (test.learner, alone)
        )
        assert test.learner.counts == alone.counts
        assert found.scores == pytest.approx(expected.scores)
        tested.append(test.picture)
    assert sorted(tested, key=str) == sorted(embeddings, key=str)
