"""Many pictures at once give what they give one by one, in the same order."""

import threading
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.demo import home_pictures
from robocle.errors import (
    FeatureError,
    ImageError,
    LabelError,
    QualityError,
    SpecError,
)
from robocle.learner.embedding import LARGEST_TAUGHT, in_order
from stub_backbone import STUB, embedding

CATEGORIES = ("mug", "clock", "banana")
LESSONS = [
    (picture.path, picture.category)
    for picture in home_pictures()
    if picture.category in CATEGORIES and picture.is_taught
]
PATHS, LABELS = [path for path, _ in LESSONS], [label for _, label in LESSONS]
TESTED = [p.path for p in home_pictures() if p.category in CATEGORIES and not p.is_taught][::9]


@pytest.fixture(scope="module")
def one_by_one(lite0: Backbone) -> Learner:
    learner = Learner(lite0)
    for path, label in LESSONS:
        learner.teach(path, label)
    return learner


@pytest.mark.slow
@pytest.mark.parametrize(("batch_size", "threads"), [(1, 1), (4, 1), (3, 2), (64, 3)])
def test_pictures_taught_and_predicted_together_give_the_same_predictions(
    batch_size: int, threads: int, lite0: Backbone, one_by_one: Learner
) -> None:
    learner = Learner(lite0)
    complaints = learner.teach_many(PATHS, LABELS, batch_size=batch_size, threads=threads)
    assert len(complaints) == len(PATHS)
    assert learner.labels == one_by_one.labels
    assert learner.counts == one_by_one.counts
    found = learner.predict_many(TESTED, batch_size=batch_size, threads=threads)
    expected = [one_by_one.predict(path) for path in TESTED]
    assert [each.label for each in found] == [each.label for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-4)


def test_one_unusable_picture_and_nothing_is_taught(lite0: Backbone, tmp_path: Path) -> None:
    learner = Learner(lite0)
    (tmp_path / "not.jpg").write_text("not a picture")
    with pytest.raises(ImageError):
        learner.teach_many([*PATHS, tmp_path / "not.jpg"], [*LABELS, "mug"], threads=2)
    with pytest.raises(LabelError):
        learner.teach_many(PATHS[:2], ["mug", ""])
    with pytest.raises(FeatureError, match="15 pictures and 14 labels"):
        learner.teach_many(PATHS, LABELS[:-1])
    with pytest.raises(QualityError, match="almost the same as the last picture of 'mug'"):
        learner.teach_many([PATHS[0], PATHS[0]], ["mug", "mug"], poor="refuse")
    assert learner.labels == ()


def test_one_label_or_picture_in_place_of_a_list_is_refused(lite0: Backbone) -> None:
    learner = Learner(lite0)
    with pytest.raises(LabelError, match="'mug': give a list of labels"):
        learner.teach_many(PATHS[:3], "mug")
    for single in (PATHS[0], str(PATHS[0])):
        with pytest.raises(ImageError, match="single picture: give a list"):
            learner.teach_many(single, ["mug"] * len(str(single)))  # type: ignore[arg-type]
    assert learner.labels == ()


def test_missing_labels_are_found_before_pictures_are_read(lite0: Backbone) -> None:
    with pytest.raises(FeatureError, match="1 picture and 2 labels"):
        Learner(lite0).teach_many(["missing.jpg"], ["mug", "mug"])


def test_labels_from_a_numpy_array_become_plain_text(lite0: Backbone) -> None:
    learner = Learner(lite0)
    learner.teach_many(PATHS[:1], np.array(["mug"]))
    learner.teach_embedding(learner.embed_for_teaching(PATHS[1]), np.str_("cup"))
    assert [type(label) for label in learner.labels] == [str, str]


def test_boxes_go_with_their_pictures(lite0: Backbone, one_by_one: Learner) -> None:
    box = (40, 40, 150, 150)
    found = one_by_one.predict_many(TESTED[:2], boxes=[None, box])
    assert found[0].scores == pytest.approx(one_by_one.predict(TESTED[0]).scores, rel=1e-4)
    assert found[1].scores == pytest.approx(one_by_one.predict(TESTED[1], box=box).scores, rel=1e-4)
    assert found[1].scores != pytest.approx(one_by_one.predict(TESTED[1]).scores, rel=1e-2)
    with pytest.raises(FeatureError, match="one box per picture"):
        one_by_one.predict_many(TESTED[:2], boxes=[box])


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 0}, {"batch_size": 1.5}, {"threads": 0}, {"threads": 1000}, {"threads": "2"}],
)
def test_impossible_batches_and_threads_are_refused(
    options: dict[str, Any], one_by_one: Learner
) -> None:
    with pytest.raises(SpecError, match=r"out of range|is not a whole number: give 1 to"):
        one_by_one.predict_many(TESTED, **options)


@pytest.mark.parametrize(
    "wrong", ["mug.jpg", Path("mug.jpg"), None, [[1.0, 2.0, 3.0]], [1j, 2j, 3j]]
)
def test_only_a_row_of_numbers_is_an_embedding(wrong: Any, lite0: Backbone) -> None:
    learner = Learner(lite0)
    learner.teach_embedding([1.0, 2.0, 3.0], "mug")
    with pytest.raises(FeatureError, match="expected an embedding"):
        learner.teach_embedding(wrong, "mug")
    with pytest.raises(FeatureError, match="expected an embedding"):
        learner.predict_embedding(wrong)
    assert learner.counts == {"mug": 1}


@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_embeddings_up_to_the_limit_can_be_taught_stored_and_predicted(
    classifier: str, tmp_path: Path
) -> None:
    learner = Learner(STUB, pooling="avg", classifier=classifier)
    for number in range(12):
        values = embedding(number, 24).astype(float)
        learner.teach_embedding(values / values.max() * LARGEST_TAUGHT, "abc"[number % 3])
    for sign in (1, -1):
        wrong = np.full(24, sign * 1.01 * LARGEST_TAUGHT)
        for use in (learner.predict_embedding, lambda z: learner.teach_embedding(z, "a")):
            with pytest.raises(FeatureError, match=r"value of size 1.01e\+30: scale embeddings"):
                use(wrong)
    learner.save(tmp_path / "large")
    loaded = Learner.load(tmp_path / "large", STUB)
    assert loaded.predict_embedding(np.full(24, LARGEST_TAUGHT)).scores.keys() == {"a", "b", "c"}


def test_an_embedding_is_used_for_what_it_was_made_for(lite0: Backbone) -> None:
    learner = Learner(lite0)
    to_teach = learner.embed_for_teaching(PATHS[0])
    to_predict = learner.embed_for_prediction(PATHS[0])
    with pytest.raises(FeatureError, match="made for prediction, not for teaching"):
        learner.teach_embedding(to_predict, "mug")
    learner.teach_embedding(to_teach, "mug")
    learner.teach_embedding(np.ones_like(to_teach), "ones")
    with pytest.raises(FeatureError, match="made for teaching, not for prediction"):
        learner.predict_embedding(to_teach)
    assert learner.predict_embedding(to_predict).nearest == "mug"
    assert learner.predict_embedding(to_predict.values).nearest == "mug"
    kept = learner.last_embedding("mug")
    assert kept is not None
    assert np.array_equal(kept, to_teach)


def test_work_on_threads_keeps_the_order_and_a_short_queue() -> None:
    drawn: list[int] = []
    done: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(40):
            assert number - len(done) <= 2 * 3
            drawn.append(number)
            yield number

    for outcome in in_order(lambda number: (number, threading.get_ident()), numbers(), threads=3):
        done.append(outcome[0])
    assert done == drawn == list(range(40))


def test_an_error_on_a_thread_is_raised_in_its_turn() -> None:
    outcomes = in_order(lambda number: 1 / (2 - number), range(9), threads=2)
    assert next(outcomes) == 0.5
    assert next(outcomes) == 1
    with pytest.raises(ZeroDivisionError):
        next(outcomes)


@pytest.mark.parametrize("pictures", [PATHS[:2], iter(PATHS[:2])], ids=["list", "iterator"])
def test_labels_without_an_end_are_refused(pictures: Iterable[Path], lite0: Backbone) -> None:
    with pytest.raises(FeatureError, match="there are 2 pictures and more labels"):
        Learner(lite0).teach_many(pictures, repeat("mug"))
