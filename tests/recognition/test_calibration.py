"""Thresholds, probabilities and confidence, for embeddings drawn from known distributions."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import classifier
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import SpecError
from robocle.evaluation.metrics import area_under_curve, calibration_error
from robocle.recognition.calibration import KNOWN_PRIOR, Calibration, recognise

Array = NDArray[np.float64]
WIDTH = 60
COSINE = "slda:score=cosine"


class World:
    """Objects whose embeddings are normally distributed around centres."""

    def __init__(self, objects: int, apart: float, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = apart * self._rng.normal(size=(objects, WIDTH))

    def embeddings(self, number: int, pictures: int) -> Array:
        """Return embeddings of new pictures of an object."""
        noise = self._rng.normal(size=(pictures, WIDTH))
        found: Array = self._centres[number] + noise
        return found

    def taught(self, objects: int, shots: int) -> StreamingClassifier:
        """Return a classifier that was taught the first objects, labelled by their numbers."""
        clf = classifier(COSINE)
        for number in range(objects):
            for embedding in self.embeddings(number, shots):
                clf.learn(embedding, str(number))
        return clf

    def best_scores(self, clf: StreamingClassifier, numbers: range, pictures: int) -> Array:
        """Return the best score of each of several new pictures per object."""
        embeddings = np.vstack([self.embeddings(number, pictures) for number in numbers])
        best: Array = clf.scores(embeddings).max(axis=1)
        return best


def calibration_or_none(clf: StreamingClassifier) -> Calibration | None:
    answer = clf.answer()
    assert answer is not None
    return Calibration.of(answer)


def calibration_of(clf: StreamingClassifier) -> Calibration:
    found = calibration_or_none(clf)
    assert found is not None
    return found


@pytest.mark.parametrize("shots", [2, 5, 20])
def test_the_false_rejection_rate_is_at_most_the_level(shots: int) -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, shots)
    threshold = calibration_of(clf).threshold(0.05)
    assert (world.best_scores(clf, range(10), 100) < threshold).mean() <= 0.07


def test_unknown_objects_are_separated_from_known_ones() -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, 5)
    known = world.best_scores(clf, range(10), 50)
    unknown = world.best_scores(clf, range(10, 20), 50)
    assert area_under_curve(known, unknown) > 95
    assert (unknown < calibration_of(clf).threshold(0.05)).mean() > 0.7


def test_two_labels_with_one_picture_each_have_a_threshold() -> None:
    world = World(3, apart=2.0)
    clf = world.taught(2, 1)
    calibration = calibration_of(clf)
    assert len(calibration.known) == len(calibration.unknown) == 0
    known = world.best_scores(clf, range(2), 200)
    unknown = world.best_scores(clf, range(2, 3), 200)
    threshold = calibration.threshold(0.05)
    assert (known < threshold).mean() < (unknown < threshold).mean()


@pytest.mark.parametrize("apart", [0.25, 0.4, 1.0])
def test_the_confidence_is_the_probability_that_the_label_is_right(apart: float) -> None:
    world = World(10, apart)
    clf = world.taught(10, 8)
    calibration = calibration_of(clf)
    confidence, right = [], []
    for number in range(10):
        for scores in clf.scores(world.embeddings(number, 100)):
            found = recognise(scores, float(scores.max()), calibration, 0.05)
            confidence.append(found.confidence)
            right.append(clf.labels[found.row] == str(number))
    assert 0.3 < np.mean(right) <= 1
    assert calibration_error(confidence, right) < 12


def test_the_probability_of_being_known_increases_with_the_best_score() -> None:
    calibration = calibration_of(World(10, apart=1.0).taught(5, 3))
    probabilities = [calibration.probability_known(best) for best in np.linspace(-50, 200, 500)]
    assert all(a <= b + 1e-12 for a, b in pairwise(probabilities))
    assert probabilities[0] < 0.5 < probabilities[-1]


def test_the_threshold_increases_with_the_level_and_level_zero_rejects_nothing() -> None:
    calibration = calibration_of(World(10, apart=1.0).taught(10, 10))
    thresholds = [calibration.threshold(level) for level in (0, 0.01, 0.05, 0.2, 0.5)]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] == -math.inf


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_a_level_may_be_a_number_of_numpy(number: Callable[[float], float]) -> None:
    calibration = calibration_of(World(3, apart=1.0).taught(3, 2))
    assert calibration.threshold(number(0.25)) == calibration.threshold(0.25)


@pytest.mark.parametrize("level", [-0.1, 0.6, math.nan, "x", None])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(SpecError, match="unknown="):
        recognise(np.zeros(2), 0.0, None, level)
    with pytest.raises(SpecError, match="unknown="):
        calibration_of(World(3, apart=1.0).taught(3, 2)).threshold(level)


# ---- too little to calibrate from


def test_a_single_label_has_no_calibration_and_a_confidence_of_one_half() -> None:
    assert calibration_or_none(World(1, apart=1.0).taught(1, 3)) is None
    found = recognise(np.zeros(1), 0.0, None, 0.05)
    assert (found.is_known, found.known, found.confidence) == (True, 0.5, 0.5)


@pytest.mark.parametrize(
    ("embedding", "labels"),
    [(np.ones(WIDTH), "abc"), (np.zeros(WIDTH), "aabb")],
    ids=["one each", "zeros"],
)
def test_labels_taught_the_same_embedding_have_no_calibration(
    embedding: Array, labels: str
) -> None:
    clf = classifier(COSINE)
    for label in labels:
        clf.learn(embedding, label)
    assert calibration_or_none(clf) is None


def test_without_a_calibration_the_confidence_is_the_softmax_of_the_scores() -> None:
    found = recognise(np.log([1.0, 3.0]), 0.0, None, 0.05)
    assert (found.row, found.known, found.is_known) == (1, 1.0, True)
    assert found.confidence == pytest.approx(0.75)
    assert found.confidences == pytest.approx([0.25, 0.75])


def test_the_confidences_of_all_labels_sum_to_the_probability_of_a_known_object() -> None:
    world = World(6, apart=1.0)
    clf = world.taught(5, 4)
    calibration = calibration_of(clf)
    for scores in clf.scores(np.vstack([world.embeddings(number, 3) for number in range(6)])):
        found = recognise(scores, float(scores.max()), calibration, 0.05)
        known = calibration.probability_known(float(scores.max()), KNOWN_PRIOR)
        assert found.confidences.sum() == pytest.approx(known)
        assert found.confidences[found.row] == found.confidence == found.confidences.max()
        assert np.array_equal(np.argsort(found.confidences), np.argsort(scores))


# ---- unusual pictures


@pytest.mark.parametrize("times", [2, 3, 5, 30])
@pytest.mark.parametrize("spec", [COSINE, f"{COSINE},covariance=blocks,blocks=3"])
def test_an_object_taught_the_same_picture_many_times_stays_known(spec: str, times: int) -> None:
    pictures = np.random.default_rng(0).random((4, WIDTH)).astype(np.float32)
    clf = classifier(spec)
    for label, embedding in zip("abc", pictures, strict=False):
        for _ in range(times):
            clf.learn(embedding, label)
    calibration = calibration_of(clf)
    for label, scores in zip("abc", clf.scores(pictures), strict=False):
        found = recognise(scores, float(scores.max()), calibration, 0.05)
        assert found.is_known
        assert clf.labels[found.row] == label
        assert 0.5 < found.confidence <= 1
        assert 0.5 < found.known <= 1


def test_rejected_objects_have_a_low_probability_of_being_known() -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, 5)
    calibration = calibration_of(clf)
    scores = clf.scores(world.embeddings(15, 100))
    found = [recognise(row, float(row.max()), calibration, 0.05) for row in scores]
    assert np.mean([each.known for each in found if not each.is_known]) < 0.5


def test_one_poor_picture_does_not_lower_the_threshold_to_its_score() -> None:
    calibration = calibration_of(World(10, apart=1.0).taught(5, 5))
    known = np.sort(np.append(calibration.known[1:], calibration.known[0] / 10))
    with_poor = Calibration(
        known, calibration.unknown, calibration.distance, calibration.temperature
    )
    assert with_poor.threshold(0.05) > known[0]
