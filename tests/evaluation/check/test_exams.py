"""Who is asked about which picture, and who was taught it."""

from pathlib import Path

import numpy as np
import pytest

from robocle.backbones import Backbone
from robocle.evaluation.check.exams import MOST_ROUNDS, left_out_exams, rounds
from robocle.learner import Learner
from robocle.types import Example

COUNTS = {"mug": 2, "ball": 3, "box": 5, "keys": 13}


def examples(counts: dict[str, int]) -> list[Example]:
    return [
        Example(Path(label) / f"{number}.jpg", label)
        for label, count in counts.items()
        for number in range(count)
    ]


def test_every_picture_is_left_out_once() -> None:
    pictures = examples(COUNTS)
    parts = rounds(pictures)
    assert len(parts) == MOST_ROUNDS
    assert sorted(str(each.path) for part in parts for each in part) == sorted(
        str(each.path) for each in pictures
    )


def test_some_pictures_of_every_label_are_taught_in_every_round() -> None:
    for part in rounds(examples(COUNTS)):
        for label, count in COUNTS.items():
            assert sum(picture.label == label for picture in part) < count


def test_labels_of_two_pictures_need_two_rounds() -> None:
    assert [len(part) for part in rounds(examples({"mug": 2, "ball": 2}))] == [2, 2]


def test_neighbours_are_left_out_together() -> None:
    numbers = [
        int(picture.path.stem)
        for part in rounds(examples(COUNTS))
        for picture in part
        if picture.label == "keys"
    ]
    assert numbers == list(range(13))


def test_a_learner_was_taught_all_pictures_but_those_it_is_asked_about(lite0: Backbone) -> None:
    rng = np.random.default_rng(0)
    lessons = {each: rng.random(12, np.float32) for each in examples(COUNTS)}
    part_of = {picture: part for part in rounds(list(lessons)) for picture in part}
    asked = []
    for learner, picture in left_out_exams(lessons, lite0):
        alone = Learner(lite0)
        for other, vector in lessons.items():
            if other not in part_of[picture]:
                alone.teach_embedding(vector, other.label)
        seen, expected = (each.predict_embedding(lessons[picture]) for each in (learner, alone))
        assert learner.counts == alone.counts
        assert seen.scores == pytest.approx(expected.scores)
        asked.append(picture)
    assert sorted(asked, key=str) == sorted(lessons, key=str)
