"""Calibration of scores, on samples drawn from known distributions."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import classifier
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import SpecError
from robocle.evaluation.metrics import area_under_curve, calibration_error
from robocle.recognition.calibration import Calibration, recognise

Array = NDArray[np.float64]
WIDTH = 60
COSINE = "slda:score=cosine"


class Objects:
    """Objects with Gaussian samples around a centre; some are taught, the others are unknown."""

    def __init__(self, count: int, apart: float, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = apart * self._rng.normal(size=(count, WIDTH))

    def samples(self, number: int, count: int) -> Array:
        noise = self._rng.normal(size=(count, WIDTH))
        found: Array = self._centres[number] + noise
        return found

    def taught(self, count: int, shots: int, spec: str = COSINE) -> StreamingClassifier:
        clf = classifier(spec)
        for number in range(count):
            for embedding in self.samples(number, shots):
                clf.learn(embedding, str(number))
        return clf


def calibration_of(clf: StreamingClassifier) -> Calibration:
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    found = Calibration.of(leave_one_out)
    assert found is not None
    return found


@pytest.mark.parametrize("shots", [2, 5, 20])
def test_the_false_rejection_rate_is_at_most_the_level(shots: int) -> None:
    objects = Objects(20, apart=1.0)
    clf = objects.taught(10, shots)
    threshold = calibration_of(clf).threshold(0.05)
    best = clf.scores(np.vstack([objects.samples(number, 100) for number in range(10)])).max(axis=1)
    assert (best < threshold).mean() <= 0.07


def test_unknown_objects_are_separated_from_known_ones() -> None:
    objects = Objects(20, apart=1.0)
    clf = objects.taught(10, 5)
    known = clf.scores(np.vstack([objects.samples(number, 50) for number in range(10)])).max(axis=1)
    unknown = clf.scores(np.vstack([objects.samples(number, 50) for number in range(10, 20)])).max(
        axis=1
    )
    assert area_under_curve(known, unknown) > 95
    assert (unknown < calibration_of(clf).threshold(0.05)).mean() > 0.7


def test_two_labels_with_one_picture_each_already_have_a_threshold() -> None:
    objects = Objects(3, apart=2.0)
    clf = objects.taught(2, 1)
    calibration = calibration_of(clf)
    assert len(calibration.known) == len(calibration.unknown) == 0
    known = clf.scores(np.vstack([objects.samples(number, 200) for number in range(2)])).max(axis=1)
    unknown = clf.scores(objects.samples(2, 200)).max(axis=1)
    threshold = calibration.threshold(0.05)
    assert (known < threshold).mean() < (unknown < threshold).mean()


@pytest.mark.parametrize("apart", [0.25, 0.4, 1.0])
def test_the_confidence_is_the_frequency_of_right_labels(apart: float) -> None:
    objects = Objects(10, apart)
    clf = objects.taught(10, 8)
    calibration = calibration_of(clf)
    confidences, right = [], []
    for number in range(10):
        for scores in clf.scores(objects.samples(number, 100)):
            found = recognise(scores, calibration, 0.05)
            confidences.append(found.confidence)
            right.append(clf.labels[found.row] == str(number))
    assert 0.3 < np.mean(right) <= 1
    assert calibration_error(confidences, right) < 12


def test_the_probability_of_a_known_object_never_falls_with_the_score() -> None:
    calibration = calibration_of(Objects(10, apart=1.0).taught(5, 3))
    probabilities = [calibration.probability_known(best) for best in np.linspace(-50, 200, 500)]
    assert all(a <= b + 1e-12 for a, b in pairwise(probabilities))
    assert probabilities[0] < 0.5 < probabilities[-1]


def test_a_lower_level_calls_fewer_objects_unknown_and_level_zero_none() -> None:
    calibration = calibration_of(Objects(10, apart=1.0).taught(10, 10))
    thresholds = [calibration.threshold(level) for level in (0, 0.01, 0.05, 0.2, 0.5)]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] == -math.inf


@pytest.mark.parametrize("level", [-0.1, 0.6, math.nan, "x", None])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(SpecError, match="unknown="):
        recognise(np.zeros(2), None, level)
    with pytest.raises(SpecError, match="unknown="):
        calibration_of(Objects(3, apart=1.0).taught(3, 2)).threshold(level)


def test_with_a_single_label_known_and_unknown_are_equally_likely() -> None:
    clf = Objects(1, apart=1.0).taught(1, 3)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None
    found = recognise(np.zeros(1), None, 0.05)
    assert (found.is_known, found.known, found.confidence) == (True, 0.5, 0.5)


def test_the_same_picture_taught_under_every_label_has_no_calibration() -> None:
    clf = classifier(COSINE)
    for label in "abc":
        clf.learn(np.ones(WIDTH), label)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None


@pytest.mark.parametrize("times", [2, 3, 5, 30])
@pytest.mark.parametrize("spec", [COSINE, f"{COSINE},covariance=blocks,blocks=3"])
def test_an_object_taught_by_one_repeated_picture_stays_known(spec: str, times: int) -> None:
    pictures = np.random.default_rng(0).random((4, WIDTH)).astype(np.float32)
    clf = classifier(spec)
    for label, picture in zip("abc", pictures, strict=False):
        for _ in range(times):
            clf.learn(picture, label)
    calibration = calibration_of(clf)
    for label, scores in zip("abc", clf.scores(pictures), strict=False):
        found = recognise(scores, calibration, 0.05)
        assert found.is_known
        assert clf.labels[found.row] == label
        assert 0.5 < found.confidence <= 1
        assert 0.5 < found.known <= 1


def test_embeddings_of_zeros_have_no_calibration() -> None:
    clf = classifier(COSINE)
    for label in "ab":
        clf.learn(np.zeros(WIDTH), label)
        clf.learn(np.zeros(WIDTH), label)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None


def test_objects_called_unknown_have_a_low_probability_of_being_known_on_average() -> None:
    objects = Objects(20, apart=1.0)
    clf = objects.taught(10, 5)
    calibration = calibration_of(clf)
    found = [
        recognise(scores, calibration, 0.05) for scores in clf.scores(objects.samples(15, 100))
    ]
    rejected = [each.known for each in found if not each.is_known]
    assert np.mean(rejected) < 0.5


def test_one_poor_picture_does_not_lower_the_threshold_for_all() -> None:
    calibration = calibration_of(Objects(10, apart=1.0).taught(5, 5))
    poor = np.sort(np.append(calibration.known[1:], calibration.known[0] / 10))
    with_outlier = Calibration(
        poor, calibration.unknown, calibration.distance, calibration.temperature
    )
    assert with_outlier.threshold(0.05) > poor[0]


def test_without_a_calibration_the_confidence_is_the_softmax() -> None:
    found = recognise(np.log([1.0, 3.0]), None, 0.05)
    assert (found.row, found.known, found.is_known) == (1, 1.0, True)
    assert found.confidence == pytest.approx(0.75)
