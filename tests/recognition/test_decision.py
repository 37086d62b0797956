"""Known or unknown, for embeddings drawn from known distributions."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.backbones.world import World
from robocle.classifiers import classifier
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import SpecError
from robocle.evaluation.metrics.recognition import area_under_curve, mixed_calibration_error
from robocle.recognition import DEFAULT_RATE
from robocle.recognition.decision import SEEN_AGAIN, Decision, Unrelated, _again
from robocle.recognition.meaning import Scored, scored
from robocle.types import SURE, Prediction

Array = NDArray[np.float64]
WIDTH, OBJECTS, NOTHING = 60, 200, 40
SPEC, ALONE = "slda:score=cosine,world=10", "slda:score=cosine"
RATES = (0.001, 0.005, 0.01, 0.03, 0.05, 0.1, 0.2, 0.35, 0.5)
CELLS = pytest.mark.parametrize(
    ("labels", "shots"), [(n, s) for n in (1, 2, 5, 12) for s in (1, 3, 5)]
)


class Objects:
    """Objects whose embeddings are normally distributed around centres, and pictures of nothing."""

    def __init__(self, scene: float = 0.0, seed: int = 0) -> None:
        """Draw the objects; those up to number 100 share a scene of this strength."""
        self._rng = np.random.default_rng(seed)
        self._centres = 4 + 2 * self._rng.normal(size=(400, WIDTH))
        self._centres[:100] += scene * self._rng.normal(size=WIDTH)

    def pictures(self, numbers: range, each: int = 1, noise: float = 1.0) -> Array:
        """Return new pictures of some objects."""
        centres = np.repeat(self._centres[list(numbers)], each, axis=0)
        found: Array = centres + noise * self._rng.normal(size=centres.shape)
        return found

    def nothing(self, number: int) -> Array:
        return self._rng.normal(size=(number, WIDTH))

    def world(self, gain: float = 1.0) -> World:
        rows = np.vstack([self.pictures(range(100, 100 + OBJECTS)), self.nothing(NOTHING)])
        seen = rows.astype(np.float32), OBJECTS, 0.04, gain, "drawn"
        return World("stub", "0", "avg", "plain", *seen)

    def taught(
        self, world: World | None, labels: int, shots: int, spec: str = SPEC
    ) -> StreamingClassifier:
        clf = classifier(spec)
        if world is not None:
            clf.use_world(world.pictures)
        for number in range(labels):
            for embedding in self.pictures(range(number, number + 1), shots):
                clf.learn(embedding, str(number))
        return clf


def drawn(
    labels: int, shots: int, scene: float = 0.0, spec: str = SPEC
) -> tuple[Objects, World, StreamingClassifier]:
    """Return objects, a world, and a classifier that was taught the first objects."""
    objects = Objects(scene)
    world = objects.world()
    return objects, world, objects.taught(world, labels, shots, spec)


def decision_of(clf: StreamingClassifier, world: World | None) -> Decision:
    found = Decision.of(clf.answer(), world)
    assert found is not None
    return found


def predicted(
    clf: StreamingClassifier, pictures: Array, decision: Decision, rate: float = DEFAULT_RATE
) -> list[Prediction]:
    return [each.prediction(rate) for each in scored(clf, pictures, decision)]


def without_decision(scores: Array) -> Prediction:
    labels = tuple(str(row) for row in range(len(scores)))
    return Scored(labels, scores, 0.0, None).prediction(DEFAULT_RATE)


def accepted(
    clf: StreamingClassifier, world: World | None, pictures: Array, rate: float = DEFAULT_RATE
) -> float:
    """Return the fraction of pictures that are not called unknown."""
    found = predicted(clf, pictures, decision_of(clf, world), rate)
    return float(np.mean([each.label is not None for each in found]))


@CELLS
def test_about_five_percent_of_unrelated_objects_are_accepted_and_of_taught_ones_rejected(
    labels: int, shots: int
) -> None:
    objects, world, clf = drawn(labels, shots)
    assert accepted(clf, world, objects.pictures(range(300, 400), 3)) <= 0.09
    assert accepted(clf, world, objects.nothing(300)) <= 0.07
    assert accepted(clf, world, objects.pictures(range(labels), 40)) >= 0.93


@CELLS
@pytest.mark.parametrize("has_world", [True, False])
def test_a_smaller_rate_always_moves_the_threshold_up(
    labels: int, shots: int, has_world: bool
) -> None:
    objects = Objects(scene=3.0 if labels > 2 else 0.0)
    world = objects.world() if has_world else None
    decision = Decision.of(objects.taught(world, labels, shots).answer(), world)
    if decision is None:
        assert labels == 1
        assert not has_world
        return
    thresholds = [decision.threshold(rate) for rate in RATES]
    assert all(one > other for one, other in pairwise(thresholds))
    assert decision.threshold(1) == -math.inf


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2, 0.5])
def test_where_the_world_decides_the_rate_is_the_fraction_that_is_accepted(rate: float) -> None:
    objects, world, clf = drawn(1, 5)
    decision = decision_of(clf, world)
    assert decision.threshold(rate) == max(each.bound(rate) for each in decision.unrelated)
    found = accepted(clf, world, objects.pictures(range(300, 400), 20), rate)
    assert rate / 3 <= found <= 2 * rate


def test_the_tail_of_few_pictures_is_continued() -> None:
    """Of 200 draws from an exponential distribution, none tells the 0.1 % quantile."""
    drawn = np.sort(np.random.default_rng(0).exponential(size=200))
    assert Unrelated(drawn).bound(0.001) == pytest.approx(math.log(1000), rel=0.15)
    assert Unrelated(drawn).bound(0.5) == pytest.approx(np.median(drawn))
    assert Unrelated(drawn).share_above(drawn[149]) == pytest.approx(0.25)


@pytest.mark.parametrize("rate", [0, -0.1, 0.0009, 0.6, 0.99, 2, math.nan, None, "0.05"])
def test_a_rate_out_of_range_is_refused(rate: Any) -> None:
    _, world, clf = drawn(2, 2)
    decision = decision_of(clf, world)
    with pytest.raises(SpecError, match=r"false_accept=.* give 0.001 to 0.5, .*or 1"):
        decision.threshold(rate)
    with pytest.raises(SpecError, match="false_accept"):
        Scored(("mug", "pan"), np.zeros(2), 0.0, None).prediction(rate)
    of_numpy: Any = np.float32(0.125)
    assert decision.threshold(of_numpy) == decision.threshold(0.125)


def test_in_one_scene_most_objects_that_were_not_taught_are_unknown() -> None:
    objects, world, clf = drawn(10, 5, scene=3.0)
    others = objects.pictures(range(20, 60), 3)
    decision = decision_of(clf, world)
    _, usual, apart = drawn(10, 5)
    assert decision.shared > 0.5 > 0.3 > decision_of(apart, usual).shared
    assert accepted(clf, world, others) <= 0.1
    assert accepted(clf, world, objects.pictures(range(10), 40)) >= 0.95
    # The world alone would take all of them for taught objects.
    bound = max(each.bound(DEFAULT_RATE) for each in decision.unrelated)
    seen = predicted(clf, others, decision)
    assert np.mean([each.familiarity >= bound for each in seen]) > 0.95


def test_examples_of_what_is_unknown_sharpen_the_decision_of_a_single_label() -> None:
    objects, world, clf = drawn(1, 5, scene=3.0)
    others = objects.pictures(range(20, 60), 3)
    before = accepted(clf, world, others)
    for embedding in objects.pictures(range(60, 66)):
        clf.learn(embedding, "unknown")
    assert clf.labels == ("0",)
    assert before > 0.8
    assert accepted(clf, world, others) < 0.4
    assert accepted(clf, world, objects.pictures(range(1), 40)) >= 0.9


def test_the_order_of_lessons_does_not_matter() -> None:
    objects, world, clf = drawn(6, 3, scene=3.0)
    clf.learn(objects.pictures(range(50, 51))[0], "unknown")
    shuffled = classifier(SPEC)
    shuffled.use_world(world.pictures)
    for place in np.random.default_rng(0).permutation(len(clf.samples)):
        sample = clf.samples[place]
        shuffled.learn(sample.embedding, sample.label)
    first, second = decision_of(clf, world), decision_of(shuffled, world)
    assert first.threshold() == pytest.approx(second.threshold(), rel=1e-9)
    assert first.spread == pytest.approx(second.spread, rel=1e-9)


def test_the_threshold_moves_smoothly_while_labels_and_pictures_are_added() -> None:
    """In units of the distance of the class means, no single lesson moves it by a third."""
    objects = Objects(scene=3.0)
    world = objects.world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    relative = []
    for _ in range(3):
        for number in range(6):
            clf.learn(objects.pictures(range(number, number + 1))[0], str(number))
            decision = decision_of(clf, world)
            relative.append(decision.threshold() / decision.distance)
    assert max(abs(one - other) for one, other in pairwise(relative)) < 0.34


@CELLS
def test_probabilities_of_labels_and_of_unknown_sum_to_one(labels: int, shots: int) -> None:
    objects, world, clf = drawn(labels, shots)
    for found in predicted(clf, objects.pictures(range(20)), decision_of(clf, world)):
        assert sum(found.confidences.values()) == pytest.approx(found.known_probability)
        assert found.confidence == max(found.confidences.values())
        assert 0 <= found.known_probability <= 1


def test_the_probability_of_a_known_object_increases_with_the_familiarity() -> None:
    _, world, clf = drawn(5, 3)
    decision = decision_of(clf, world)
    tried = np.linspace(-decision.distance, 2 * decision.distance, 50)
    found = [decision.probability_known(each) for each in tried]
    assert found == sorted(found)
    assert found[0] < 0.01
    assert found[-1] > 0.99
    assert decision.probability_known(decision.even) == 0.5
    assert decision.probability_known(-1e300) < 1e-300


@pytest.mark.parametrize("noise", [1.0, 1.6])
def test_the_confidence_fits_a_mix_of_known_and_unknown_objects(noise: float) -> None:
    objects, world, clf = drawn(8, 5)
    decision = decision_of(clf, world)
    known = predicted(clf, objects.pictures(range(8), 40, noise), decision)
    unknown = predicted(clf, objects.pictures(range(300, 400), 3), decision)
    right = [each.nearest == str(place // 40) for place, each in enumerate(known)]
    confidence = [each.confidence for each in known]
    assert mixed_calibration_error(confidence, right, [each.confidence for each in unknown]) < 10
    sure = [place for place, each in enumerate(known) if each.sure]
    assert np.mean([right[place] for place in sure]) > 0.97
    assert np.mean([each.sure for each in unknown]) < 0.03


def test_sure_is_known_with_a_high_confidence_whatever_the_rate() -> None:
    objects, world, clf = drawn(5, 3)
    decision = decision_of(clf, world)
    pictures = np.vstack([objects.pictures(range(40)), objects.pictures(range(5), 5, 3.0)])
    for rate in (0.001, 0.05, 1):
        for found in predicted(clf, pictures, decision, rate):
            assert found.sure == (found.label is not None and found.confidence >= SURE)


def test_what_is_taught_with_another_look_counts_with_the_gain() -> None:
    objects = Objects(scene=3.0)
    plain, gained = objects.world(), objects.world(gain=1.1)
    gained = World(**{**vars(gained), "pictures": plain.pictures})
    clf = objects.taught(plain, 6, 4)
    first, second = decision_of(clf, plain), decision_of(clf, gained)
    assert first.again is not None
    assert second.again is not None
    assert second.again.centre == pytest.approx(1.1 * first.again.centre)
    assert second.threshold() > first.threshold()


def test_one_poor_picture_does_not_lower_what_is_seen_again_to_its_familiarity() -> None:
    fine = np.sort(np.random.default_rng(0).normal(80, 5, size=40))
    before, after = (_again(each, 100.0) for each in (fine, np.r_[0.0, fine]))
    lowest = after.centre - SEEN_AGAIN * after.deviation
    assert before.centre - SEEN_AGAIN * before.deviation > lowest > 40


def test_alike_labels_share_the_probability() -> None:
    objects = Objects()
    world = objects.world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    for number, embedding in enumerate(objects.pictures(range(1), 12)):
        clf.learn(embedding, "milk" if number % 2 else "soy milk")
    found = predicted(clf, objects.pictures(range(1), 40), decision_of(clf, world))
    assert np.mean([each.label is not None for each in found]) > 0.9
    assert np.mean([each.sure for each in found]) < 0.1


@pytest.mark.parametrize("times", [2, 30])
def test_an_object_taught_the_same_picture_many_times_stays_known(times: int) -> None:
    objects = Objects()
    world = objects.world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    for number in range(3):
        still = objects.pictures(range(number, number + 1))[0]
        for _ in range(times):
            clf.learn(still, str(number))
    assert accepted(clf, world, objects.pictures(range(3), 40)) >= 0.8


# Without a world


def test_without_a_world_others_tell_what_is_unknown() -> None:
    objects = Objects()
    clf = objects.taught(None, 10, 5, ALONE)
    decision = decision_of(clf, None)
    assert not decision.unrelated
    known, unknown = objects.pictures(range(10), 40), objects.pictures(range(20, 60), 5)
    seen, strange = ([each.familiarity for each in predicted(clf, pictures, decision)]
                     for pictures in (known, unknown))  # fmt: skip
    assert area_under_curve(seen, strange) > 95
    assert accepted(clf, None, unknown) < 0.4
    assert accepted(clf, None, known) >= 0.93


def test_a_world_of_embeddings_of_another_width_does_not_count() -> None:
    world = Objects().world()
    clf = classifier(SPEC)
    clf.use_world(world.pictures)
    for number in range(6):
        clf.learn([number, 1.0], f"object {number % 3}")
    assert not decision_of(clf, world).unrelated


@CELLS
def test_a_classifier_that_keeps_no_samples_decides_by_the_world(labels: int, shots: int) -> None:
    objects, world, clf = drawn(labels, shots, spec=f"{SPEC},keep=0")
    assert not clf.samples
    assert decision_of(clf, world).again is None
    assert accepted(clf, world, objects.pictures(range(300, 400))) <= 0.1
    assert accepted(clf, world, objects.pictures(range(labels), 20)) >= 0.9


def test_a_single_label_without_a_world_has_no_decision_and_a_confidence_of_one_half() -> None:
    clf = Objects().taught(None, 1, 3, ALONE)
    assert Decision.of(clf.answer(), None) is None
    found = without_decision(clf.scores(np.ones((1, WIDTH)))[0])
    assert (found.confidence, found.known_probability) == (0.5, 0.5)
    assert (found.label, found.sure) == ("0", False)


def test_labels_taught_the_same_embedding_without_a_world_have_no_decision() -> None:
    clf = classifier(ALONE)
    for label in ("mug", "cup"):
        clf.learn(np.ones(WIDTH), label)
    assert Decision.of(clf.answer(), None) is None


def test_a_classifier_without_leave_one_out_scores_has_no_decision() -> None:
    assert Decision.of(classifier("ncm").answer(), None) is None
    scores = np.array([1.0, 2.0])
    found = without_decision(scores)
    assert [*found.confidences.values()] == pytest.approx(np.exp(scores) / np.exp(scores).sum())
    assert (found.label, found.known_probability) == ("1", 1.0)
    certain = without_decision(50 * scores)
    assert (certain.confidence > SURE, certain.sure) == (True, False)
