"""Known or unknown: one threshold for the familiarity, from three distributions of it.

After each lesson, the present classifier measures how familiar these pictures are:

    unrelated   the world's pictures: untaught objects anywhere, and pictures of nothing
    others      untaught objects in the user's own scene: each taught sample, scored for the best
                label that is not its own
    again       taught objects seen as they were taught: each taught sample when it is left out

The threshold is the larger of two bounds. Only the fraction of unrelated pictures that the user
allows is above the first one. The second one lies between others and again. Where others have
little in common with the taught objects, it is just below the middle of others, because taught
objects are less familiar in other places. The more others have in common with the taught objects,
as on one desk in front of one camera, the closer it is to again. Examples that were taught as
unknown move it up, at most to again.

The constants were chosen on four development sets. `docs/how-recognition-works.md` has the
measurements.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

import numpy as np

from robocle.backbones.world import World
from robocle.classifiers.samples import Vector
from robocle.classifiers.slda.answer import Answer
from robocle.recognition import DEFAULT_RATE, NEVER_UNKNOWN, require_rate
from robocle.recognition.temperature import likely_temperature

ROOM = 0.5
"""How many standard deviations the bound is below the mean of others that have nothing in common
with what was taught."""
ALONE = 0.5
"""How many it is above that mean without a world, which would reject what is unrelated."""
ABOVE = 0.5
"""How many it is above the mean of what was taught as unknown, at least."""
SEEN_AGAIN = 2.0
"""How many deviations below the median of what is seen again the bound is at most."""
# Priors, relative to the distance of the class means: of the mean of others, counted as half a pair
# of labels, and of the deviations, counted as so many samples.
SHARED, PAIRS = 0.25, 0.5
OTHERS_DEVIATION, OTHERS_SAMPLES = 0.12, 4
AGAIN_DEVIATION, AGAIN_SAMPLES = 0.05, 2
ONCE = 0.65
"""The median familiarity of what is seen again, if no sample can be left out."""
TEMPERATURE = 0.04
"""The temperature of the softmax that is assumed before any sample, without a world."""
# The probability of a known object is 1/2 at this part of the gap between the threshold and the
# median of what is seen again, and its odds are multiplied by e for every further STEEPNESS of it.
EVEN, STEEPNESS, LEAST_GAP = 0.2, 0.16, 0.05
TAIL = 0.1
"""The fraction of unrelated pictures, the most familiar ones, that is taken as exponential."""

_normal = NormalDist().inv_cdf


@dataclass(frozen=True)
class Spread:
    """The centre and the deviation of a distribution."""

    centre: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Unrelated:
    """The familiarity of unrelated pictures, ascending."""

    familiarity: Vector

    def bound(self, rate: float) -> float:
        """Return the familiarity that this fraction of unrelated pictures reaches.

        Few pictures cannot tell a small fraction, so the upper tail is taken as exponential. Its
        mean is that of the tail's pictures.

        >>> pictures = Unrelated(np.arange(100.0))
        >>> [round(pictures.bound(rate)) for rate in (0.5, 0.1, 0.01)]
        [50, 89, 102]
        """
        if rate >= TAIL:
            return _quantile(self.familiarity, 1 - rate)
        start = _quantile(self.familiarity, 1 - TAIL)
        beyond = self.familiarity[np.searchsorted(self.familiarity, start) :] - start
        return start + float(beyond.mean()) * math.log(TAIL / rate)

    def share_above(self, familiarity: float) -> float:
        """Return the fraction of these pictures that is more familiar."""
        place = np.searchsorted(self.familiarity, familiarity, side="right")
        return 1 - float(place) / len(self.familiarity)


@dataclass(frozen=True, eq=False)
class Decision:
    """Decides between known and unknown by the familiarity of a picture."""

    distance: float
    """The mean distance of the class means from the origin of the familiarity."""
    unrelated: Sequence[Unrelated]
    """Pictures of unrelated objects and of nothing; empty without a world."""
    others: Spread
    """What was not taught, in the user's own scene."""
    again: Spread | None
    """What is seen again as it was taught; None if no sample can be left out."""
    temperature: float
    """The temperature of the softmax over the scores."""
    examples: Vector = field(default_factory=lambda: np.empty(0))
    """The familiarity of what was taught as unknown."""

    @classmethod
    def of(cls, answer: Answer | None, world: World | None) -> "Decision | None":
        """Return the decision of a classifier.

        Args:
            answer: The answer of the classifier, if it has one.
            world: The world of the learner, if it has one. The classifier uses its pictures.

        Returns:
            The decision; None if there is neither a world nor a sample that can be left out, or
            if the class means have no direction from the origin: a single label without a world.
        """
        if answer is None or (answer.world is None and answer.leave_one_out is None):
            return None
        distance = float(answer.familiarity_lengths.mean())
        if distance == 0:
            return None
        world = world if answer.world is not None else None
        # Taught pictures may be looked at in another way than pictures to recognise.
        gain = world.gain if world else 1.0
        temperature, again = distance * (world.temperature if world else TEMPERATURE), None
        if (found := answer.leave_one_out) is not None and not found.singleton.all():
            usable = ~found.singleton
            again = _again(np.sort(gain * found.familiarity[usable]), distance)
            temperature = likely_temperature(found.scores[usable], found.rows[usable], temperature)
        unrelated = _unrelated(answer.world_familiarity, world)
        others = _others(gain * answer.for_others, len(answer.lengths), distance)
        examples = gain * answer.familiarity_of_unknown
        return cls(distance, unrelated, others, again, temperature, examples)

    def threshold(self, false_accept: float = DEFAULT_RATE) -> float:
        """Return the familiarity below which an object is called unknown.

        Args:
            false_accept: The fraction of unrelated objects that may be taken for a taught one, from
                0.001 to 0.5; 1 calls nothing unknown. A smaller one always moves the threshold up.

        Raises:
            SpecError: The rate is out of range.
        """
        require_rate(false_accept)
        if false_accept == NEVER_UNKNOWN:
            return -math.inf
        stricter = _normal(1 - false_accept) - _normal(1 - DEFAULT_RATE)
        bounds = [pictures.bound(false_accept) for pictures in self.unrelated]
        return max([*bounds, self._own_scene(stricter)])

    def _own_scene(self, stricter: float) -> float:
        """Return the bound between others and what is seen again. Examples only move it up.

        Args:
            stricter: How many deviations it is above that of the default rate.
        """
        room = ROOM * (1 - self.shared) if self.unrelated else -ALONE
        lower = self.others.centre + (stricter - room) * self.others.deviation
        upper = math.inf
        if self.again is not None:
            upper = self.again.centre + (stricter - SEEN_AGAIN) * self.again.deviation
            lower = min(upper, lower + self.shared**2 * (upper - lower))
        if len(self.examples):
            found = _spread(self.examples, self.distance)
            lower = max(lower, min(upper, found.centre + (stricter + ABOVE) * found.deviation))
        return lower

    @property
    def examples_accepted(self) -> int:
        """How many of the examples of what is unknown would be taken for a taught object."""
        return int((self.examples >= self._default_threshold).sum())

    @property
    def shared(self) -> float:
        """How much others have in common with what was taught, from 0 to 1."""
        return min(max(self.others.centre / self.distance, 0.0), 1.0)

    def probability_known(self, familiarity: float) -> float:
        """Return the probability that an object was taught, if half of all objects were."""
        log_odds = (familiarity - self.even) / self.spread
        return 1 / (1 + math.exp(min(-log_odds, 700.0)))

    @cached_property
    def even(self) -> float:
        """The familiarity at which an object is as likely to be known as unknown."""
        return self._default_threshold + EVEN * self._gap

    @cached_property
    def spread(self) -> float:
        """The change of the familiarity that multiplies the odds of a known object by e."""
        return STEEPNESS * self._gap

    @cached_property
    def _default_threshold(self) -> float:
        return self.threshold()

    @cached_property
    def _gap(self) -> float:
        """The gap between the threshold and the median of what is seen again."""
        again = self.again.centre if self.again else ONCE * self.distance
        return max(again - self._default_threshold, LEAST_GAP * self.distance)


def _unrelated(familiarity: Vector | None, world: World | None) -> tuple[Unrelated, ...]:
    if familiarity is None or world is None:
        return ()
    parts = familiarity[: world.objects], familiarity[world.objects :]
    return tuple(Unrelated(np.sort(part)) for part in parts if len(part))


def _others(found: Vector, labels: int, distance: float) -> Spread:
    """Return the familiarity of what was not taught, in the user's own scene."""
    pairs = labels * (labels - 1) if len(found) else 0
    spread = _spread(found, distance)
    centre = (pairs * spread.centre + PAIRS * SHARED * distance) / (pairs + PAIRS)
    return Spread(centre, spread.deviation)


def _spread(found: Vector, distance: float) -> Spread:
    """Return the mean and the standard deviation, with a prior."""
    mean = float(found.mean()) if len(found) else 0.0
    squares, number = float(((found - mean) ** 2).sum()), max(len(found) - 1, 0)
    return Spread(mean, _deviation(squares, number, OTHERS_DEVIATION * distance, OTHERS_SAMPLES))


def _again(ascending: Vector, distance: float) -> Spread:
    """Return the median, and the deviation below it: the best ones say nothing about the worst."""
    median = float(np.median(ascending))
    below = ascending[: (len(ascending) + 1) // 2] - median
    squares = float((below**2).sum())
    return Spread(
        median, _deviation(squares, len(below), AGAIN_DEVIATION * distance, AGAIN_SAMPLES)
    )


def _deviation(squares: float, number: int, prior: float, weight: int) -> float:
    """Return a standard deviation, with a prior that counts as some samples."""
    return math.sqrt((squares + weight * prior**2) / (number + weight))


def _quantile(ascending: Vector, level: float) -> float:
    """Return a quantile of sorted values, as `np.quantile` does in a tenth of the time.

    >>> _quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    place = level * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return float(ascending[below] + (place - below) * (ascending[above] - ascending[below]))
