"""Scores of pictures and of left-out samples, from blocks that are followed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import SampleIndex
from robocle.classifiers.scatter.cosine import MeanProducts, inverse_lengths
from robocle.classifiers.scatter.followed_block import FollowedBlock
from robocle.classifiers.scatter.followed_solution import BlockScorer
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.left_out_products import ClassGroup, SampleProducts
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

    def places_of(self, numbers: Numbers) -> Numbers:
        """Return which samples belong to classes that have equally many: (classes, samples)."""
        places: Numbers = np.searchsorted(self.rows, numbers)[:, None] + np.arange(
            self.sizes[numbers[0]]
        )
        return places


def sample_products(
    form: ScatterForm, block: FollowedBlock, means: MeanProducts, chosen: ChosenSamples
) -> SampleProducts:
    """Return the products of samples to leave out, for all columns.

    Args:
        form: The scatter.
        block: The block.
        means: The products of its class means.
        chosen: The samples.
    """
    solution, samples, rows = block.solution, block.samples, chosen.rows
    position = {number: place for place, number in enumerate(samples.classes)}
    own = solution.fixed_last(samples.own[[position[row] for row in rows.tolist()]])
    crossed = np.zeros_like(own)
    squares, centres = np.zeros((len(rows), 1)), np.zeros((len(rows), 1))
    groups = []
    for alike in samples.alike(chosen.counts, chosen.sizes):
        numbers, places, among = alike.numbers, alike.places, alike.among
        where = chosen.places_of(numbers)
        maps = form.factors.residual_maps(
            places.shape[1], chosen.counts[numbers], chosen.indices[where]
        )
        removed, residuals = solution.fixed_last(samples.towards[places]), maps @ among
        centre = removed @ means.shares
        crossed[where] = maps @ removed
        squares[where, 0] = np.einsum("nsk,nsk->ns", residuals, maps)
        centres[where, 0] = np.einsum("nsk,nk->ns", maps, centre)
        mine = removed[np.arange(len(numbers)), :, numbers]
        groups.append(ClassGroup(where, among, removed, mine, centre, residuals))
    return SampleProducts(
        own_place=rows,
        own_share=means.shares[rows][:, None],
        mm=means.squares[None],
        cm=means.towards_centre[None],
        cc=means.centre_square,
        own=own,
        own_square=means.squares[rows][:, None],
        own_centre=means.towards_centre[rows][:, None],
        crossed=crossed,
        crossed_centre=centres,
        squares=squares,
        groups=groups,
        share=1.0 if np.isfinite(block.ridge) else 0.0,
        scale=block.scale,
    )


def similar_classes(
    blocks: Sequence[SampleProducts],
    weights: Sequence[float],
    means: Sequence[MeanProducts],
    classes: int,
) -> Numbers:
    """Return the classes with the best scores of each sample before it is left out, and its own.

    They are ascending: (samples, SIMILAR).

    Args:
        blocks: The products of the samples, per block.
        weights: The weight of each block.
        means: The products of the class means, per block.
        classes: The number of classes.
    """
    total = MeanProducts.total(means, weights)
    scaled = [weight * block.scale for block, weight in zip(blocks, weights, strict=True)]
    numerators = np.zeros_like(blocks[0].own)
    for block, weight in zip(blocks, scaled, strict=True):
        offset = block.cc - block.own_centre - block.crossed_centre
        numerators += weight * (block.own + block.crossed - block.cm + offset)
    lengths = total.distances_from_centre()
    scores = numerators / np.where(lengths > 0, lengths, np.inf)
    rows = blocks[0].own_place
    scores[:, classes:] = -np.inf  # the world's mean is no class
    scores[np.arange(len(rows)), rows] = np.inf
    found = np.argpartition(-scores, SIMILAR, axis=1)[:, :SIMILAR]
    best: Numbers = np.sort(found, axis=1)
    return best


def restricted(block: SampleProducts, columns: Numbers) -> SampleProducts:
    """Return the products for some columns of each sample.

    Args:
        block: The products for all columns, with one sample per class.
        columns: (samples, columns), ascending.
    """
    rows = block.own_place[:, None]
    return replace(
        block,
        own_place=(columns < rows).sum(axis=1),
        mm=block.mm[0][columns],
        cm=block.cm[0][columns],
        own=np.take_along_axis(block.own, columns, axis=1),
        crossed=np.take_along_axis(block.crossed, columns, axis=1),
        groups=[_restricted(group, columns) for group in block.groups],
    )


def _restricted(group: ClassGroup, columns: Numbers) -> ClassGroup:
    chosen = columns[group.samples[:, 0]][:, None, :]
    return replace(group, means=np.take_along_axis(group.means, chosen, axis=2))
