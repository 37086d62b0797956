"""Inner products of samples, before they are left out.

Each sample z = m + r belongs to a class with mean m, which contributes the rows R to the scatter;
c is the origin. Columns are all means m_j, with the world's mean last if there is one, or only the
most similar classes of each class.

The first axis of all arrays is the block of the embedding: each block has a matrix A of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassGroup:
    """Inner products under A of some classes and their samples.

    Classes with fewer rows than others have further rows of zeros, which change nothing.
    """

    numbers: Numbers
    """The classes."""
    samples: Numbers
    """(classes, samples): which of the samples belong to each class. A class with fewer samples
    than others repeats one of them."""
    columns: Numbers | None
    """(classes, columns): the classes that each class is scored for; None for all of them."""
    own: Matrix
    """m A m_j: (blocks, classes, columns)."""
    among: Matrix
    """R A R^T: (blocks, classes, rows, rows)."""
    towards: Matrix
    """R A m_j: (blocks, classes, rows, columns)."""
    towards_own: Matrix
    """R A m: (blocks, classes, rows, 1), with the mean m of the class itself."""
    towards_centre: Matrix
    """R A c: (blocks, classes, rows, 1)."""
    residuals: Matrix
    """r A R^T: (blocks, classes, samples, rows)."""
    crossed: Matrix
    """r A m_j: (blocks, classes, samples, columns)."""
    squares: Matrix
    """r A r: (blocks, classes, samples)."""
    crossed_own: Matrix
    """r A m: (blocks, classes, samples)."""
    crossed_centres: Sequence[Matrix]
    """r A c: (blocks, classes, samples), for each of the origins."""

    @property
    def places(self) -> Numbers:
        """The column of each class itself: (classes,)."""
        if self.columns is None:
            return self.numbers
        places: Numbers = (self.columns < self.numbers[:, None]).sum(axis=1)
        return places

    def per_column(self, products: Matrix) -> Matrix:
        """Return products (n, all columns) for the columns of the classes: (n, 1 or classes, ...).

        Args:
            products: One row for each of n groups of blocks.
        """
        if self.columns is None:
            return products[:, None]
        return np.take(products, self.columns, axis=1)


@dataclass(frozen=True, eq=False)
class SampleProducts:
    """Inner products under A within the blocks of the embedding, for some samples."""

    groups: Sequence[ClassGroup]
    """The classes of these samples."""
    means: Sequence[MeanProducts]
    """The products of the class means, per block: with the origin of the familiarity first, and
    with that of the scores last. Without a world, both are the same."""
    share: Vector
    """The weight of the scatter S in A^-1, per block."""
    scale: Vector
    """What all products must be multiplied by, per block."""
    last: int
    """How many of the blocks are from the last map. The others are from the earlier map."""

    def total_means(self, weights: Sequence[float]) -> tuple[MeanProducts, MeanProducts]:
        """Return the products of the class means of whole embeddings, for weighted blocks.

        The first are those with the origin of the scores, the others with that of the familiarity.
        """
        each = np.array(weights) * self.scale
        return self.means[-1].weighted(each), self.means[0].weighted(each)

    @property
    def starts(self) -> list[int]:
        """The first block of each map."""
        return [0, self.last] if 0 < self.last < len(self.scale) else [0]

    @property
    def sums(self) -> Matrix:
        """The matrix that sums blocks, with their scale, for each map: (maps, blocks)."""
        blocks = np.arange(len(self.scale))
        ends = [*self.starts[1:], len(blocks)]
        pairs = zip(self.starts, ends, strict=True)
        inside = [(start <= blocks) & (blocks < end) for start, end in pairs]
        return np.array(inside) * self.scale


def own_columns(towards: Matrix, numbers: Numbers) -> Matrix:
    """Return the column of each class itself.

    Args:
        towards: R A m_j: (blocks, classes, rows, all columns).
        numbers: The classes.
    """
    found = towards[:, np.arange(len(numbers)), :, numbers]  # the indexed axis comes first
    return np.asarray(found.transpose(1, 0, 2)[..., None])
