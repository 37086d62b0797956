"""Leave-one-out scores of a classifier's own samples, computed from its statistics alone.

Nothing is retrained. Each sample is scored twice:
- with the sample left out of its class mean and of the covariance, as a known object;
- with its whole class left out of the class means and of the covariance, as an unknown object. With
  a world, this is not needed.

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
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.left_out_products import CosineParts, left_out_parts
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.sample_products import SampleProducts
from robocle.classifiers.scatter.solved_products import Products, sample_products
from robocle.classifiers.scatter.subsample import golden_place
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
    """The best score with the sample's class left out; empty with fewer than three classes, and
    with a world, whose pictures are the unknown objects then."""
    lengths: Vector
    """The distance of each class mean from the origin of the scores."""
    familiarity_lengths: Vector
    """The distance of each class mean from the origin of the familiarity."""


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
    blocks: Sequence[Products],
    rows: NDArray[np.int64],
    counts: Vector,
    origin: Origin,
    last: int,
) -> Iterator["LeftOutSamples"]:
    """Yield samples with the sample, and with its class, left out.

    They come in chunks, so that memory stays bounded: a chunk ends with the class that its sample
    number MAX_SAMPLES belongs to. There is at least one chunk, which may be empty.

    Args:
        blocks: The inner products within each block of the embedding.
        rows: The class of each sample, ascending.
        counts: The number of samples taught per class.
        origin: What counts in the origin beside the class means.
        last: How many of the blocks are from the last map. The others are from the earlier map.
    """
    means = [
        MeanProducts.stacked([MeanProducts.of(block.means, block.means, each) for block in blocks])
        for each in origin.all_shares(len(counts))
    ]
    start, stop = 0, -1
    while stop < len(rows):
        end = rows[start : start + MAX_SAMPLES][-1:]
        stop = int(np.searchsorted(rows, end, side="right").max(initial=0))
        with one_blas_thread():
            products = sample_products(blocks, means, slice(start, stop), rows[start:stop], last)
        yield LeftOutSamples.of(products, rows[start:stop], counts)
        start = stop


@dataclass(frozen=True, eq=False)
class LeftOutSamples:
    """Samples that were left out: what each map adds to their scores."""

    rows: NDArray[np.int64]
    """The class of each sample."""
    singleton: NDArray[np.bool_]
    """Whether the sample is the only one of its class, so that it cannot be left out."""
    alone: CosineParts
    """With the sample left out, relative to the origin of the familiarity."""
    without_world: CosineParts
    """The same relative to the origin of the scores, the mean of the class means."""
    with_class: CosineParts | None
    """With its class left out; None with fewer than three classes, and with a world."""
    products: SampleProducts
    """The products before."""
    classes: int
    """The number of classes."""
    columns: NDArray[np.int64] | None
    """(samples, columns): the classes that each sample is scored for; None for all of them."""

    @classmethod
    def of(
        cls,
        products: SampleProducts,
        rows: NDArray[np.int64],
        counts: Vector,
        columns: NDArray[np.int64] | None = None,
    ) -> "LeftOutSamples":
        """Leave samples out.

        Args:
            products: The inner products of the samples.
            rows: The class of each sample.
            counts: The number of samples taught per class.
            columns: The classes that each sample is scored for; None for all of them.
        """
        # Without the class, there must be a direction from the origin to another class.
        others = len(products.means) == 1 and len(counts) > 2
        with one_blas_thread():
            alone, with_class = left_out_parts(products, counts, len(rows), classes=others)
        return cls(
            rows=rows,
            singleton=counts[rows] < 2,
            alone=alone[0],
            without_world=alone[-1],
            with_class=with_class,
            products=products,
            classes=len(counts),
            columns=columns,
        )

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The column of each sample's own class."""
        if self.columns is None:
            return self.rows
        places: NDArray[np.int64] = (self.columns < self.rows[:, None]).sum(axis=1)
        return places

    def column_scores(self, parts: CosineParts, weights: Matrix) -> Matrix:
        """Return the scores of the columns that are classes; see `CosineParts.scores`."""
        scores = parts.scores(weights)
        return scores if self.columns is not None else scores[..., : self.classes]

    def scored(self, weights: Sequence[float]) -> LeaveOneOut:
        """Return the scores if the blocks have these weights, which are equal within each map."""
        per_map = np.array(weights)[self.products.starts]
        scores = self.column_scores(self.without_world, per_map)
        familiarity = self.column_scores(self.alone, per_map).max(axis=1, initial=-np.inf)
        class_left_out = np.empty(0)
        if self.with_class is not None:
            others = self.column_scores(self.with_class, per_map)
            others[np.arange(len(self.rows)), self.places] = -np.inf
            class_left_out = others.max(axis=1)
        if self.columns is not None:
            spread = np.full((len(scores), self.classes), -np.inf)
            np.put_along_axis(spread, self.columns, scores, axis=1)
            scores = spread
        lengths, familiarity_lengths = (
            each.distances_from_centre()[: self.classes]
            for each in self.products.total_means(weights)
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
