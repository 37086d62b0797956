"""Everything that predictions need after a lesson, from blocks that follow the samples.

An `Answer` never changes. A lesson leads to another answer, and predictions that began with the one
before go on with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.block_weights import estimated_weight, prior_weight
from robocle.classifiers.scatter.blocks import Regulariser
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.classifiers.scatter.followed_block import Beside, FollowedBlock
from robocle.classifiers.scatter.followed_products import FollowedProducts
from robocle.classifiers.scatter.followed_scores import (
    MOST_COLUMNS,
    BlockFacts,
    ChosenGroup,
    ChosenSamples,
    CosineScorer,
    sample_products,
    similar_classes,
)
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.leave_one_out import LeaveOneOut, LeftOutSamples
from robocle.classifiers.scatter.origin import Origin, WorldPictures
from robocle.classifiers.state import Vector

# A scatter is factorised again after this many samples, and the next block after some more: so no
# lesson takes steps of two factorisations.
MOST_UPDATES, MORE_PER_BLOCK = 60, 8


@dataclass(frozen=True, eq=False)
class Answer:
    """What predictions need."""

    scorer: CosineScorer
    familiarity: Familiarity | None
    """The familiarity of pictures; None if there is no world."""
    weights: list[float]
    """The weight of each block."""
    left_out: LeaveOneOut | None
    world_familiarity: Vector | None
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
        self._products: FollowedProducts | None = None
        self._beside: tuple[WorldPictures | None, list[Beside]] = (None, [])

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy consists of: it has followed nothing, and solves anew when used."""
        return vars(Following(self._last, self._earlier, factors=self._factors))

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
            origins: The origin of the familiarity in each block.
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
            pictures = world.pictures if world else np.empty((0, sum(widths)), np.float32)
            parts = np.split(pictures, np.cumsum(widths[:-1]), axis=1)
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
        for form in forms:
            form.settle()
        any(form.tidy() for form in forms)  # at most one of them: no lesson has to wait for all
        ridges = [float(ridge[0]) / share if share else np.inf for share, ridge in regularisers]
        known, self._blocks = self._blocks, []  # an error must not leave them half changed
        followed = self._followed(known, forms, ridges, besides, classes)
        blocks = []
        for number, (form, ridge, beside) in enumerate(zip(forms, ridges, besides, strict=True)):
            most = MOST_UPDATES + MORE_PER_BLOCK * number
            block = followed[number] or FollowedBlock(form, ridge, beside, classes, most)
            share, own = regularisers[number]
            block.scale = 1 / share if share else 1 / float(own[0])
            form.moves = []
            blocks.append(block)
        if self._products is None:
            self._products = FollowedProducts(forms, blocks, classes)
        else:
            new = [block is None for block in followed]
            self._products.complete(forms, blocks, new, classes)
        for block in blocks:
            block.drop_start()
        self._blocks = blocks

    def _followed(
        self,
        known: Sequence[FollowedBlock],
        forms: Sequence[ScatterForm],
        ridges: Sequence[float],
        besides: Sequence[Beside],
        classes: list[int],
    ) -> list[FollowedBlock | None]:
        """Return the known blocks after the samples since; None for one to compute again."""
        none: list[FollowedBlock | None] = [None] * len(forms)
        each = zip(known, forms, ridges, besides, strict=False)
        found = [
            block if block.can_follow(form, ridge, beside) else None
            for block, form, ridge, beside in each
        ]
        products, self._products = self._products, None
        if products is None or not any(found) or not products.follow(forms, found, classes):
            return none
        found = [
            block if block is not None and block.refresh(form) else None
            for block, form in zip(found, forms, strict=True)
        ]
        if any(found):
            self._products = products
        return found

    def _answer(
        self,
        forms: Sequence[ScatterForm],
        origin: Origin,
        world: WorldPictures | None,
        chosen: ChosenSamples,
    ) -> Answer:
        # With the origin of the familiarity first, and with that of the scores last.
        means = [
            MeanProducts.stacked([block.solution.mean_products(each) for block in self._blocks])
            for each in origin.all_shares(len(chosen.counts))
        ]
        samples = self._left_out(forms, means, chosen) if self._factors else None
        weights = self._weights(samples, int(chosen.counts[chosen.counts > 1].sum()))
        found = samples.scored(weights) if samples is not None else None
        per_block = np.array(weights) * [block.scale for block in self._blocks]
        judging, ranking = means[0].weighted(per_block), means[-1].weighted(per_block)
        scorer = CosineScorer.of(self._blocks, per_block.tolist(), ranking)
        if world is None:
            return Answer(scorer, None, weights, found, None)
        familiarity = self._familiarity(per_block, ranking, judging)
        best = self._world_familiarity(per_block, judging, familiarity.slopes)
        return Answer(scorer, familiarity, weights, found, best)

    def _left_out(
        self, forms: Sequence[ScatterForm], means: Sequence[MeanProducts], chosen: ChosenSamples
    ) -> LeftOutSamples:
        assert self._products is not None
        samples, factors = self._products.samples, [form.factors for form in forms]
        groups = [ChosenGroup.of(group, factors, chosen) for group in samples.groups]
        blocks = BlockFacts.of(self._blocks, self._last)
        columns = None
        if len(chosen.counts) > MOST_COLUMNS:
            weights = self._given_weights(prior_weight())
            columns = similar_classes(groups, chosen, means[-1], blocks, weights)
        products = sample_products(groups, means, blocks, columns)
        return LeftOutSamples.of(products, chosen.rows, chosen.counts.astype(np.float64), columns)

    def _weights(self, samples: LeftOutSamples | None, taught: int) -> list[float]:
        if len(self._blocks) > self._last and isinstance(self._earlier, str):
            return self._given_weights(estimated_weight(samples, taught))
        return self._given_weights(0.0)

    def _given_weights(self, assumed: float) -> list[float]:
        """Return the weight of each block.

        Args:
            assumed: The weight of the earlier map's blocks if it is not fixed.
        """
        weight = assumed if isinstance(self._earlier, str) else self._earlier
        earlier = len(self._blocks) - self._last
        return [1.0] * (len(self._blocks) - max(earlier, 0)) + [float(weight)] * max(earlier, 0)

    def _familiarity(
        self, weights: Vector, ranking: MeanProducts, judging: MeanProducts
    ) -> Familiarity:
        solutions = [block.solution for block in self._blocks]
        directions = [
            weight * (each.solved_origin(ranking.shares) - each.solved_origin(judging.shares))
            for each, weight in zip(solutions, weights, strict=True)
        ]
        return Familiarity.of(np.concatenate(directions), ranking, judging)

    def _world_familiarity(
        self, weights: Vector, judging: MeanProducts, inverse_lengths: Vector
    ) -> Vector:
        """Return the familiarity of each picture x: the best of (x - f) A (m_j - f) / |m_j - f|."""
        assert self._products is not None
        towards = self._products.world.weighted(weights)
        offset = judging.centre_square - towards @ judging.shares
        classes = len(inverse_lengths)
        found = towards[:, :classes] + (offset[:, None] - judging.towards_centre[:classes])
        found *= inverse_lengths
        best: Vector = found.max(axis=1)
        return best
