"""What predictions need after a lesson. It never changes: predictions can run beside a lesson.

Scores and familiarity use different origins. Scores decide between the labels and are relative to
the mean c of the class means, because what all labels have in common does not tell them apart. The
familiarity decides between known and unknown and is relative to an origin f near the mean of the
world, the pictures of anything: what all labels have in common is then evidence for a taught
object. The score of a class with the mean m, and its familiarity, are

    (z - c) A (m - c) / |m - c|      (z - f) A (m - f) / |m - f|,   f = c labels / (labels + world)

The familiarity of a picture z is the best over all classes. All points are relative to the world's
mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.slda.left_out import LeaveOneOut, LeftOut
from robocle.classifiers.slda.weights import MeanProducts, Weights, inverted
from robocle.types import Scores


@dataclass(frozen=True, eq=False)
class Familiarity:
    """The familiarity for each class: gain * score + slope * (direction . z) + offset."""

    gains: Vector
    slopes: Vector
    direction: Vector
    offsets: Vector

    def linear(self, weights: Matrix, bias: Vector) -> tuple[Matrix, Vector]:
        """Return W and b with familiarity = W z + b, from those of the scores."""
        along = self.slopes[:, None] * self.direction
        return self.gains[:, None] * weights + along, self.gains * bias + self.offsets


@dataclass(frozen=True, eq=False)
class Answer:
    """What predictions need: it computes scores and familiarity."""

    origin: Vector
    """What all points are relative to."""
    parts: Sequence[slice]
    """Where each block is in an embedding."""
    blocks: Sequence[Weights]
    """The rows A m_j of each block."""
    weights: Vector
    """The weight of each block, with the scale of its A."""
    means: MeanProducts
    world: float | None
    """How many class means the world's mean counts as; None without a world."""
    is_linear: bool
    """Whether the scores are the paper's: z A m_j - m_j A m_j / 2."""
    towards: Matrix
    """x A m_j of the world's pictures x, and then of what was taught as unknown."""
    pictures: int
    """How many of these are pictures of the world."""
    left_out: LeftOut | None
    """Samples that are left out; None if there are none."""
    maps: Vector
    """The weight of each map: the last one and, if there is one, the earlier one."""

    def scores(self, embeddings: Matrix) -> Scores:
        """Return the scores of embeddings (n, width)."""
        return self.scores_and_familiarity(embeddings)[0]

    def scores_and_familiarity(self, embeddings: Matrix) -> tuple[Scores, Vector]:
        """Return the scores (n, classes), and the familiarity; without a world, the best score."""
        with one_blas_thread():
            towards = self._towards(embeddings)
        if self.is_linear:
            scores: Scores = towards - self.means.squares / 2
            return scores, scores.max(axis=1)
        scores = self.means.scores(towards, 1.0, self.lengths)
        if self.world is None:
            return scores, scores.max(axis=1)
        familiarity = self.means.scores(towards, self.share, self.familiarity_lengths)
        return scores, familiarity.max(axis=1)

    def _towards(self, embeddings: Matrix) -> Matrix:
        """Return z A m_j of embeddings z, (n, classes)."""
        points, total = embeddings - self.origin, np.zeros((len(embeddings), len(self.lengths)))
        for block, weight, part in zip(self.blocks, self.weights, self.parts, strict=True):
            total += weight * block.times(points[:, part])
        return total

    @property
    def share(self) -> float:
        """How much of the mean of the class means the origin of the familiarity is."""
        classes = len(self.means.centre)
        return classes / (classes + (self.world or 0.0))

    @cached_property
    def lengths(self) -> Vector:
        """The distance of each class mean from the origin of the scores."""
        return self.means.lengths(1.0)

    @cached_property
    def familiarity_lengths(self) -> Vector:
        """The distance of each class mean from the origin of the familiarity."""
        return self.means.lengths(self.share)

    @cached_property
    def world_familiarity(self) -> Vector | None:
        """The familiarity of each picture of the world; None without one."""
        return self._familiarity[: self.pictures] if self.world is not None else None

    @property
    def familiarity_of_unknown(self) -> Vector:
        """The familiarity of each sample that was taught as unknown."""
        return self._familiarity[self.pictures :]

    @cached_property
    def _familiarity(self) -> Vector:
        scores = self.means.scores(self.towards, self.share, self.familiarity_lengths)
        return np.asarray(scores.max(axis=1))

    @cached_property
    def leave_one_out(self) -> LeaveOneOut | None:
        """Leave-one-out scores of some samples; None if there are none."""
        return self.scored(self.left_out) if self.left_out is not None else None

    def scored(self, left_out: LeftOut) -> LeaveOneOut:
        """Return the scores of samples that are left out."""
        return left_out.scored(self.maps, self.world or 0.0)

    @cached_property
    def for_others(self) -> Vector:
        """The familiarity of left-out samples for the best other class; it may be empty."""
        if self.left_out is None:
            return np.empty(0)
        return self.left_out.for_others(self.maps, self.world or 0.0)

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b."""
        rows, centre = self._rows(), self.means.centre
        if self.is_linear:
            return rows, -self.means.squares / 2 - rows @ self.origin
        inverse = inverted(self.lengths)
        rows -= rows.mean(axis=0)
        bias = centre.mean() - centre - rows @ self.origin
        return rows * inverse[:, None], bias * inverse

    def familiarity(self) -> Familiarity | None:
        """Return how the familiarity follows from the scores; None without a world."""
        if self.world is None:
            return None
        share, centre, slopes = self.share, self.means.centre, inverted(self.familiarity_lengths)
        direction = (1 - share) * self._rows().mean(axis=0)
        offsets = (1 - share) * centre + (share**2 - 1) * centre.mean() - direction @ self.origin
        return Familiarity(self.lengths * slopes, slopes, direction, offsets * slopes)

    def _rows(self) -> Matrix:
        """Return the rows A m_j, with the weight of each block."""
        pairs = zip(self.weights, self.blocks, strict=True)
        return np.hstack([weight * block.rows() for weight, block in pairs])
