"""Inner products of samples, before they are left out.

Each sample z = m + r belongs to a class with mean m, which contributes the rows R to the scatter;
c is the origin. Columns are all means m_j, with the world's mean last if there is one, or only the
most similar classes of each sample.

The first axis of all arrays is the block of the embedding: each block has a matrix A of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.state import Matrix, Vector

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassGroup:
    """Inner products under A of the rows R of some classes.

    Classes with fewer rows than others have further rows of zeros, which change nothing.
    """

    samples: Numbers
    """(classes, samples): which of the samples belong to each class. A class with fewer samples
    than others repeats one of them."""
    among: Matrix
    """R A R^T: (blocks, classes, rows, rows)."""
    means: Matrix
    """R A m_j: (blocks, classes, rows, columns)."""
    own: Matrix
    """R A m: (blocks, classes, rows, 1), with the mean m of the class itself."""
    centre: Matrix
    """R A c: (blocks, classes, rows, 1)."""
    residuals: Matrix
    """r A R^T: (blocks, classes, samples, rows)."""

    @classmethod
    def of(
        cls,
        samples: Numbers,
        numbers: Numbers,
        among: Matrix,
        means: Matrix,
        residuals: Matrix,
        shares: Vector,
    ) -> "ClassGroup":
        """Return the products for all columns.

        Args:
            samples: Which of the samples belong to each class.
            numbers: The classes.
            among: R A R^T.
            means: R A m_j.
            residuals: r A R^T.
            shares: The share of each m_j in the origin.
        """
        own = means[:, np.arange(len(numbers)), :, numbers]  # the indexed axes come first
        own = own.transpose(1, 0, 2)[..., None]
        return cls(samples, among, means, own, (means @ shares)[..., None], residuals)

    def restricted(self, columns: Numbers) -> "ClassGroup":
        """Return the products for some columns of each sample; see `SampleProducts.restricted`."""
        chosen = columns[self.samples[:, 0]]
        classes, rows = np.arange(len(chosen))[:, None, None], np.arange(self.means.shape[2])
        means = self.means[:, classes, rows[:, None], chosen[:, None]]
        return replace(self, means=means)


@dataclass(frozen=True, eq=False)
class CentreProducts:
    """Inner products with one origin c, for some samples."""

    own_share: Matrix
    """The share of the sample's class in the origin: (samples, 1)."""
    cm: Matrix
    """c A m_j: (blocks, 1 or samples, columns)."""
    cc: Matrix
    """c A c: (blocks, 1, 1)."""
    own: Matrix
    """m A c: (blocks, samples, 1)."""
    crossed: Matrix
    """r A c: (blocks, samples, 1)."""

    @classmethod
    def of(cls, means: MeanProducts, rows: Numbers, crossed: Matrix) -> "CentreProducts":
        """Return the products with the origin of some class means; see `SampleProducts.of`."""
        return cls(
            means.shares[rows][:, None],
            means.towards_centre[:, None],
            means.centre_square[:, None, None],
            means.towards_centre[:, rows, None],
            (crossed @ means.shares)[..., None],
        )


@dataclass(frozen=True, eq=False)
class SampleProducts:
    """Inner products under A within the blocks of the embedding, for some samples."""

    own_place: Numbers
    """The column of each sample's own class."""
    centres: Sequence[CentreProducts]
    """The products with the origin and, if there is a world, with the origin without it."""
    mm: Matrix
    """m_j A m_j: (blocks, 1 or samples, columns)."""
    own: Matrix
    """m A m_j: (blocks, samples, columns)."""
    own_square: Matrix
    """m A m: (blocks, samples, 1)."""
    crossed: Matrix
    """r A m_j: (blocks, samples, columns)."""
    squares: Matrix
    """r A r: (blocks, samples, 1)."""
    groups: Sequence[ClassGroup]
    """What the classes of these samples contribute to the scatter."""
    share: Vector
    """The weight of the scatter S in A^-1, per block."""
    scale: Vector
    """What all products must be multiplied by, per block."""

    @classmethod
    def of(
        cls,
        means: Sequence[MeanProducts],
        rows: Numbers,
        own: Matrix,
        crossed: Matrix,
        squares: Matrix,
        groups: Sequence[ClassGroup],
        share: Vector,
        scale: Vector,
    ) -> "SampleProducts":
        """Return the products for all columns.

        Args:
            means: The products of the class means, with each of the origins.
            rows: The class of each sample.
            own: m A m_j.
            crossed: r A m_j.
            squares: r A r: (blocks, samples).
            groups: What the classes contribute to the scatter.
            share: The weight of the scatter, per block.
            scale: What all products must be multiplied by, per block.
        """
        return cls(
            own_place=rows,
            centres=[CentreProducts.of(each, rows, crossed) for each in means],
            mm=means[0].squares[:, None],
            own=own,
            own_square=means[0].squares[:, rows, None],
            crossed=crossed,
            squares=squares[..., None],
            groups=groups,
            share=share,
            scale=scale,
        )

    def restricted(self, columns: Numbers) -> "SampleProducts":
        """Return the products for some columns of each sample.

        Args:
            columns: (samples, columns), ascending. Samples of one class have the same ones.
        """
        samples = np.arange(len(columns))[:, None]
        return replace(
            self,
            own_place=(columns < self.own_place[:, None]).sum(axis=1),
            centres=[replace(each, cm=each.cm[:, 0, columns]) for each in self.centres],
            mm=self.mm[:, 0, columns],
            own=self.own[:, samples, columns],
            crossed=self.crossed[:, samples, columns],
            groups=[group.restricted(columns) for group in self.groups],
        )
