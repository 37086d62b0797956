"""Everything that predictions need after a lesson, from blocks that follow the samples.

An `Answer` never changes. A lesson leads to another answer, and predictions that began with the one
before go on with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.block_weights import estimated_weight, prior_weight
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.classifiers.scatter.followed_block import Beside, FollowedBlock
from robocle.classifiers.scatter.followed_scores import (
    MOST_COLUMNS,
    ChosenSamples,
    CosineScorer,
    restricted,
    sample_products,
    similar_classes,
)
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.leave_one_out import LeaveOneOut, LeftOutSamples, without_world
from robocle.classifiers.scatter.origin import Origin, WorldPictures
from robocle.classifiers.state import Matrix, Vector

# A scatter is factorised again after this many samples, and the next block after some more: so one
# lesson has to wait for one factorisation at most.
MOST_UPDATES, MORE_PER_BLOCK = 64, 8

Regulariser = tuple[float, Vector]


@dataclass(frozen=True, eq=False)
class Answer:
    """What predictions need."""

    scorer: CosineScorer
    familiarity: Familiarity | None
    """The familiarity of pictures; None if there is no world."""
    weights: list[float]
    """The weight of each block."""
    left_out: LeaveOneOut | None
    world_scores: Vector | None
    """The familiarity of each picture of the world."""

    def __deepcopy__(self, memo: dict[int, object]) -> "Answer":
        """Return the answer itself, because it never changes."""
        return self


class Following:
    """The blocks of one classifier, followed.

    Args:
        last: The number of blocks from the last map. The others are from the earlier map.
        earlier: The weight of the latter, or `auto`.
        factors: Whether the contributions of the classes are kept, which leave-one-out needs.
    """

    def __init__(self, last: int, earlier: float | str, *, factors: bool) -> None:
        self._last = last
        self._earlier = earlier
        self._factors = factors
        self._blocks: list[FollowedBlock] = []
        self._beside: tuple[WorldPictures | None, list[Beside]] = (None, [])

    def __deepcopy__(self, memo: dict[int, object]) -> "Following":
        """Return one that has followed nothing: a copied classifier solves anew when it is used."""
        return Following(self._last, self._earlier, factors=self._factors)

    def answer(
        self,
        forms: Sequence[ScatterForm],
        regularisers: Sequence[Regulariser],
        origins: Sequence[Origin],
        world: WorldPictures | None,
        chosen: ChosenSamples,
    ) -> Answer:
        """Bring everything up to date and return what predictions need.

        Args:
            forms: The scatter of each block.
            regularisers: Share and ridge of each.
            origins: The origin of the scores in each block.
            world: Pictures of anything, or None.
            chosen: The samples to leave out; without factors, they are ignored.
        """
        with one_blas_thread():
            self._follow(forms, regularisers, self._besides(origins, world), chosen.classes)
            return self._answer(forms, origins[0], world, chosen)

    def _besides(self, origins: Sequence[Origin], world: WorldPictures | None) -> list[Beside]:
        known, besides = self._beside
        if known is not world or not besides:
            widths = [origin.fixed.shape[1] for origin in origins]
            pictures = world.pictures if world else np.empty((0, sum(widths)))
            parts = np.split(pictures.astype(np.float64), np.cumsum(widths[:-1]), axis=1)
            besides = [Beside(*pair) for pair in zip(origins, parts, strict=True)]
            self._beside = world, besides
        return besides

    def _follow(
        self,
        forms: Sequence[ScatterForm],
        regularisers: Sequence[Regulariser],
        besides: Sequence[Beside],
        classes: list[int],
    ) -> None:
        blocks = []
        for number, (form, (share, ridges), beside) in enumerate(
            zip(forms, regularisers, besides, strict=True)
        ):
            form.settle()
            ridge = float(ridges[0]) / share if share else np.inf
            known = self._blocks[number] if number < len(self._blocks) else None
            follows = known is not None and known.can_follow(form, ridge, beside)
            if known is None or not (follows and known.follow(form, classes)):
                most = MOST_UPDATES + MORE_PER_BLOCK * number
                known = FollowedBlock(form, ridge, beside, classes, most)
            known.scale = 1 / share if share else 1 / float(ridges[0])
            blocks.append(known)
        self._blocks = blocks

    def _answer(
        self,
        forms: Sequence[ScatterForm],
        origin: Origin,
        world: WorldPictures | None,
        chosen: ChosenSamples,
    ) -> Answer:
        classes = len(chosen.counts)
        means, plain = (
            [block.solution.mean_products(shares) for block in self._blocks]
            for shares in (origin.shares(classes), origin.shares_without_world(classes))
        )
        samples = self._left_out(forms, means, plain, chosen) if self._factors else None
        weights = self._weights(samples, int(chosen.counts[chosen.counts > 1].sum()))
        found = samples.scored(weights) if samples is not None else None
        per_block = [w * block.scale for w, block in zip(weights, self._blocks, strict=True)]
        judging, ranking = (MeanProducts.total(each, per_block) for each in (means, plain))
        scorer = CosineScorer.of(self._blocks, per_block, ranking)
        pairs = list(zip(self._blocks, per_block, strict=True))
        if world is None:
            return Answer(scorer, None, weights, found, None)
        solved_c, solved_o = (
            [weight * block.solution.solved_origin(products.shares) for block, weight in pairs]
            for products in (ranking, judging)
        )
        direction = np.concatenate(solved_c) - np.concatenate(solved_o)
        familiarity = Familiarity.of(direction, ranking, judging)
        best = self._world_scores(per_block, means, familiarity.slopes)
        return Answer(scorer, familiarity, weights, found, best)

    def _left_out(
        self,
        forms: Sequence[ScatterForm],
        means: Sequence[MeanProducts],
        plain: Sequence[MeanProducts],
        chosen: ChosenSamples,
    ) -> LeftOutSamples:
        products = [
            sample_products(form, block, each, chosen)
            for form, block, each in zip(forms, self._blocks, means, strict=True)
        ]
        moved = without_world(products, means, plain)
        scaled, scaled_plain = (
            [each.scaled(block.scale) for each, block in zip(found, self._blocks, strict=True)]
            for found in (means, plain)
        )
        columns, classes = None, len(chosen.counts)
        if classes > MOST_COLUMNS:
            weights = self._given_weights(prior_weight())
            columns = similar_classes(products, weights, scaled, classes)
            products = [restricted(block, columns) for block in products]
            moved = [restricted(block, columns) for block in moved]
        counts = chosen.counts.astype(np.float64)
        return LeftOutSamples.of(
            products, scaled, scaled_plain, chosen.rows, counts, columns, without_world=moved
        )

    def _weights(self, samples: LeftOutSamples | None, taught: int) -> list[float]:
        if len(self._blocks) > self._last and isinstance(self._earlier, str):
            return self._given_weights(estimated_weight(samples, self._last, taught))
        return self._given_weights(0.0)

    def _given_weights(self, assumed: float) -> list[float]:
        """Return the weight of each block.

        Args:
            assumed: The weight of the earlier map's blocks if it is not fixed.
        """
        weight = assumed if isinstance(self._earlier, str) else self._earlier
        earlier = len(self._blocks) - self._last
        return [1.0] * (len(self._blocks) - max(earlier, 0)) + [float(weight)] * max(earlier, 0)

    def _world_scores(
        self, weights: Sequence[float], means: Sequence[MeanProducts], inverse_lengths: Vector
    ) -> Vector:
        """Return the familiarity of each picture x: the best of (x - o) A (m_j - o) / |m_j - o|."""
        total: Matrix | float = 0.0
        for block, weight, each in zip(self._blocks, weights, means, strict=True):
            towards = block.solution.fixed_last(block.world.towards)
            offset = each.centre_square - towards @ each.shares
            total = total + weight * (towards - each.towards_centre + offset[:, None])
        classes = len(inverse_lengths)
        best: Vector = (np.asarray(total)[:, :classes] * inverse_lengths).max(axis=1)
        return best
