"""Inner products of samples to leave out, from a factorisation of each block's scatter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.padding import padded_rows
from robocle.classifiers.scatter.sample_products import ClassGroup, SampleProducts, own_columns
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
    blocks: Sequence[Products],
    means: Sequence[MeanProducts],
    chunk: slice,
    rows: Numbers,
    last: int,
) -> SampleProducts:
    """Return the products of some samples, for all columns.

    Args:
        blocks: The products within each block.
        means: The products of the class means, with each of the origins.
        chunk: Which of the residuals belong to these samples.
        rows: The class of each sample, ascending.
        last: How many of the blocks are from the last map.
    """
    pairs = [(block.residuals[chunk], block) for block in blocks]
    groups = [_class_group(pairs, means, rows, numbers) for numbers in _alike(blocks, rows)]
    share = np.array([block.share for block in blocks])
    return SampleProducts(groups, means, share, np.ones(len(blocks)), last)


def _alike(blocks: Sequence[Products], rows: Numbers) -> list[Numbers]:
    """Return the classes of some samples, those with similar numbers of rows together."""
    alike: dict[int, list[int]] = {}
    for number in np.unique(rows).tolist():
        most = max(len(block.contributions[number]) for block in blocks)
        alike.setdefault(padded_rows(most, len(blocks[0].means)), []).append(number)
    return [np.array(numbers) for numbers in alike.values()]


def _class_group(
    blocks: Sequence[tuple[Matrix, Products]],
    means: Sequence[MeanProducts],
    rows: Numbers,
    numbers: Numbers,
) -> ClassGroup:
    """Return the products of some classes.

    Args:
        blocks: The residuals of the samples, and the products, within each block.
        means: The products of the class means, with each of the origins.
        rows: The class of each sample.
        numbers: The classes.
    """
    samples = places_of(rows, numbers)
    removed = [_contributions(block, numbers) for _, block in blocks]
    most = max(each.shape[1] for each in removed)
    removed = [np.pad(each, ((0, 0), (0, most - each.shape[1]), (0, 0))) for each in removed]
    residuals = [each[samples] for each, _ in blocks]
    towards = np.array([own @ b.means.T for own, (_, b) in zip(removed, blocks, strict=True)])
    crossed = np.array([own @ b.means.T for own, (_, b) in zip(residuals, blocks, strict=True)])
    return ClassGroup(
        numbers=numbers,
        samples=samples,
        columns=None,
        own=np.array([block.means[numbers] @ block.means.T for _, block in blocks]),
        among=np.array([own @ own.transpose(0, 2, 1) for own in removed]),
        towards=towards,
        towards_own=own_columns(towards, numbers),
        towards_centre=(towards @ means[0].shares)[..., None],
        residuals=np.array(
            [r @ own.transpose(0, 2, 1) for r, own in zip(residuals, removed, strict=True)]
        ),
        crossed=crossed,
        squares=np.array([np.einsum("nsd,nsd->ns", each, each) for each in residuals]),
        crossed_own=own_columns(crossed, numbers)[..., 0],
        crossed_centres=[crossed @ each.shares for each in means],
    )


def _contributions(block: Products, numbers: Numbers) -> Matrix:
    """Return the rows of classes, padded with zeros: (classes, rows, k)."""
    each = [block.contributions[number] for number in numbers.tolist()]
    found = np.zeros((len(each), max(map(len, each)), block.means.shape[1]))
    for place, own in enumerate(each):
        found[place, : len(own)] = own
    return found


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
