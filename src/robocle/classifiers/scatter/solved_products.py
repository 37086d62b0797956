"""Inner products of samples to leave out, from a factorisation of each block's scatter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.padding import padded_rows
from robocle.classifiers.scatter.sample_products import ClassGroup, SampleProducts
from robocle.classifiers.state import Matrix

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products under A within one block of the embedding, as dot products of rows."""

    share: float
    """The weight of the scatter S in A^-1."""
    means: Matrix
    """(classes, k): m_i A m_j is the dot product of rows i and j. The origin's fixed row, if it has
    one, comes after the class means."""
    residuals: Matrix
    """(samples, k): r A m_j is the dot product of a residual and row j of the means."""
    contributions: dict[int, Matrix]
    """For each class of the samples: (rows, k), what it contributes to the scatter."""


def sample_products(
    blocks: Sequence[Products], means: Sequence[MeanProducts], chunk: slice, rows: Numbers
) -> SampleProducts:
    """Return the products of some samples, for all columns.

    Args:
        blocks: The products within each block.
        means: The products of the class means, with each of the origins.
        chunk: Which of the residuals belong to these samples.
        rows: The class of each sample, ascending.
    """
    residuals = [block.residuals[chunk] for block in blocks]
    pairs = list(zip(residuals, blocks, strict=True))
    return SampleProducts.of(
        means,
        rows,
        own=np.array([block.means[rows] @ block.means.T for block in blocks]),
        crossed=np.array([each @ block.means.T for each, block in pairs]),
        squares=np.array([np.einsum("ij,ij->i", each, each) for each in residuals]),
        groups=[_class_group(pairs, means[0], rows, numbers) for numbers in _alike(blocks, rows)],
        share=np.array([block.share for block in blocks]),
        scale=np.ones(len(blocks)),
    )


def _alike(blocks: Sequence[Products], rows: Numbers) -> list[Numbers]:
    """Return the classes of some samples, those with similar numbers of rows together."""
    alike: dict[int, list[int]] = {}
    for number in np.unique(rows).tolist():
        most = max(len(block.contributions[number]) for block in blocks)
        alike.setdefault(padded_rows(most), []).append(number)
    return [np.array(numbers) for numbers in alike.values()]


def _class_group(
    blocks: Sequence[tuple[Matrix, Products]], means: MeanProducts, rows: Numbers, numbers: Numbers
) -> ClassGroup:
    """Return the products of some classes.

    Args:
        blocks: The residuals of the samples, and the products, within each block.
        means: The products of the class means.
        rows: The class of each sample.
        numbers: The classes.
    """
    samples = places_of(rows, numbers)
    most = max(len(block.contributions[n]) for _, block in blocks for n in numbers.tolist())
    among, towards, crossed = [], [], []
    for residuals, block in blocks:
        removed = np.zeros((len(numbers), most, block.means.shape[1]))
        for place, number in enumerate(numbers.tolist()):
            own = block.contributions[number]
            removed[place, : len(own)] = own
        turned = removed.transpose(0, 2, 1)
        among.append(removed @ turned)
        towards.append(removed @ block.means.T)
        crossed.append(residuals[samples] @ turned)
    return ClassGroup.of(
        samples, numbers, np.array(among), np.array(towards), np.array(crossed), means.shares
    )


def places_of(rows: Numbers, numbers: Numbers) -> Numbers:
    """Return which samples belong to each of some classes; the last one is repeated if need be.

    Args:
        rows: The class of each sample, ascending.
        numbers: The classes.

    >>> places_of(np.array([0, 0, 2, 2, 2, 5]), np.array([2, 5])).tolist()
    [[2, 3, 4], [5, 5, 5]]
    """
    starts, ends = (np.searchsorted(rows, numbers, side) for side in ("left", "right"))
    places: Numbers = starts[:, None] + np.arange((ends - starts).max(initial=0))
    return np.minimum(places, ends[:, None] - 1)
