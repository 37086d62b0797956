"""Calibration with a world: known and unknown from the first picture on.

Two bounds are measured on the classifier as it is now:

    unrelated   the 98 % quantile of the familiarity of the world's pictures of objects, or of its
                pictures of nothing, whichever is higher. Other pictures differ from the world's in
                style: of unrelated objects, and of walls and darkness, at most about 5 % are more
                familiar.
    known       the quantile of the familiarity of left-out samples that the level names: of taught
                objects that are seen again as they were taught, about that many are less familiar.
                It is at most the median of objects that are seen again under other conditions,
                relative to the distance of the class means, which the world has measured: a burst
                of frames makes left-out samples far too sure. It stands in for labels with a single
                picture, too, which cannot be left out.

The threshold is halfway between both, because objects are seen under other conditions than they
were taught in, and unrelated objects differ from the world's pictures. If the bounds overlap, it is
the bound of unrelated objects. The probability of a known object is a logistic function of its
familiarity: 1/2 at the threshold of the default level, 95 % at the bound of known objects and 5 %
at that of unrelated ones. The label is decided by the scores alone.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.world import World
from robocle.classifiers.samples import Vector
from robocle.classifiers.slda.answer import Answer
from robocle.recognition.levels import DEFAULT_UNKNOWN, require_level
from robocle.recognition.temperature import likely_temperature

UNRELATED = 0.05
"""The fraction of unrelated objects that may be accepted."""
OF_THE_WORLD = 0.02
"""The fraction of the world's pictures that may be accepted, so that this holds for others."""


@dataclass(frozen=True, eq=False)
class WorldCalibration:
    """The meaning of one classifier's familiarity, from its world and its left-out samples."""

    known: NDArray[np.float64]
    """The familiarity of known objects, ascending: of left-out samples, and what the world has
    measured for each label with a single picture, or for all labels if no sample is kept."""
    world: NDArray[np.float64]
    """The familiarity of the world's pictures, ascending."""
    unrelated: float
    """The familiarity that at most about 5 % of unrelated objects reach."""
    distance: float
    """The mean distance of the class means from the origin of the familiarity."""
    again: float
    """The median familiarity of objects that are seen again under other conditions."""
    temperature: float
    """The temperature of the softmax."""

    known_prior: ClassVar[float] = 0.5
    """The prior probability of a known object, for the confidence."""

    @classmethod
    def of(cls, answer: Answer, world: World) -> "WorldCalibration | None":
        """Return the calibration; None if the class means have no direction from the origin.

        Args:
            answer: The answer of a classifier that uses the pictures of the world.
            world: The world.
        """
        familiarity, found = answer.world_familiarity, answer.leave_one_out
        assert familiarity is not None
        distance = float(answer.familiarity_lengths.mean())
        if distance == 0:
            return None
        seen, known, single = world.seen_again, np.empty(0), len(answer.familiarity_lengths)
        temperature = seen.temperature * distance
        if found is not None and len(found.rows):
            usable = ~found.singleton
            known, single = found.familiarity[usable], int(found.singleton.sum())
            temperature = likely_temperature(found.scores[usable], found.rows[usable], temperature)
        return cls(
            np.sort(np.concatenate([known, np.full(single, seen.once * distance)])),
            np.sort(familiarity),
            _unrelated(familiarity, world.objects),
            distance,
            (seen.several if len(known) else seen.once) * distance,
            temperature,
        )

    def threshold(self, level: float) -> float:
        """Return the familiarity below which an object is called unknown.

        Args:
            level: The fraction of taught objects, seen again as they were taught, that may be
                called unknown. 0 calls nothing unknown.

        Raises:
            SpecError: The level is not between 0 and 0.5.
        """
        require_level(level)
        if level == 0:
            return -math.inf
        return max(self.unrelated, (self.unrelated + self._lowest_known(level)) / 2)

    def probability_known(self, familiarity: float, prior: float = 0.5) -> float:
        """Return the posterior probability that an object is known.

        Args:
            familiarity: The familiarity of its picture.
            prior: The prior probability of a known object.
        """
        log_odds = (familiarity - self._default_threshold) / self.spread
        log_odds += math.log(prior / (1 - prior))
        return 1 / (1 + math.exp(min(-log_odds, 700.0)))

    @cached_property
    def _default_threshold(self) -> float:
        return self.threshold(DEFAULT_UNKNOWN)

    def share_above(self, familiarity: float) -> float:
        """Return the fraction of the world's pictures that are more familiar than this."""
        return 1 - float(np.searchsorted(self.world, familiarity, side="right")) / len(self.world)

    @cached_property
    def spread(self) -> float:
        """The change of the familiarity that multiplies the odds of a known object by e."""
        gap = abs(self._lowest_known(DEFAULT_UNKNOWN) - self.unrelated)
        # Scores that differ by less than the temperature do not tell labels apart, either.
        return max(gap / (2 * math.log(1 / UNRELATED - 1)), self.temperature)

    def _lowest_known(self, level: float) -> float:
        return min(_quantile(self.known, level), self.again)


def _unrelated(scores: Vector, objects: int) -> float:
    parts = [part for part in (scores[:objects], scores[objects:]) if len(part)]
    return max(_quantile(np.sort(part), 1 - OF_THE_WORLD) for part in parts)


def _quantile(ascending: Vector, level: float) -> float:
    """Return a quantile of sorted scores, as `np.quantile` does in a tenth of the time.

    >>> _quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    place = level * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return float(ascending[below] + (place - below) * (ascending[above] - ascending[below]))
