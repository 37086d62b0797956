"""The learner end to end, with the shipped pictures and the default backbone."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robocle
from refusal import Refusal
from robocle.backbones import Backbone
from robocle.demo import DemoPicture, home_pictures
from robocle.errors import (
    FeatureError,
    NothingTaughtError,
    QualityError,
    RobocleError,
    SpecError,
    StateError,
)

CATEGORIES = ("mug", "clock", "banana", "keyboard")


@pytest.fixture(scope="module")
def pictures() -> list[DemoPicture]:
    """All shipped pictures of four categories."""
    return [picture for picture in home_pictures() if picture.category in CATEGORIES]


@pytest.fixture
def learner(lite0: Backbone, pictures: list[DemoPicture]) -> robocle.Learner:
    """A default learner that was taught five pictures per category."""
    learner = robocle.Learner(backbone=lite0)
    for picture in pictures:
        if picture.is_taught:
            learner.teach(picture.path, picture.category)
    return learner


def test_an_object_taught_with_five_pictures_is_recognised_in_other_light(
    learner: robocle.Learner, pictures: list[DemoPicture]
) -> None:
    tested = [p for p in pictures if p.condition == "illumination" and not p.is_other_instance]
    right = [learner.predict(picture.path).label == picture.category for picture in tested]
    assert len(right) >= 8
    assert np.mean(right) >= 0.8


def test_predicting_before_teaching_raises(lite0: Backbone, pictures: list[DemoPicture]) -> None:
    with pytest.raises(NothingTaughtError, match="nothing has been taught"):
        robocle.Learner(backbone=lite0).predict(pictures[0].path)


@pytest.mark.slow
def test_objects_that_were_not_taught_are_often_unknown_and_taught_ones_seldom(
    learner: robocle.Learner, pictures: list[DemoPicture]
) -> None:
    others = [p for p in home_pictures() if p.category not in CATEGORIES and p.condition == "clean"]
    known = [p for p in pictures if p.condition == "clean" and not p.is_other_instance]
    detected = [learner.predict(picture.path).label is None for picture in others[::5]]
    assert np.mean(detected) > 0.4
    rejected = [learner.predict(picture.path).label is None for picture in known]
    assert np.mean(rejected) < 0.1


def test_the_prediction_of_an_unknown_object_has_a_nearest_label(
    learner: robocle.Learner,
) -> None:
    lamps = [p.path for p in home_pictures() if p.category == "lamp" and p.condition == "clean"]
    path = next(path for path in lamps if learner.predict(path).label is None)
    found = learner.predict(path)
    assert found.nearest == max(found.scores, key=lambda label: found.scores[label])
    assert 0 <= found.confidence <= 1
    assert 0 <= found.known_probability <= 1
    assert learner.predict(path, false_accept=1).label == found.nearest


def test_a_taught_picture_is_embedded_in_the_views_of_the_learner(
    lite0: Backbone, pictures: list[DemoPicture]
) -> None:
    plain = robocle.Learner(lite0, views="plain", prediction_views="plain")
    centred = robocle.Learner(lite0, views="centre:shares=1/0.5", prediction_views="plain")
    path = pictures[0].path
    to_predict = plain.embed_for_prediction(path)
    assert np.allclose(plain.embed_for_teaching(path), to_predict, rtol=1e-5, atol=1e-6)
    assert not np.allclose(centred.embed_for_teaching(path), to_predict, rtol=1e-2)
    assert np.array_equal(centred.embed_for_prediction(path), to_predict)


def test_a_poor_picture_is_refused_skipped_taught_with_a_warning_or_accepted(
    lite0: Backbone, caplog: pytest.LogCaptureFixture
) -> None:
    learner, night = robocle.Learner(lite0), np.full((90, 90, 3), 3, np.uint8)
    with pytest.raises(QualityError, match="very dark"):
        learner.teach(night, "mug", poor="refuse")
    assert [each.kind for each in learner.teach(night, "mug", poor="skip")] == ["dark"]
    assert learner.labels == ()
    assert "skipped: mug: the picture is very dark" in caplog.text
    assert [each.kind for each in learner.teach(night, "mug")] == ["dark"]
    assert caplog.messages[-1].startswith("mug: the picture is very dark")
    assert [each.kind for each in learner.teach(night, "mug")] == ["dark", "duplicate"]
    assert learner.teach(night, "mug", poor="accept") == ()
    with pytest.raises(SpecError, match="poor=maybe"):
        learner.teach(night, "mug", poor="maybe")  # type: ignore[arg-type]


def test_an_embedding_of_another_width_is_refused(lite0: Backbone) -> None:
    learner = robocle.Learner(lite0, pooling="avg", classifier="ncm")
    learner.teach_embedding(np.ones(6, np.float32), "mug")
    with pytest.raises(FeatureError, match="width"):
        learner.teach(np.full((90, 90, 3), 99, np.uint8), "mug")


def test_arguments_of_a_wrong_type_are_refused(lite0: Backbone) -> None:
    wrong: Any = 3
    with pytest.raises(StateError, match="only a learner can be merged"):
        robocle.Learner(lite0).merge(wrong)
    with pytest.raises(SpecError, match="a spec is text"):
        robocle.Learner(lite0, pooling=wrong)


@pytest.mark.parametrize("path", ["home.robocle", "pets", "folder/state", Path("home")])
def test_a_path_in_the_place_of_the_backbone_says_how_to_open_a_file(
    path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pets").touch()
    expected = f"{path} is not a backbone: use Learner.open({str(path)!r})"
    assert refusal(SpecError, lambda: robocle.Learner(path)) == expected
    assert "did you mean" in refusal(SpecError, lambda: robocle.Learner("efficientnet_lite"))


def test_a_learner_refuses_to_be_pickled_and_its_values_do_not(learner: robocle.Learner) -> None:
    with pytest.raises(TypeError, match="cannot be pickled: save it and open it there"):
        pickle.dumps(learner)
    picture = home_pictures()[0].path
    said = robocle.TemporalFilter().update(learner.predict(picture))
    values = [learner.predict(picture), said, learner.parts, learner.readiness(), *learner.samples]
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == value
    explained = pickle.loads(pickle.dumps(learner.explain(picture)))
    assert explained.prediction == values[0]
    embedded = learner.embed_for_prediction(picture)
    assert np.array_equal(pickle.loads(pickle.dumps(embedded)), embedded)


def test_the_repr_of_a_learner_is_one_short_line(lite0: Backbone, tmp_path: Path) -> None:
    with robocle.Learner.open(tmp_path / "home.robocle", lite0) as opened:
        opened.teach_embedding(np.ones(6), "mug")
        parts = "efficientnet_lite0, focus, slda"
        expected = f"<Learner: 1 label, 1 picture; {parts}; in {tmp_path / 'home.robocle'}>"
        assert repr(opened) == expected


def test_the_public_names_are_these() -> None:
    errors = {
        name
        for name, value in vars(robocle.errors).items()
        if isinstance(value, type) and issubclass(value, RobocleError)
    }
    assert set(robocle.__all__) - errors == {
        *("Announcement", "Camera", "Complaint", "Embedding", "Explanation", "FeatureMaps"),
        *("Find", "Finder", "Frame", "Learner", "Parts", "Prediction", "Readiness"),
        *("StreamingClassifier", "TaughtSample", "TemporalFilter", "Track", "Tracker"),
        *("backbone", "classifier", "finder", "open_camera", "pooling"),
    }
    assert errors < set(robocle.__all__)
    assert set(robocle.__all__) <= set(dir(robocle))
    assert all(hasattr(robocle, name) for name in robocle.__all__)
    with pytest.raises(AttributeError, match="no attribute 'teach'"):
        robocle.teach  # noqa: B018


def test_importing_robocle_does_not_import_numpy() -> None:
    code = "import robocle, sys; print('numpy' in sys.modules); robocle.pooling('avg')"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert printed.stdout.strip() == b"False"
