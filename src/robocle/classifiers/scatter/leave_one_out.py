"""Leave-one-out scores of a classifier's own samples, computed from its statistics alone.

Nothing is retrained. Each sample is scored twice:
- with the sample left out of its class mean and of the covariance, as a known object;
- with its whole class left out of the class means and of the covariance, as an unknown object.

The scores are computed from inner products under A = (share S + ridge I)^-1: between the class
means m, a sample's residual r, its deviation from its own class mean, and the rows R that its class
contributes to S.
- Leaving out one of n samples of a class subtracts n/(n-1) r r^T from S and moves the class mean by
  -r/(n-1). By the Sherman-Morrison formula, this adds g A r r^T A to A.
- Leaving out the class subtracts R^T R from S. By the Woodbury formula, this adds
  share A R^T (I - share R A R^T)^-1 R A to A. If only a subsample of R is kept, that is subtracted.

Both are exact with the same share and ridge: the shrinkage is not estimated again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import golden_place
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.left_out_products import (
    ClassGroup,
    CosineParts,
    SampleProducts,
    cosine_scores,
    relative_to_means,
    without_class,
    without_sample,
)
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.state import Matrix, Vector

# The number of samples to score: enough to estimate a false-rejection rate of 5 %, few enough to
# score after every taught picture. The cost grows in proportion to the number of labels.
MAX_SAMPLES = 128


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Cosine scores and familiarity of samples that were left out.

    Without a world, the familiarity of a sample is its best score.
    """

    rows: NDArray[np.int64]
    """The class of each sample."""
    singleton: NDArray[np.bool_]
    """Whether the sample is the only one of its class, so that it cannot be left out."""
    scores: Matrix
    """(samples, classes): the scores with the sample left out."""
    familiarity: Vector
    """The familiarity of each sample with the sample left out."""
    class_left_out: Vector
    """The familiarity with the sample's class left out; empty if there is no other class, or only
    one and no world."""
    lengths: Vector
    """The distance of each class mean from the origin of the scores."""
    familiarity_lengths: Vector
    """The distance of each class mean from the origin of the familiarity."""


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


def chosen_samples(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return at most MAX_SAMPLES samples to score, balanced over the classes.

    With more classes than that, classes with at least two samples come first: the only sample of a
    class cannot be left out.

    Args:
        counts: The number of samples available per class.

    Returns:
        The class and the index within the class of each sample, in the order of the classes.

    >>> chosen_samples([2, 0, 1])
    [(0, 0), (0, 1), (2, 0)]
    """
    several = [row for row, count in enumerate(counts) if count > 1]
    single = [row for row, count in enumerate(counts) if count == 1]
    classes = _steady(several, MAX_SAMPLES)
    classes += _steady(single, MAX_SAMPLES - len(classes))
    return samples_of(sorted(classes), counts)


def samples_of(classes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the samples to score of some classes, evenly spaced within each class.

    Args:
        classes: The classes.
        counts: The number of samples available of every class.
    """
    per_class = max(1, MAX_SAMPLES // max(len(counts), 1))
    return [(row, index) for row in classes for index in _spread(counts[row], per_class)]


def _steady(classes: list[int], most: int) -> list[int]:
    """Return at most this many classes, evenly spaced; a further one replaces at most one."""
    return sorted(classes, key=golden_place)[:most] if len(classes) > most else classes


@cache
def _spread(items: int, most: int) -> list[int]:
    """Return at most this many of the first whole numbers, evenly spaced."""
    return [int(place) for place in np.linspace(0, items - 1, min(items, most))]


def left_out(
    blocks: Sequence[Products], rows: NDArray[np.int64], counts: Vector, origin: Origin
) -> Iterator["LeftOutSamples"]:
    """Yield samples with the sample, and with its class, left out.

    They come in chunks, so that memory stays bounded: a chunk ends with the class that its sample
    number MAX_SAMPLES belongs to. There is at least one chunk, which may be empty.

    Args:
        blocks: The inner products within each block of the embedding.
        rows: The class of each sample, ascending.
        counts: The number of samples taught per class.
        origin: What counts in the origin beside the class means.
    """
    origins = origin.shares(len(counts)), origin.shares_without_world(len(counts))
    means, plain = (
        [MeanProducts.of(block.means, block.means, shares) for block in blocks]
        for shares in origins
    )
    start, stop = 0, -1
    while stop < len(rows):
        last = rows[start : start + MAX_SAMPLES][-1:]
        stop = int(np.searchsorted(rows, last, side="right").max(initial=0))
        yield _left_out(blocks, means, plain, slice(start, stop), rows[start:stop], counts)
        start = stop


def _left_out(
    blocks: Sequence[Products],
    means: Sequence[MeanProducts],
    plain: Sequence[MeanProducts],
    chunk: slice,
    rows: NDArray[np.int64],
    counts: Vector,
) -> "LeftOutSamples":
    """Return one chunk of the samples, whose classes are `rows`."""
    with one_blas_thread():
        products = [
            _sample_products(block, each, chunk, rows)
            for block, each in zip(blocks, means, strict=True)
        ]
    moved = without_world(products, means, plain)
    return LeftOutSamples.of(products, means, plain, rows, counts, without_world=moved)


def without_world(
    products: Sequence[SampleProducts],
    means: Sequence[MeanProducts],
    plain: Sequence[MeanProducts],
) -> list[SampleProducts]:
    """Return products relative to the mean of the class means alone; none if there is no world.

    Args:
        products: The products per block.
        means: The products of the class means, per block.
        plain: The same with the other origin.
    """
    share = float(means[0].shares[-1]) if len(plain[0].shares) and not plain[0].shares[-1] else 0.0
    if not share:
        return []
    return [
        relative_to_means(block, each, share) for block, each in zip(products, plain, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class LeftOutSamples:
    """Samples that were left out: what each block of the embedding adds to their scores."""

    rows: NDArray[np.int64]
    """The class of each sample."""
    singleton: NDArray[np.bool_]
    """Whether the sample is the only one of its class, so that it cannot be left out."""
    alone: Sequence[CosineParts]
    """With the sample left out, relative to the origin of the familiarity, per block."""
    with_class: Sequence[CosineParts]
    """The same with its class left out; empty with fewer than three rows of means."""
    means: Sequence[MeanProducts]
    """The products of the class means relative to the origin of the familiarity, per block."""
    plain: Sequence[MeanProducts]
    """The same relative to the origin of the scores, the mean of the class means."""
    classes: int
    """The number of classes."""
    columns: NDArray[np.int64] | None = None
    """(samples, columns): the classes that each sample is scored for; None for all of them."""
    places: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The column of each sample's own class."""
    without_world: Sequence[CosineParts] = ()
    """As `alone`, but relative to the origin of the scores."""

    @classmethod
    def of(
        cls,
        products: Sequence[SampleProducts],
        means: Sequence[MeanProducts],
        plain: Sequence[MeanProducts],
        rows: NDArray[np.int64],
        counts: Vector,
        columns: NDArray[np.int64] | None = None,
        *,
        without_world: Sequence[SampleProducts] = (),
    ) -> "LeftOutSamples":
        """Leave samples out.

        Args:
            products: The inner products within each block.
            means: The products of the class means, per block.
            plain: The same relative to the mean of the class means.
            rows: The class of each sample.
            counts: The number of samples taught per class.
            columns: The classes that each sample is scored for; None for all of them.
            without_world: The products relative to the mean of the class means; none if there is no
                world.
        """
        taught = counts[rows]
        with one_blas_thread():
            alone, moved = (
                [CosineParts.of(without_sample(each, taught), each.scale) for each in blocks]
                for blocks in (products, without_world)
            )
            with_class: list[CosineParts] = []
            # Without the class, there must be a direction from the origin to another class.
            if len(means[0].shares) > 2 and len(counts) > 1:
                with_class = [CosineParts.of(without_class(each), each.scale) for each in products]
        places = products[0].own_place
        return cls(
            rows,
            taught < 2,
            alone,
            with_class,
            means,
            plain,
            len(counts),
            columns,
            places,
            moved or alone,
        )

    def column_scores(self, blocks: Sequence[CosineParts], weights: Sequence[float]) -> Matrix:
        """Return the scores of the columns that are classes; see `cosine_scores`."""
        scores = cosine_scores(blocks, weights)
        return scores if self.columns is not None else scores[:, : self.classes]

    def scored(self, weights: Sequence[float]) -> LeaveOneOut:
        """Return the scores if the blocks have these weights."""
        scores = self.column_scores(self.without_world, weights)
        familiarity = self.column_scores(self.alone, weights).max(axis=1, initial=-np.inf)
        class_left_out = np.empty(0)
        if self.with_class:
            others = self.column_scores(self.with_class, weights)
            others[np.arange(len(self.rows)), self.places] = -np.inf
            class_left_out = others.max(axis=1)
        if self.columns is not None:
            spread = np.full((len(scores), self.classes), -np.inf)
            np.put_along_axis(spread, self.columns, scores, axis=1)
            scores = spread
        lengths, familiarity_lengths = (
            MeanProducts.total(each, weights).distances_from_centre()[: self.classes]
            for each in (self.plain, self.means)
        )
        return LeaveOneOut(
            self.rows,
            self.singleton,
            scores,
            familiarity,
            class_left_out,
            lengths,
            familiarity_lengths,
        )


def _sample_products(
    block: Products, means: MeanProducts, chunk: slice, rows: NDArray[np.int64]
) -> SampleProducts:
    residuals, centre = block.residuals[chunk], means.shares @ block.means
    own = block.means[rows] @ block.means.T
    return SampleProducts(
        own_place=rows,
        own_share=means.shares[rows][:, None],
        mm=means.squares[None],
        cm=means.towards_centre[None],
        cc=means.centre_square,
        own=own,
        own_square=means.squares[rows][:, None],
        own_centre=means.towards_centre[rows][:, None],
        crossed=residuals @ block.means.T,
        crossed_centre=(residuals @ centre)[:, None],
        squares=np.einsum("ij,ij->i", residuals, residuals)[:, None],
        groups=_class_groups(block, residuals, rows, centre),
        share=block.share,
    )


def _class_groups(
    block: Products, residuals: Matrix, rows: NDArray[np.int64], centre: Vector
) -> list[ClassGroup]:
    """Return the classes of some samples, those with equal numbers of rows and samples together."""
    classes, starts, sizes = np.unique(rows, return_index=True, return_counts=True)
    alike: dict[tuple[int, int], list[int]] = {}
    for place, (number, size) in enumerate(zip(classes.tolist(), sizes.tolist(), strict=True)):
        alike.setdefault((len(block.contributions[number]), size), []).append(place)
    groups = []
    for (_, size), places in alike.items():
        numbers, samples = classes[places], starts[places][:, None] + np.arange(size)
        removed = np.array([block.contributions[number] for number in numbers.tolist()])
        groups.append(
            ClassGroup(
                samples,
                among=removed @ removed.transpose(0, 2, 1),
                means=removed @ block.means.T,
                own=np.einsum("nkd,nd->nk", removed, block.means[numbers]),
                centre=removed @ centre,
                residuals=residuals[samples] @ removed.transpose(0, 2, 1),
            )
        )
    return groups
