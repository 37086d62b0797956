"""Recognition: what scores mean: how likely a label is right, and whether a thing is known at all.

The best score of a picture tells known from unknown things: it is how far the picture lies in the
direction of a class, in units of the spread within classes. What known and unknown things score is
read off the leave-one-out scores, so nothing but the classifier's own statistics is needed. Where
they say too little (one picture a label, two labels), shares of the class means' own distance are
assumed.

    known       normal about the mean of the samples left out, and at least so wide that unknown
                things begin two deviations below: things are met in other conditions than taught
    unknown     normal about the mean of the samples whose class was left out
    confidence  = P(known) * softmax(scores / temperature), most things that are met being known;
                the temperature is fitted to the samples left out, near a share of the class means'
                distance where they do not tell
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
from robocle.classifiers.softmax import softmax
from robocle.errors import SpecError
from robocle.spec import require_between

Scores = NDArray[np.float64]

DEFAULT_UNKNOWN = 0.05
"""How many of the known things may be called unknown."""
LARGEST_UNKNOWN = 0.5
# How many of the things that are met are known, as far as confidence goes.
KNOWN_PRIOR = 0.98
# A threshold is no higher than this share of unknown things needs it.
CAUGHT = 0.7
# (mean, deviation) of scores as shares of the class means' distance, where nothing else is known.
ASSUMED_KNOWN = (0.4, 0.15)
ASSUMED_UNKNOWN = (0.2, 0.15)
ASSUMED_TEMPERATURE, TEMPERATURE_SPREAD = 0.04, 0.5
# What is met later is less like the lessons than these, looked at in several views, are alike.
LATER = 1.1
TEMPERATURE_STEPS = np.exp(np.linspace(-2, 2, 41))
# Fewer samples than this do not show their own lowest twentieth: one poor picture would be it.
ENOUGH = 100


@dataclass(frozen=True, eq=False)
class Calibration:
    """How the scores of one classifier are to be read."""

    known: Scores
    """The best scores of samples left out, in order; empty if none could be."""
    unknown: Scores
    """The best scores of samples whose class was left out, in order; empty with two labels."""
    distance: float
    """The mean distance of the class means from their centre."""
    temperature: float

    @classmethod
    def of(cls, leave_one_out: LeaveOneOut) -> "Calibration | None":
        """The calibration of a classifier that rehearsed; None if it knows a single thing."""
        distance = float(leave_one_out.lengths.mean())
        if len(leave_one_out.lengths) < 2 or distance == 0:
            return None
        # With a class fewer there was a direction fewer to lie in.
        classes = len(leave_one_out.lengths)
        widened = math.sqrt((classes - 1) / (classes - 2)) if classes > 2 else 1.0
        told = ~leave_one_out.singleton
        scores, rows = leave_one_out.scores[told], leave_one_out.rows[told]
        return cls(
            np.sort(scores.max(axis=1, initial=-np.inf)),
            np.sort(widened * leave_one_out.class_left_out),
            distance,
            LATER * _temperature(scores, rows, ASSUMED_TEMPERATURE * distance),
        )

    def probability_known(self, best: float, prior: float = 0.5) -> float:
        """How likely a thing with this best score is one of those taught.

        The prior is how likely it is so before one looks.
        """
        known, unknown = self._known_scores, self._unknown_scores
        # Better than known things are on average is no less known, and worse than unknown no more.
        for_it = _log_density(known, min(best, known.mean))
        against = _log_density(unknown, max(best, unknown.mean))
        odds = for_it - against + math.log(prior / (1 - prior))
        return 1 / (1 + math.exp(min(-odds, 700.0)))

    def threshold(self, level: float) -> float:
        """The best score under which a thing is called unknown.

        About the share `level` of known things are at most, met as they were taught.
        """
        require_level(level)
        if level == 0:
            return -math.inf
        return min(self._lowest_known(level), self._highest_unknown)

    @cached_property
    def _known_scores(self) -> NormalDist:
        mean, deviation = (part * self.distance for part in ASSUMED_KNOWN)
        if len(self.known):
            mean, deviation = float(self.known.mean()), float(self.known.std())
        gap = (mean - self._unknown_scores.mean) / 2
        return NormalDist(mean, max(deviation, gap, 1e-9 * self.distance))

    @cached_property
    def _unknown_scores(self) -> NormalDist:
        mean, deviation = (part * self.distance for part in ASSUMED_UNKNOWN)
        if len(self.unknown):
            mean, deviation = float(self.unknown.mean()), float(self.unknown.std())
        return NormalDist(mean, max(deviation, 1e-9 * self.distance))

    def _lowest_known(self, level: float) -> float:
        count = len(self.known)
        if count >= max(ENOUGH, 1 / level):
            return float(self.known[int(level * (count + 1)) - 1])
        if count < 2:
            mean, deviation = (part * self.distance for part in ASSUMED_KNOWN)
            return NormalDist(mean, deviation).inv_cdf(level)
        from scipy.special import stdtrit  # here, for it takes as long to import as all of robocle

        median, spread = self._lower_half
        return median + float(stdtrit(count - 1, level)) * spread

    @cached_property
    def _lower_half(self) -> tuple[float, float]:
        """The median of known scores, and how far a new one may lie below.

        Things that score very well say nothing of those that score badly: the lower half alone.
        """
        count = len(self.known)
        median = float(np.median(self.known))
        below = self.known[: (count + 1) // 2] - median
        return median, math.sqrt(float((below**2).mean()) * (1 + 1 / count))

    @cached_property
    def _highest_unknown(self) -> float:
        if len(self.unknown):
            return float(np.quantile(self.unknown, CAUGHT))
        return self._unknown_scores.inv_cdf(CAUGHT)


@dataclass(frozen=True)
class Recognition:
    """What the scores of one picture say."""

    row: int
    """The label with the best score."""
    confidence: float
    """How likely that label is right, most things that are met being known."""
    known: float
    """How likely it is one of the taught things, at even odds."""
    is_known: bool
    """Whether it is called known at the level that was asked for."""


def recognised(scores: Scores, calibration: Calibration | None, unknown: float) -> Recognition:
    """Read the scores of one picture.

    Without a calibration every thing is known, and the confidence is the label's plain share; with
    a single label there is nothing to compare with, and it may be that or anything.
    """
    require_level(unknown)
    row = int(scores.argmax())
    best = float(scores[row])
    if calibration is None:
        known = 1.0 if len(scores) > 1 else 0.5
        return Recognition(row, known * float(softmax(scores)[row]), known, True)
    known = calibration.probability_known(best)
    confidence = calibration.probability_known(best, KNOWN_PRIOR)
    confidence *= float(softmax(scores / calibration.temperature)[row])
    return Recognition(row, confidence, known, best >= calibration.threshold(unknown))


def require_level(unknown: float) -> None:
    """Refuse a level that is no share up to a half."""
    if not isinstance(unknown, int | float):
        raise SpecError(f"unknown={unknown!r} is no number: give 0 to {LARGEST_UNKNOWN}")
    require_between("unknown", unknown, 0, LARGEST_UNKNOWN)


def _log_density(distribution: NormalDist, value: float) -> float:
    return -(distribution.zscore(value) ** 2) / 2 - math.log(distribution.stdev)


def _temperature(scores: Scores, rows: NDArray[np.int64], assumed: float) -> float:
    """The most likely temperature: log-normal about the assumed one before the samples speak."""
    tried = assumed * TEMPERATURE_STEPS
    losses = [_surprise(scores / temperature, rows) for temperature in tried]
    prior = (np.log(TEMPERATURE_STEPS) / TEMPERATURE_SPREAD) ** 2 / 2
    return float(tried[np.argmin(losses + prior)])


def _surprise(logits: Scores, rows: NDArray[np.int64]) -> float:
    """The negative log-likelihood of the samples' own labels."""
    own = softmax(logits)[np.arange(len(rows)), rows]
    return -float(np.log(np.maximum(own, 1e-300)).sum())
