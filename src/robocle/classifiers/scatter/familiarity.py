"""Familiarity: how much a picture looks like something taught, rather than like anything at all.

Two questions have two origins. Which label it is, is asked relative to the mean c of the class
means: what all labels have in common says nothing about it. Whether it is one of them is asked
relative to an origin f near the mean of the world, the pictures of anything: what all labels have
in common is then what speaks for a taught object. The familiarity of a picture z is the best of

    (z - f) A (m_j - f) / |m_j - f|

over the class means m_j. It follows from the scores, which are the same with c instead of f.
"""

from dataclasses import dataclass

from robocle.classifiers.scatter.cosine import MeanProducts, inverse_lengths
from robocle.classifiers.state import Matrix, Vector
from robocle.types import Scores


@dataclass(frozen=True, eq=False)
class Familiarity:
    """Computes the familiarity of pictures from their scores. It never changes.

    For each class, it is gain * score + slope * (direction . z) + offset.
    """

    direction: Vector
    """A (c - f), (width,)."""
    gains: Vector
    """|m_j - c| / |m_j - f| per class."""
    slopes: Vector
    """1 / |m_j - f| per class; 0 for a class without a direction."""
    offsets: Vector

    @classmethod
    def of(cls, direction: Vector, ranking: MeanProducts, judging: MeanProducts) -> "Familiarity":
        """Return the familiarity of a classifier's pictures.

        Args:
            direction: A (c - f).
            ranking: The products of the class means with the origin c of the scores.
            judging: The same with the origin f, and with the world's mean as the last row.
        """
        classes = len(judging.squares) - 1
        slopes = inverse_lengths(judging.distances_from_centre()[:classes])
        moved = ranking.towards_centre[:classes] - judging.towards_centre[:classes]
        moved = moved + (judging.centre_square - ranking.centre_square)
        lengths = ranking.distances_from_centre()[:classes]
        return cls(direction, lengths * slopes, slopes, moved * slopes)

    def best(self, embeddings: Matrix, scores: Scores) -> Vector:
        """Return the familiarity of each embedding, (n,).

        Args:
            embeddings: The embeddings, (n, width).
            scores: Their scores, (n, classes).
        """
        along = embeddings @ self.direction
        found: Vector = (self.gains * scores + along[:, None] * self.slopes + self.offsets).max(1)
        return found

    def linear(self, weights: Matrix, bias: Vector) -> tuple[Matrix, Vector]:
        """Return W and b so that the familiarity of z is the largest of W z + b.

        Args:
            weights: W of the scores.
            bias: b of the scores.
        """
        rows = self.gains[:, None] * weights + self.slopes[:, None] * self.direction
        return rows, self.gains * bias + self.offsets
