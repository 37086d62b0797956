"""Scores of pictures and of left-out samples, from blocks that are followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import ClassFactors, SampleIndex
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.followed_block import FollowedBlock
from robocle.classifiers.scatter.followed_classes import FollowedClasses
from robocle.classifiers.scatter.followed_samples import FollowedSamples
from robocle.classifiers.scatter.followed_solution import BlockScorer
from robocle.classifiers.scatter.sample_products import ClassGroup, SampleProducts
from robocle.classifiers.scatter.solved_products import places_of
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]

# With more classes than this, each left-out sample is scored for its most similar classes only.
MOST_COLUMNS, SIMILAR = 160, 128


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
        lengths = products.distances_from_centre()[:classes]
        inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
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


def sample_products(
    samples: FollowedSamples,
    factors: Sequence[ClassFactors],
    means: Sequence[MeanProducts],
    chosen: ChosenSamples,
    blocks: Sequence[FollowedBlock],
) -> SampleProducts:
    """Return the products of samples to leave out, for all columns.

    Args:
        samples: The products of their classes.
        factors: The contributions of the classes, per block.
        means: The products of the class means, with each of the origins.
        chosen: The samples.
        blocks: The blocks.
    """
    shape = len(blocks), len(chosen.rows)
    own, crossed = (np.empty((*shape, len(means[0].shares))) for _ in range(2))
    squares, groups = np.empty(shape), []
    for group in samples.groups:
        numbers = np.array(group.numbers)
        where = places_of(chosen.rows, numbers)
        maps = _residual_maps(factors, group, chosen.counts[numbers], chosen.indices[where])
        residuals = maps @ group.among
        own[:, where] = group.own[:, :, None]
        crossed[:, where] = maps @ group.towards
        squares[:, where] = np.einsum("bnsk,bnsk->bns", residuals, maps)
        groups.append(
            ClassGroup.of(where, numbers, group.among, group.towards, residuals, means[0].shares)
        )
    return SampleProducts.of(
        means,
        chosen.rows,
        own,
        crossed,
        squares,
        groups,
        share=np.array([1.0 if np.isfinite(block.ridge) else 0.0 for block in blocks]),
        scale=np.array([block.scale for block in blocks]),
    )


def _residual_maps(
    factors: Sequence[ClassFactors], group: FollowedClasses, counts: Numbers, indices: Numbers
) -> Matrix:
    """Return T per block and class, with which T R are residuals; see `ClassFactors`."""
    kept, rows = group.kept, group.among.shape[-1]
    if (kept == kept[0]).all():
        maps = factors[0].residual_maps(kept[0], counts, indices, rows)
        return np.broadcast_to(maps, (len(kept), *maps.shape))
    pairs = zip(factors, kept, strict=True)
    return np.array([each.residual_maps(own, counts, indices, rows) for each, own in pairs])


def similar_classes(
    products: SampleProducts, weights: Sequence[float], means: MeanProducts, classes: int
) -> Numbers:
    """Return the classes with the best scores of each sample before it is left out, and its own.

    They are ascending: (samples, SIMILAR).

    Args:
        products: The products of the samples.
        weights: The weight of each block.
        means: The products of the class means, per block, with the scale of their block.
        classes: The number of classes.
    """
    total, centre = means.weighted(weights), products.centres[0]
    scaled = np.array(weights) * products.scale
    numerators = np.tensordot(scaled, products.own, 1) + np.tensordot(scaled, products.crossed, 1)
    offset = centre.cc - centre.own - centre.crossed
    numerators += np.tensordot(scaled, offset, 1) - total.towards_centre
    lengths = total.distances_from_centre()
    scores = numerators / np.where(lengths > 0, lengths, np.inf)
    rows = products.own_place
    scores[:, classes:] = -np.inf  # the world's mean is no class
    scores[np.arange(len(rows)), rows] = np.inf
    found = np.argpartition(-scores, SIMILAR, axis=1)[:, :SIMILAR]
    best: Numbers = np.sort(found, axis=1)
    return best
