"""The learner end to end, on the shipped pictures and the real backbone."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import robocle
from robocle.backbones import Backbone
from robocle.demo.pictures import DemoPicture, home_pictures
from robocle.errors import ImageError, LabelError, NothingTaughtError

CATEGORIES = ("mug", "clock", "banana", "keyboard")


@pytest.fixture(scope="module")
def pictures() -> list[DemoPicture]:
    return [picture for picture in home_pictures() if picture.category in CATEGORIES]


@pytest.fixture
def learner(lite0: Backbone, pictures: list[DemoPicture]) -> robocle.Learner:
    learner = robocle.Learner(backbone=lite0)
    for picture in pictures:
        if picture.is_taught:
            learner.teach(picture.path, picture.category)
    return learner


def test_five_pictures_of_each_thing_are_enough_to_recognise_it_in_other_light(
    learner: robocle.Learner, pictures: list[DemoPicture]
) -> None:
    asked = [p for p in pictures if p.condition == "illumination" and not p.is_other_thing]
    right = [learner.predict(picture.path).label == picture.category for picture in asked]
    assert len(right) >= 8
    assert np.mean(right) >= 0.8


def test_a_prediction_names_the_best_of_all_scores(
    learner: robocle.Learner, pictures: list[DemoPicture]
) -> None:
    prediction = learner.predict(pictures[-1].path)
    assert set(prediction.scores) == set(CATEGORIES)
    assert prediction.label == max(prediction.scores, key=lambda label: prediction.scores[label])
    assert 1 / len(CATEGORIES) <= prediction.confidence <= 1


def test_paths_pil_images_and_arrays_can_be_taught_and_asked(lite0: Backbone) -> None:
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    learner = robocle.Learner(backbone=lite0)
    learner.teach(frame, "noise")
    learner.teach(Image.fromarray(frame), "noise")
    assert learner.counts == {"noise": 2}
    np.testing.assert_array_equal(learner.embed(frame), learner.embed(Image.fromarray(frame)))


def test_a_saved_learner_answers_and_learns_on_as_the_first(
    learner: robocle.Learner, pictures: list[DemoPicture], lite0: Backbone, tmp_path: Path
) -> None:
    learner.save(tmp_path / "home.robocle")
    loaded = robocle.Learner.load(tmp_path / "home.robocle", backbone=lite0)
    assert loaded.parts == learner.parts
    for each in (learner, loaded):
        each.teach(pictures[-1].path, "something new")
    for picture in pictures[::20]:
        first, second = learner.predict(picture.path), loaded.predict(picture.path)
        assert first.label == second.label
        assert list(first.scores.values()) == pytest.approx(list(second.scores.values()))


def test_a_learner_loads_its_backbone_by_itself(learner: robocle.Learner, tmp_path: Path) -> None:
    learner.save(tmp_path / "home.robocle")
    assert robocle.Learner.load(tmp_path / "home.robocle").labels == learner.labels


def test_a_refused_picture_or_label_changes_nothing(
    learner: robocle.Learner, pictures: list[DemoPicture], tmp_path: Path
) -> None:
    before, counts = learner.predict(pictures[0].path), learner.counts
    (tmp_path / "not.jpg").write_text("not a picture")
    with pytest.raises(ImageError):
        learner.teach(tmp_path / "not.jpg", "mug")
    with pytest.raises(LabelError):
        learner.teach(pictures[0].path, "")
    assert learner.counts == counts
    assert learner.predict(pictures[0].path) == before


def test_asking_before_teaching_says_so(lite0: Backbone, pictures: list[DemoPicture]) -> None:
    with pytest.raises(NothingTaughtError, match="nothing has been taught"):
        robocle.Learner(backbone=lite0).predict(pictures[0].path)


def test_labels_can_be_renamed_and_forgotten(
    learner: robocle.Learner, pictures: list[DemoPicture]
) -> None:
    learner.rename("mug", "my cup")
    learner.forget("clock")
    assert set(learner.labels) == {"my cup", "banana", "keyboard"}
    asked = next(p for p in pictures if p.category == "mug" and not p.is_taught)
    assert learner.predict(asked.path).label == "my cup"


def test_the_public_names_are_these() -> None:
    assert sorted(robocle.__all__) == [
        "FeatureMaps",
        "Learner",
        "Prediction",
        "RobocleError",
        "backbone",
        "classifier",
        "pooling",
    ]
    assert all(hasattr(robocle, name) for name in robocle.__all__)
