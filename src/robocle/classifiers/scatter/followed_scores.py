"""Scores of pictures and of left-out samples, from blocks that are followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import ClassFactors, SampleIndex
from robocle.classifiers.scatter.cosine import MeanProducts, inverse_lengths
from robocle.classifiers.scatter.followed_block import FollowedBlock
from robocle.classifiers.scatter.followed_classes import FollowedClasses
from robocle.classifiers.scatter.followed_solution import BlockScorer
from robocle.classifiers.scatter.sample_products import ClassGroup, SampleProducts, own_columns
from robocle.classifiers.scatter.solved_products import places_of
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]

# With more classes than this, each left-out sample is scored for its most similar classes only.
MOST_COLUMNS, SIMILAR = 256, 128


@dataclass(frozen=True, eq=False)
class CosineScorer:
    """Scores pictures. It never changes, so threads may share it."""

    blocks: Sequence[BlockScorer]
    weights: Sequence[float]
    """The weight of each block, with the scale of its products."""
    inverse_lengths: Vector
    """1 / |m_j - c| per class; 0 for a class without a direction."""

    @classmethod
    def of(
        cls, blocks: Sequence[FollowedBlock], weights: Sequence[float], products: MeanProducts
    ) -> "CosineScorer":
        """Return what scores pictures now.

        Args:
            blocks: The blocks.
            weights: The weight of each.
            products: The products of the class means over all weighted blocks.
        """
        classes = blocks[0].solution.classes
        inverse = inverse_lengths(products.distances_from_centre()[:classes])
        scorers = [block.solution.scorer(products.shares) for block in blocks]
        return cls(scorers, weights, inverse)

    def scores(self, embeddings: Matrix) -> Matrix:
        """Return (z - c) A (m_j - c) / |m_j - c| per embedding z and class j."""
        total = np.zeros((len(embeddings), len(self.inverse_lengths)))
        start = 0
        with one_blas_thread():
            for block, weight in zip(self.blocks, self.weights, strict=True):
                end = start + len(block.origin)
                total += weight * block.numerators(embeddings[:, start:end])
                start = end
        return total * self.inverse_lengths

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b."""
        pairs = list(zip(self.blocks, self.weights, strict=True))
        rows = np.hstack([weight * block.rows() for block, weight in pairs])
        rows *= self.inverse_lengths[:, None]
        return rows, -rows @ np.concatenate([block.origin for block in self.blocks])


@dataclass(frozen=True, eq=False)
class ChosenSamples:
    """Samples to leave out, in the order of their classes."""

    rows: Numbers
    """The class of each sample."""
    indices: Numbers
    """Which of the residuals of its class it is."""
    counts: Numbers
    """The number of samples taught per class."""

    @classmethod
    def of(cls, samples: Sequence[SampleIndex], counts: Sequence[int]) -> "ChosenSamples":
        """Return samples that are given as pairs of a class and an index."""
        pairs = np.array(samples, np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], np.array(counts, np.int64))

    @cached_property
    def sizes(self) -> Numbers:
        """The number of chosen samples per class."""
        return np.bincount(self.rows, minlength=len(self.counts))

    @cached_property
    def classes(self) -> list[int]:
        """The classes that have samples here."""
        return [int(number) for number in np.flatnonzero(self.sizes)]


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What the products of samples need to know about the blocks."""

    share: Vector
    """The weight of the scatter in A^-1, per block."""
    scale: Vector
    """What all products must be multiplied by, per block."""
    last: int
    """How many of the blocks are from the last map."""

    @classmethod
    def of(cls, blocks: Sequence[FollowedBlock], last: int) -> "BlockFacts":
        """Return the facts about blocks that are followed."""
        counts = np.isfinite([block.ridge for block in blocks])
        return cls(counts.astype(np.float64), np.array([block.scale for block in blocks]), last)


@dataclass(frozen=True, eq=False)
class ChosenGroup:
    """Classes with similar numbers of rows, and their chosen samples."""

    followed: FollowedClasses
    numbers: Numbers
    """The classes."""
    samples: Numbers
    """(classes, samples): which of the samples belong to each class."""
    maps: Matrix
    """T with which T R are residuals: (blocks, classes, samples, rows)."""

    @classmethod
    def of(
        cls, followed: FollowedClasses, factors: Sequence[ClassFactors], chosen: ChosenSamples
    ) -> "ChosenGroup":
        """Return the chosen samples of some classes.

        Args:
            followed: The products of the classes.
            factors: The contributions of all classes, per block.
            chosen: The samples.
        """
        numbers = np.array(followed.numbers)
        samples = places_of(chosen.rows, numbers)
        counts, indices = chosen.counts[numbers], chosen.indices[samples]
        kept, rows = followed.kept, followed.among.shape[-1]
        if (kept == kept[0]).all():
            same = factors[0].residual_maps(kept[0], counts, indices, rows)
            maps = np.broadcast_to(same, (len(kept), *same.shape))
        else:
            pairs = zip(factors, kept, strict=True)
            maps = np.array([f.residual_maps(own, counts, indices, rows) for f, own in pairs])
        return cls(followed, numbers, samples, maps)

    def products(self, means: Sequence[MeanProducts], columns: Numbers | None) -> ClassGroup:
        """Return the products of the samples.

        Args:
            means: The products of the class means, with each of the origins.
            columns: (classes, columns): the classes that each class is scored for; None for all.
        """
        own, towards, among = self.followed.own, self.followed.towards, self.followed.among
        towards_own, maps = own_columns(towards, self.numbers), self.maps
        centres = self.followed.towards_origins([each.shares for each in means])
        if columns is not None:
            own, towards = self.followed.for_columns(columns)
        residuals = maps @ among
        return ClassGroup(
            numbers=self.numbers,
            samples=self.samples,
            columns=columns,
            own=own,
            among=among,
            towards=towards,
            towards_own=towards_own,
            towards_centre=centres[0],
            residuals=residuals,
            crossed=maps @ towards,
            squares=np.einsum("bnsk,bnsk->bns", residuals, maps),
            crossed_own=(maps @ towards_own)[..., 0],
            crossed_centres=[(maps @ each)[..., 0] for each in centres],
        )


def sample_products(
    groups: Sequence[ChosenGroup],
    means: Sequence[MeanProducts],
    blocks: BlockFacts,
    columns: Numbers | None,
) -> SampleProducts:
    """Return the products of samples to leave out.

    Args:
        groups: The samples.
        means: The products of the class means, with each of the origins.
        blocks: The blocks.
        columns: (samples, columns): the classes that each sample is scored for; None for all.
    """
    found = [
        group.products(means, None if columns is None else columns[group.samples[:, 0]])
        for group in groups
    ]
    return SampleProducts(found, means, blocks.share, blocks.scale, blocks.last)


def similar_classes(
    groups: Sequence[ChosenGroup],
    chosen: ChosenSamples,
    means: MeanProducts,
    blocks: BlockFacts,
    weights: Sequence[float],
) -> Numbers:
    """Return the classes with the best scores of each sample before it is left out, and its own.

    They are ascending: (samples, SIMILAR).

    Args:
        groups: The samples, one per class.
        chosen: The same samples.
        means: The products of the class means, per block.
        blocks: The blocks.
        weights: The weight of each block.
    """
    scaled = np.array(weights) * blocks.scale
    total = means.weighted(scaled)
    # z A m_j, and z A c
    towards = np.empty((len(chosen.rows), len(means.shares)))
    for group in groups:
        parts = zip(scaled, group.maps, group.followed.own, group.followed.towards, strict=True)
        towards[group.samples] = sum(w * (m @ rows + own[:, None]) for w, m, own, rows in parts)
    offset = total.centre_square - towards @ means.shares
    scores = towards + offset[:, None] - total.towards_centre
    scores *= inverse_lengths(total.distances_from_centre())
    scores[:, len(chosen.counts) :] = -np.inf  # the world's mean is no class
    scores[np.arange(len(scores)), chosen.rows] = np.inf
    return _best(scores)


def _best(scores: Matrix) -> Numbers:
    """Return the SIMILAR columns with the best scores of each row, ascending."""
    least = np.partition(scores, -SIMILAR, axis=1)[:, -SIMILAR, None]
    _, columns = np.nonzero(scores >= least)
    if len(columns) == SIMILAR * len(scores):
        return columns.reshape(len(scores), SIMILAR)
    best: Numbers = np.sort(np.argpartition(-scores, SIMILAR, axis=1)[:, :SIMILAR], axis=1)
    return best
