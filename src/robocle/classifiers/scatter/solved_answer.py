"""Everything that predictions need, solved anew after each change.

`robocle.classifiers.scatter.following` computes the same by updates, where that is possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.block_weights import estimated_weight
from robocle.classifiers.scatter.blocks import BlockScatters, Regulariser
from robocle.classifiers.scatter.cosine import MeanProducts, cosine_discriminant
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.classifiers.scatter.leave_one_out import LeaveOneOut, LeftOutSamples, chosen_samples
from robocle.classifiers.scatter.origin import Origin, WorldPictures
from robocle.classifiers.state import Matrix, Vector
from robocle.types import Scores


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """Scores embeddings z with W z + b. It never changes."""

    weights: Matrix
    bias: Vector

    def scores(self, embeddings: Matrix) -> Scores:
        """Return the scores of embeddings (n, width)."""
        with one_blas_thread():
            scores: Scores = embeddings @ self.weights.T + self.bias
        return scores

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b."""
        return self.weights, self.bias


@dataclass(frozen=True, eq=False)
class SolvedAnswer:
    """What predictions need. Each part is computed when it is first used, before the next change.

    Args:
        scatters: The scatter and the class means of each block.
        regularisers: Share and ridge of each block.
        counts: The number of samples taught per class.
        origins: The origin of the familiarity in each block.
        world: Pictures of anything, or None.
        score: `linear` or `cosine`.
        earlier: The weight of the blocks from the earlier map, or `auto`.
        leaves_out: Whether there are leave-one-out scores.
    """

    scatters: BlockScatters
    regularisers: Sequence[Regulariser]
    counts: Sequence[int]
    origins: Sequence[Origin]
    world: WorldPictures | None
    score: str
    earlier: float | str
    leaves_out: bool

    @cached_property
    def scorer(self) -> LinearScorer:
        """Computes the scores."""
        rows, products, _ = self._solution
        if self.score == "linear":
            return LinearScorer(rows, -0.5 * products.squares)
        weights, bias = cosine_discriminant(rows, products)
        classes = len(self.counts)
        return LinearScorer(weights[:classes], bias[:classes])

    @cached_property
    def familiarity(self) -> Familiarity | None:
        """The familiarity of pictures; None if there is no world."""
        if self.world is None:
            return None
        rows, ranking, judging = self._solution
        return Familiarity.of((ranking.shares - judging.shares) @ rows, ranking, judging)

    @cached_property
    def _solution(self) -> tuple[Matrix, MeanProducts, MeanProducts]:
        """The rows A m_j, and their products with the origins of the scores and the familiarity.

        With a world, its mean is the last row.
        """
        rows, judging = self.scatters.solve(self.regularisers, self.weights, self.origins)
        if self.world is None:
            return rows, judging, judging
        mean = np.concatenate([origin.fixed[0] for origin in self.origins])
        return rows, judging.without_last(rows @ mean), judging

    @cached_property
    def world_familiarity(self) -> Vector | None:
        """The familiarity of each picture of the world; None if there is no world."""
        familiarity = self.familiarity
        if self.world is None or familiarity is None:
            return None
        with one_blas_thread():
            return self.world.best_scores(*familiarity.linear(*self.scorer.linear()))

    @property
    def weights(self) -> list[float]:
        """The weight of each block."""
        return self._weighted[0]

    @property
    def left_out(self) -> LeaveOneOut | None:
        """Leave-one-out scores of chosen samples; None if there are none."""
        return self._weighted[1]

    @cached_property
    def _weighted(self) -> tuple[list[float], LeaveOneOut | None]:
        """The weights, and the leave-one-out scores: both need the samples, which are not kept."""
        samples = self._samples() if self.leaves_out else None
        last, earlier = self.scatters.last, self.scatters.count - self.scatters.last
        weights = [1.0] * self.scatters.count
        if earlier > 0:
            weights[last:] = [self._earlier_weight(samples)] * earlier
        return weights, samples.scored(weights) if samples is not None else None

    def _earlier_weight(self, samples: LeftOutSamples | None) -> float:
        if not isinstance(self.earlier, str):
            return float(self.earlier)
        return estimated_weight(samples, sum(count for count in self.counts if count > 1))

    def _samples(self) -> LeftOutSamples:
        chosen = chosen_samples(self.scatters.residual_counts(self.counts))
        found = self.scatters.left_out(self.regularisers, chosen, self.counts, self.origins)
        return next(found)
