"""Explanations of predictions, with the default backbone and pictures of the rendered home."""

from pathlib import Path

import numpy as np
import pytest

import robocle
from robocle import Learner, NothingTaughtError, SpecError
from robocle.backbones import Backbone
from robocle.classifiers import classifier
from robocle.images import read
from robocle.poolings import pooling
from robocle.recognition.explanation import heat_of, position_shares
from robocle.types import FeatureMaps

CLEAN = Path(robocle.__file__).parent / "demo/home/clean"


@pytest.fixture(scope="module")
def learner(lite0: Backbone) -> Learner:
    taught = Learner(lite0)
    for label in ("mug", "clock", "banana", "book"):
        for number in range(2):
            taught.teach(CLEAN / f"{label}_01" / f"{number}.jpg", label)
    return taught


def test_probabilities_of_the_nearest_labels_of_others_and_of_unknown_sum_to_one(
    learner: Learner,
) -> None:
    for name in ("mug_01/5.jpg", "scissors_01/0.jpg"):
        found = learner.explain(CLEAN / name, top=2)
        assert len(found.confidences) == 2
        total = sum(found.confidences.values()) + found.others + found.unknown_probability
        assert total == pytest.approx(1)
        assert list(found.confidences.values()) == sorted(found.confidences.values())[::-1]


def test_a_recognised_object_needs_no_reason(learner: Learner) -> None:
    found = learner.explain(CLEAN / "mug_01/5.jpg")
    assert (found.prediction.label, found.reason) == ("mug", "")
    predicted = learner.predict(CLEAN / "mug_01/5.jpg")
    assert found.prediction.label == predicted.label
    assert found.prediction.scores == pytest.approx(predicted.scores)


def test_an_unknown_object_has_a_reason_in_one_line(learner: Learner) -> None:
    found = learner.explain(CLEAN / "teddy_01/0.jpg")
    assert found.prediction.label is None
    assert repr(found.prediction.nearest) in found.reason
    assert found.reason.splitlines() == [found.reason]


def test_noise_looks_less_like_a_label_than_most_of_the_world(learner: Learner) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (224, 224, 3), np.uint8)
    assert "% of unrelated pictures look more like" in learner.explain(noise).reason


def test_a_black_picture_has_nothing_to_see(learner: Learner) -> None:
    found = learner.explain(np.zeros((240, 320, 3), np.uint8))
    assert found.reason == "there is nothing to see: the picture is black"
    assert found.unknown_probability == 1


def test_the_heat_is_where_the_object_is(learner: Learner) -> None:
    """A mug in the right half of an empty picture."""
    mug = read(CLEAN / "mug_01/5.jpg", 112).pixels
    canvas = np.full((224, 224, 3), mug[0, 0], np.uint8)
    canvas[56:168, 112:] = mug
    heat = learner.explain(canvas).heat
    assert heat is not None
    assert heat.shape == (7, 7)
    assert heat.max() == 1
    assert heat.min() >= 0
    assert heat[:, 4:].sum() > 2 * heat[:, :3].sum()


def test_the_heat_of_a_nearer_look_is_put_where_it_is_in_the_picture(
    learner: Learner, lite0: Backbone
) -> None:
    near = Learner(lite0, prediction_views="centre:shares=0.5")
    near.merge(learner)
    heat = near.explain(CLEAN / "mug_01/5.jpg").heat
    assert heat is not None
    inner = heat[2:5, 2:5]
    assert inner.max() > 0.2
    assert heat.sum() == pytest.approx(inner.sum())


@pytest.mark.parametrize("spec", ["avg", "moments:r=2", "focus:r=2,window=0.3,earlier=0"])
def test_the_shares_of_all_positions_sum_to_the_mean_blocks_part_of_the_score(spec: str) -> None:
    rng = np.random.default_rng(0)
    grid = np.abs(rng.normal(size=(25, 6))).astype(np.float32)
    embedding = pooling(spec)(FeatureMaps(grid[None]))[0]
    weights = rng.normal(size=len(embedding))
    shares = position_shares(pooling(spec), grid, weights)
    assert shares is not None
    assert shares.sum() == pytest.approx(float(embedding[:6] @ weights[:6]), rel=1e-5)


def test_poolings_without_a_mean_and_maps_that_are_no_square_have_no_heat() -> None:
    grid, clf = np.ones((9, 4), np.float32), classifier("ncm")
    clf.learn(np.ones(4), "mug")
    assert heat_of(clf, "mug", pooling("avg"), grid, None) is not None
    assert heat_of(clf, "mug", pooling("avg"), grid[:6], None) is None
    assert heat_of(clf, "mug", pooling("max"), grid, None) is None
    # Another thread may have forgotten the label.
    assert heat_of(clf, "pan", pooling("avg"), grid, None) is None


def test_a_classifier_without_linear_scores_has_no_heat(lite0: Backbone) -> None:
    learner = Learner(lite0, classifier="sqda")
    learner.teach(CLEAN / "mug_01/0.jpg", "mug")
    assert learner.explain(CLEAN / "mug_01/1.jpg").heat is None


def test_bad_input_is_refused(learner: Learner, lite0: Backbone) -> None:
    with pytest.raises(NothingTaughtError):
        Learner(lite0).explain(CLEAN / "mug_01/0.jpg")
    with pytest.raises(SpecError, match="top"):
        learner.explain(CLEAN / "mug_01/0.jpg", top=0)
