"""The origin of the familiarity: the mean of the class means and, if there is one, the world's.

The mean of a few class means depends on what happens to be taught: that of two kinds of milk is a
carton, and any other object lies in some direction from it. The world's mean w, the mean embedding
of pictures of anything, counts as `weight` further classes:

    c = (sum of the class means + weight w) / (classes + weight)

So the origin stays near w while few labels are taught, and a single label has a direction, too. The
world's mean is a fixed row beside the class means. It is no part of the sums that are learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from robocle.classifiers.state import Matrix, Vector
from robocle.types import Embeddings

MAX_WORLD = 1000


@dataclass(frozen=True, eq=False)
class Origin:
    """What counts in the origin beside the class means."""

    fixed: Matrix
    """The world's mean, (1, width); (0, width) if there is no world."""
    weight: float
    """How many class means the world's mean counts as."""

    @classmethod
    @cache
    def none(cls, width: int) -> "Origin":
        """Return the origin without a world, always the same object, so that solutions are kept."""
        return cls(np.empty((0, width)), 0.0)

    def shares(self, classes: int) -> Vector:
        """Return the share of each class mean, and then of the fixed row, in the origin.

        >>> Origin(np.zeros((1, 8)), 2.0).shares(2).tolist()
        [0.25, 0.25, 0.5]
        """
        rows = np.concatenate([np.ones(classes), np.full(len(self.fixed), self.weight)])
        shares: Vector = rows / rows.sum() if len(rows) else rows
        return shares

    def all_shares(self, classes: int) -> list[Vector]:
        """Return the shares in the origin of the familiarity, then of the scores if it differs."""
        shares = [self.shares(classes)]
        return [*shares, self.shares_without_world(classes)] if len(self.fixed) else shares

    def shares_without_world(self, classes: int) -> Vector:
        """Return the shares in the mean of the class means alone: 0 for the fixed row.

        >>> Origin(np.zeros((1, 8)), 2.0).shares_without_world(2).tolist()
        [0.5, 0.5, 0.0]
        """
        return np.concatenate([np.full(classes, 1 / max(classes, 1)), np.zeros(len(self.fixed))])

    def split(self, widths: Sequence[int]) -> list["Origin"]:
        """Return the origin of each block of the embedding."""
        ends = np.cumsum(widths[:-1])
        return [Origin(part, self.weight) for part in np.split(self.fixed, ends, axis=1)]


class WorldPictures:
    """Embeddings of pictures of anything. They never change, so copies of a classifier share them.

    Args:
        pictures: The embeddings (n, width).
    """

    def __init__(self, pictures: Embeddings) -> None:
        self.pictures = pictures
        self._mean = pictures.mean(axis=0, dtype=np.float64)[None]
        self._origins: dict[tuple[float, tuple[int, ...]], list[Origin]] = {}

    def __deepcopy__(self, _: object) -> "WorldPictures":
        return self

    @property
    def width(self) -> int:
        """The width of an embedding."""
        return int(self.pictures.shape[1])

    def origins(self, weight: float, widths: tuple[int, ...]) -> list[Origin]:
        """Return the origin of each block, always the same objects, so that solutions are kept.

        Args:
            weight: How many class means the world's mean counts as.
            widths: The width of each block.
        """
        if (weight, widths) not in self._origins:
            self._origins[weight, widths] = Origin(self._mean, weight).split(widths)
        return self._origins[weight, widths]

    def best_scores(self, weights: Matrix, bias: Vector) -> Vector:
        """Return the familiarity of each picture; in float32, which changes none by 1e-5.

        Args:
            weights: W with which the familiarity of z is the largest of W z + b.
            bias: b.
        """
        scores = self.pictures @ weights.T.astype(np.float32) + bias.astype(np.float32)
        best: Vector = scores.max(axis=1).astype(np.float64)
        return best
