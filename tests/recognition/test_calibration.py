"""Calibration scores, on samples whose truth is known because they were drawn here."""

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


class World:
    """Things that are spread about centres; some are taught, the others are unknown."""

    def __init__(self, things: int, apart: float, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = apart * self._rng.normal(size=(things, WIDTH))

    def seen(self, thing: int, pictures: int) -> Array:
        noise = self._rng.normal(size=(pictures, WIDTH))
        found: Array = self._centres[thing] + noise
        return found

    def taught(self, things: int, shots: int, spec: str = COSINE) -> StreamingClassifier:
        clf = classifier(spec)
        for thing in range(things):
            for vector in self.seen(thing, shots):
                clf.learn(vector, str(thing))
        return clf


def reading_of(clf: StreamingClassifier) -> Calibration:
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    found = Calibration.of(leave_one_out)
    assert found is not None
    return found


@pytest.mark.parametrize("shots", [2, 5, 20])
def test_at_most_the_level_of_known_things_is_called_unknown(shots: int) -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, shots)
    lowest = reading_of(clf).threshold(0.05)
    best = clf.scores(np.vstack([world.seen(thing, 100) for thing in range(10)])).max(axis=1)
    assert (best < lowest).mean() <= 0.07


def test_unknown_things_are_told_from_known_ones() -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, 5)
    known = clf.scores(np.vstack([world.seen(thing, 50) for thing in range(10)])).max(axis=1)
    unknown = clf.scores(np.vstack([world.seen(thing, 50) for thing in range(10, 20)])).max(axis=1)
    assert area_under_curve(known, unknown) > 95
    assert (unknown < reading_of(clf).threshold(0.05)).mean() > 0.7


def test_two_labels_of_one_picture_each_already_give_a_threshold() -> None:
    world = World(3, apart=2.0)
    clf = world.taught(2, 1)
    calibration = reading_of(clf)
    assert len(calibration.known) == len(calibration.unknown) == 0
    known = clf.scores(np.vstack([world.seen(thing, 200) for thing in range(2)])).max(axis=1)
    unknown = clf.scores(world.seen(2, 200)).max(axis=1)
    lowest = calibration.threshold(0.05)
    assert (known < lowest).mean() < (unknown < lowest).mean()


@pytest.mark.parametrize("apart", [0.25, 0.4, 1.0])
def test_confidence_is_how_often_the_label_is_right(apart: float) -> None:
    world = World(10, apart)
    clf = world.taught(10, 8)
    calibration = reading_of(clf)
    sure, right = [], []
    for thing in range(10):
        for scores in clf.scores(world.seen(thing, 100)):
            seen = recognise(scores, calibration, 0.05)
            sure.append(seen.confidence)
            right.append(clf.labels[seen.row] == str(thing))
    assert 0.3 < np.mean(right) <= 1
    assert calibration_error(sure, right) < 12


def test_a_better_score_is_never_less_known() -> None:
    calibration = reading_of(World(10, apart=1.0).taught(5, 3))
    likely = [calibration.probability_known(best) for best in np.linspace(-50, 200, 500)]
    assert all(a <= b + 1e-12 for a, b in pairwise(likely))
    assert likely[0] < 0.5 < likely[-1]


def test_a_lower_level_calls_fewer_things_unknown_and_none_at_zero() -> None:
    calibration = reading_of(World(10, apart=1.0).taught(10, 10))
    levels = [calibration.threshold(level) for level in (0, 0.01, 0.05, 0.2, 0.5)]
    assert levels == sorted(levels)
    assert levels[0] == -math.inf


@pytest.mark.parametrize("level", [-0.1, 0.6, math.nan, "x", None])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(SpecError, match="unknown="):
        recognise(np.zeros(2), None, level)
    with pytest.raises(SpecError, match="unknown="):
        reading_of(World(3, apart=1.0).taught(3, 2)).threshold(level)


def test_a_single_label_may_be_that_or_anything() -> None:
    clf = World(1, apart=1.0).taught(1, 3)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None
    seen = recognise(np.zeros(1), None, 0.05)
    assert (seen.is_known, seen.known, seen.confidence) == (True, 0.5, 0.5)


def test_the_same_picture_taught_under_every_label_gives_no_reading() -> None:
    clf = classifier(COSINE)
    for label in "abc":
        clf.learn(np.ones(WIDTH), label)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None


@pytest.mark.parametrize("times", [2, 3, 5, 30])
@pytest.mark.parametrize("spec", [COSINE, f"{COSINE},covariance=blocks,blocks=3"])
def test_the_same_picture_of_a_thing_shown_again_and_again_stays_known(
    spec: str, times: int
) -> None:
    pictures = np.random.default_rng(0).random((4, WIDTH)).astype(np.float32)
    clf = classifier(spec)
    for label, vector in zip("abc", pictures, strict=False):
        for _ in range(times):
            clf.learn(vector, label)
    calibration = reading_of(clf)
    for label, scores in zip("abc", clf.scores(pictures), strict=False):
        seen = recognise(scores, calibration, 0.05)
        assert seen.is_known
        assert clf.labels[seen.row] == label
        assert 0.5 < seen.confidence <= 1
        assert 0.5 < seen.known <= 1


def test_vectors_of_zeros_give_an_answer() -> None:
    clf = classifier(COSINE)
    for label in "ab":
        clf.learn(np.zeros(WIDTH), label)
        clf.learn(np.zeros(WIDTH), label)
    leave_one_out = clf.leave_one_out()
    assert leave_one_out is not None
    assert Calibration.of(leave_one_out) is None


def test_what_is_called_unknown_is_mostly_not_likely_known() -> None:
    world = World(20, apart=1.0)
    clf = world.taught(10, 5)
    calibration = reading_of(clf)
    seen = [recognise(scores, calibration, 0.05) for scores in clf.scores(world.seen(15, 100))]
    called = [each.known for each in seen if not each.is_known]
    assert np.mean(called) < 0.5


def test_one_poor_picture_does_not_lower_the_threshold_for_all() -> None:
    calibration = reading_of(World(10, apart=1.0).taught(5, 5))
    poor = np.sort(np.append(calibration.known[1:], calibration.known[0] / 10))
    spoilt = Calibration(poor, calibration.unknown, calibration.distance, calibration.temperature)
    assert spoilt.threshold(0.05) > poor[0]


def test_without_a_reading_the_confidence_is_the_plain_share() -> None:
    seen = recognise(np.log([1.0, 3.0]), None, 0.05)
    assert (seen.row, seen.known, seen.is_known) == (1, 1.0, True)
    assert seen.confidence == pytest.approx(0.75)
