"""Calibration: turns scores into probabilities, and decides between known and unknown.

This is the calibration from the taught samples alone, for learners without a world. With one,
`robocle.recognition.world_calibration` is used.

The best score of a picture separates taught objects from unknown ones. It measures how far the
picture lies in the direction of a class, in units of the spread within classes. The distributions
of this score are estimated from the classifier's own leave-one-out scores, so no other data is
needed:

    known       A normal distribution with the mean of the best scores of left-out samples. Its
                standard deviation is at least half the distance to the mean of unknown objects,
                because objects are later seen under other conditions than they were taught in.
    unknown     A normal distribution with the mean of the best scores of left-out samples for
                other labels, relative to an origin without their own.
    confidence  P(known) * softmax(scores / temperature), with a high prior for known objects. The
                temperature is fitted to the left-out samples.

Some samples cannot be left out: the only picture of a label, and the classes if there are only two.
If such scores are missing, fixed multiples of the distance between the class means are assumed.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.world import World
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.slda.answer import Answer
from robocle.classifiers.softmax import softmax
from robocle.recognition.levels import require_level
from robocle.recognition.temperature import likely_temperature
from robocle.recognition.world_calibration import WorldCalibration
from robocle.types import Scores

# The prior probability of a known object, for the confidence.
KNOWN_PRIOR = 0.98
# The threshold is at most this quantile of the scores of unknown objects.
UNKNOWN_QUANTILE = 0.7
# Mean and standard deviation of scores, relative to the distance of the class means, that are
# assumed if leave-one-out scores are missing.
ASSUMED_KNOWN = (0.4, 0.15)
ASSUMED_UNKNOWN = (0.2, 0.15)
# The temperature, relative to the distance of the class means, that is assumed before any sample.
ASSUMED_TEMPERATURE = 0.04
# The fitted temperature is raised by this factor: pictures seen later differ more from the taught
# pictures than these differ from each other.
TEMPERATURE_MARGIN = 1.1
# The minimum number of samples for an empirical quantile: with fewer, one poor picture decides it.
MIN_FOR_QUANTILE = 100


@dataclass(frozen=True, eq=False)
class Calibration:
    """The distributions of one classifier's best scores, for known and for unknown objects."""

    known: NDArray[np.float64]
    """The best scores of left-out samples, ascending; empty if no sample could be left out."""
    unknown: NDArray[np.float64]
    """The best scores of these for other labels, ascending; empty with two labels."""
    distance: float
    """The mean distance of the class means from their centre."""
    temperature: float
    """The temperature of the softmax."""

    known_prior: ClassVar[float] = KNOWN_PRIOR
    """The prior probability of a known object, for the confidence."""

    @classmethod
    def of(cls, answer: Answer) -> "Calibration | None":
        """Return the calibration; None for a single label, or without leave-one-out scores."""
        found = answer.leave_one_out
        if found is None:
            return None
        classes = len(found.lengths)
        distance = float(found.lengths.mean())
        if classes < 2 or distance == 0:
            return None
        # Without a class, the class means also span one dimension less.
        widened = math.sqrt((classes - 1) / (classes - 2)) if classes > 2 else 1.0
        usable = ~found.singleton
        scores, rows = found.scores[usable], found.rows[usable]
        return cls(
            np.sort(found.familiarity[usable]),
            np.sort(widened * answer.for_others),
            distance,
            TEMPERATURE_MARGIN * likely_temperature(scores, rows, ASSUMED_TEMPERATURE * distance),
        )

    def probability_known(self, best: float, prior: float = 0.5) -> float:
        """Return the posterior probability that an object with this best score is known.

        Args:
            best: The best score of the picture.
            prior: The prior probability of a known object.
        """
        known, unknown = self.known_scores, self.unknown_scores
        # A score above the mean of known objects is no evidence against a known object, and a score
        # below the mean of unknown objects is no evidence against an unknown one.
        for_known = _log_density(known, min(best, known.mean))
        for_unknown = _log_density(unknown, max(best, unknown.mean))
        log_odds = for_known - for_unknown + math.log(prior / (1 - prior))
        return 1 / (1 + math.exp(min(-log_odds, 700.0)))

    def threshold(self, level: float) -> float:
        """Return the best score below which an object is called unknown.

        Args:
            level: The false-rejection rate under the conditions the objects were taught in.

        Raises:
            SpecError: The level is not between 0 and 0.5.
        """
        require_level(level)
        if level == 0:
            return -math.inf
        return min(self._lowest_known(level), self._highest_unknown)

    @cached_property
    def known_scores(self) -> NormalDist:
        """The distribution of the best scores of known objects."""
        mean, deviation = (share * self.distance for share in ASSUMED_KNOWN)
        if len(self.known):
            mean, deviation = float(self.known.mean()), float(self.known.std())
        gap = (mean - self.unknown_scores.mean) / 2
        return NormalDist(mean, max(deviation, gap, 1e-9 * self.distance))

    @cached_property
    def unknown_scores(self) -> NormalDist:
        """The distribution of the best scores of unknown objects."""
        mean, deviation = (share * self.distance for share in ASSUMED_UNKNOWN)
        if len(self.unknown):
            mean, deviation = float(self.unknown.mean()), float(self.unknown.std())
        return NormalDist(mean, max(deviation, 1e-9 * self.distance))

    def _lowest_known(self, level: float) -> float:
        count = len(self.known)
        if count >= max(MIN_FOR_QUANTILE, 1 / level):
            return float(self.known[int(level * (count + 1)) - 1])
        if count < 2:
            mean, deviation = (share * self.distance for share in ASSUMED_KNOWN)
            return NormalDist(mean, deviation).inv_cdf(level)
        from scipy.special import stdtrit  # imported here: it is as slow as the rest of robocle

        median, spread = self._lower_half
        return median + float(stdtrit(count - 1, level)) * spread

    @cached_property
    def _lower_half(self) -> tuple[float, float]:
        """Return the median of known scores, and the deviation of a new score below it.

        Only the lower half is used: high scores say nothing about how low the lowest scores are.
        """
        count = len(self.known)
        median = float(np.median(self.known))
        below = self.known[: (count + 1) // 2] - median
        return median, math.sqrt(float((below**2).mean()) * (1 + 1 / count))

    @cached_property
    def _highest_unknown(self) -> float:
        if len(self.unknown):
            return float(np.quantile(self.unknown, UNKNOWN_QUANTILE))
        return self.unknown_scores.inv_cdf(UNKNOWN_QUANTILE)


@dataclass(frozen=True)
class Recognition:
    """What the scores of one picture mean."""

    row: int
    """The index of the label with the best score."""
    confidence: float
    """The probability that this label is right, with the calibration's prior for known objects."""
    known: float
    """The posterior probability of a known object at even prior odds."""
    is_known: bool
    """Whether the familiarity reaches the threshold."""
    confidences: NDArray[np.float64]
    """The probability of each label, with the same prior. They sum to that of a known object."""
    familiarity: float
    """How much the picture looks like something taught; without a world, its best score."""


AnyCalibration = Calibration | WorldCalibration
"""The calibration of a learner without a world, or with one."""


def calibrated(answer: Answer | None, world: World | None) -> AnyCalibration | None:
    """Return the calibration of a classifier's scores.

    Args:
        answer: The answer of the classifier, if it has one.
        world: The world of the learner, if it has one. The classifier uses its pictures.

    Returns:
        The calibration; None if there is neither a world nor leave-one-out scores, or a single
        label and no world.
    """
    if answer is None:
        return None
    if world is None or answer.world is None:
        return Calibration.of(answer)
    return WorldCalibration.of(answer, world)


def recognise(
    scores: Scores, familiarity: float, calibration: AnyCalibration | None, unknown: float
) -> Recognition:
    """Interpret the scores of one picture.

    Args:
        scores: One score per label.
        familiarity: The familiarity of the picture; without a world, its best score.
        calibration: The calibration of the classifier. Without one, every object counts as known
            and the confidence is the softmax of the scores, or 0.5 for a single label.
        unknown: The level, as in `Learner.predict`.

    Raises:
        SpecError: The level is not between 0 and 0.5.
    """
    require_level(unknown)
    row = int(scores.argmax())
    if calibration is None:
        known = known_without_calibration(len(scores))
        confidences = known * softmax(scores)
        return Recognition(row, float(confidences[row]), known, True, confidences, familiarity)
    known = calibration.probability_known(familiarity)
    prior = calibration.known_prior
    confidences = calibration.probability_known(familiarity, prior) * softmax(
        scores / calibration.temperature
    )
    is_known = familiarity >= calibration.threshold(unknown)
    return Recognition(row, float(confidences[row]), known, is_known, confidences, familiarity)


def recognised(
    classifier: StreamingClassifier,
    embeddings: NDArray[Any],
    calibration: AnyCalibration | None,
    unknown: float,
) -> list[Recognition]:
    """Interpret the scores of some pictures; see `recognise`.

    Args:
        classifier: The classifier.
        embeddings: The embeddings of the pictures, (n, width).
        calibration: The calibration of the classifier.
        unknown: The level, as in `Learner.predict`.
    """
    scores, familiarity = scores_and_familiarity(classifier, embeddings)
    pairs = zip(scores, familiarity.tolist(), strict=True)
    return [recognise(*pair, calibration, unknown) for pair in pairs]


def scores_and_familiarity(
    classifier: StreamingClassifier, embeddings: NDArray[Any]
) -> tuple[Scores, NDArray[np.float64]]:
    """Return the scores (n, labels) of embeddings, and the familiarity; or the best scores."""
    answer = classifier.answer()
    if answer is not None:
        return answer.scores_and_familiarity(np.asarray(embeddings, np.float64))
    scores = classifier.scores(embeddings)
    return scores, scores.max(axis=1)


def known_without_calibration(labels: int) -> float:
    """Return the posterior probability of a known object if there is no calibration.

    Args:
        labels: The number of labels. With one there is nothing to compare with.
    """
    return 1.0 if labels > 1 else 0.5


def _log_density(distribution: NormalDist, value: float) -> float:
    return -(distribution.zscore(value) ** 2) / 2 - math.log(distribution.stdev)
