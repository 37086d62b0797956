"""Known or unknown with a world, for embeddings drawn from known distributions."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle import SpecError
from robocle.backbones.world import SeenAgain, World
from robocle.classifiers import classifier
from robocle.classifiers.streaming import StreamingClassifier
from robocle.recognition.calibration import Calibration, calibrated, recognised
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.recognition.world_calibration import WorldCalibration

Array = NDArray[np.float64]
WIDTH, THINGS, NOTHING = 60, 200, 40
SPEC = "slda:score=cosine,world=10"
SEEN_AGAIN = SeenAgain(once=0.5, several=0.6, temperature=0.04)
CELLS = pytest.mark.parametrize(
    ("labels", "shots"), [(n, s) for n in (1, 2, 5, 12) for s in (1, 3, 5)]
)


class Objects:
    """Objects whose embeddings are normally distributed around centres, and pictures of nothing."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = 4 + 2 * self._rng.normal(size=(400, WIDTH))

    def pictures(self, numbers: range, each: int = 1) -> Array:
        """Return new pictures of some objects."""
        centres = np.repeat(self._centres[list(numbers)], each, axis=0)
        found: Array = centres + self._rng.normal(size=centres.shape)
        return found

    def nothing(self, number: int) -> Array:
        return self._rng.normal(size=(number, WIDTH))

    def world(self) -> World:
        rows = np.vstack([self.pictures(range(100, 100 + THINGS)), self.nothing(NOTHING)])
        return World("stub", "0", "avg", rows.astype(np.float32), THINGS, SEEN_AGAIN, "drawn")

    def taught(
        self, world: World, labels: int, shots: int, spec: str = SPEC
    ) -> StreamingClassifier:
        clf = classifier(spec)
        clf.use_world(world.pictures)
        for number in range(labels):
            for embedding in self.pictures(range(number, number + 1), shots):
                clf.learn(embedding, str(number))
        return clf


def calibration_of(clf: StreamingClassifier, world: World) -> WorldCalibration:
    found = calibrated(clf.answer(), world)
    assert isinstance(found, WorldCalibration)
    return found


def accepted(clf: StreamingClassifier, world: World, pictures: Array) -> float:
    """Return the fraction of pictures that are not called unknown at the default level."""
    calibration = calibration_of(clf, world)
    found = recognised(clf, pictures, calibration, DEFAULT_UNKNOWN)
    return float(np.mean([each.is_known for each in found]))


@CELLS
def test_of_unrelated_objects_at_most_about_five_percent_are_accepted(
    labels: int, shots: int
) -> None:
    objects = Objects()
    world = objects.world()
    clf = objects.taught(world, labels, shots)
    assert accepted(clf, world, objects.pictures(range(300, 400), 3)) <= 0.07
    assert accepted(clf, world, objects.nothing(300)) <= 0.07


@CELLS
def test_of_taught_objects_that_are_seen_again_at_most_about_five_percent_are_called_unknown(
    labels: int, shots: int
) -> None:
    objects = Objects()
    world = objects.world()
    clf = objects.taught(world, labels, shots)
    assert accepted(clf, world, objects.pictures(range(labels), 40)) >= 0.93


@CELLS
def test_probabilities_of_labels_and_of_unknown_sum_to_one(labels: int, shots: int) -> None:
    objects = Objects()
    world = objects.world()
    clf = objects.taught(world, labels, shots)
    calibration = calibration_of(clf, world)
    for found in recognised(clf, objects.pictures(range(20)), calibration, DEFAULT_UNKNOWN):
        assert found.confidences.sum() == pytest.approx(found.known)
        assert 0 <= found.known <= 1


def test_an_object_is_known_if_that_is_more_likely_than_not() -> None:
    objects = Objects()
    world = objects.world()
    clf = objects.taught(world, 5, 3)
    calibration = calibration_of(clf, world)
    for found in recognised(clf, objects.pictures(range(40)), calibration, DEFAULT_UNKNOWN):
        assert found.is_known == (found.known >= 0.5)


def test_a_larger_level_calls_more_unknown_and_zero_calls_nothing_unknown() -> None:
    objects = Objects()
    world = objects.world()
    calibration = calibration_of(objects.taught(world, 5, 5), world)
    thresholds = [calibration.threshold(level) for level in (0, 0.01, 0.05, 0.2, 0.5)]
    assert thresholds[0] == -math.inf
    assert thresholds == sorted(thresholds)
    with pytest.raises(SpecError, match="unknown"):
        calibration.threshold(0.6)


def test_a_burst_of_frames_does_not_make_the_learner_too_sure() -> None:
    """The known bound is at most what objects score that are seen under other conditions."""
    objects = Objects()
    world = objects.world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    rng = np.random.default_rng(1)
    for number in range(4):
        still = objects.pictures(range(number, number + 1))[0]
        for _ in range(5):
            clf.learn(still + 0.01 * rng.normal(size=WIDTH), str(number))
    calibration = calibration_of(clf, world)
    assert calibration.known.min() > 0.8 * calibration.distance
    most = (calibration.unrelated + SEEN_AGAIN.several * calibration.distance) / 2
    assert calibration.threshold(DEFAULT_UNKNOWN) <= max(most, calibration.unrelated)
    assert accepted(clf, world, objects.pictures(range(4), 40)) >= 0.9


def test_labels_with_one_picture_count_with_what_the_world_has_measured() -> None:
    objects = Objects()
    world = objects.world()
    calibration = calibration_of(objects.taught(world, 3, 1), world)
    np.testing.assert_allclose(calibration.known, SEEN_AGAIN.once * calibration.distance)


def test_alike_labels_share_the_probability() -> None:
    objects = Objects()
    world = objects.world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    for embedding in objects.pictures(range(1), 6):
        clf.learn(embedding, "milk")
        clf.learn(embedding + 0.05, "soy milk")
    (found,) = recognised(
        clf, objects.pictures(range(1)), calibration_of(clf, world), DEFAULT_UNKNOWN
    )
    assert found.is_known
    assert found.confidences.max() < 0.95


def test_without_a_world_the_calibration_is_that_of_the_taught_samples() -> None:
    objects = Objects()
    clf = objects.taught(objects.world(), 4, 3)
    assert isinstance(calibrated(clf.answer(), None), Calibration)


def test_a_world_of_embeddings_of_another_width_does_not_count() -> None:
    world = Objects().world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    for number in range(6):
        clf.learn([number, 1.0], f"object {number % 3}")
    assert isinstance(calibrated(clf.answer(), world), Calibration)


@CELLS
def test_a_classifier_that_keeps_no_samples_is_calibrated_by_the_world(
    labels: int, shots: int
) -> None:
    objects = Objects()
    world = objects.world()
    clf = objects.taught(world, labels, shots, f"{SPEC},keep=0")
    assert not clf.samples
    assert accepted(clf, world, objects.pictures(range(300, 400))) <= 0.1
    assert accepted(clf, world, objects.pictures(range(labels), 20)) >= 0.9
