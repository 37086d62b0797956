"""Cosine scores of left-out samples, from the inner products before: see `sample_products`.

For each sample z = m + r of a class with mean m, the class means m_j, the origin c and the matrix A
change when the sample, or its class, is left out. The inner products after the change are linear
combinations of those before, and of their squares. They are needed only as sums over the blocks of
each map, so these combinations are matrix products that sum over blocks, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocle.classifiers.scatter.cosine import ROUNDING
from robocle.classifiers.scatter.inverse_roots import inverse_roots
from robocle.classifiers.scatter.sample_products import ClassGroup, SampleProducts
from robocle.classifiers.state import Matrix, Vector

# The part of a direction that others share is at least this: less is rounding error.
LEAST_SHARED = 1e-9


@dataclass(frozen=True, eq=False)
class CosineParts:
    """What each map adds to cosine scores, per sample and column."""

    numerators: Matrix
    """(z - c) A (m_j - c): (maps, samples, columns)."""
    squares: Matrix
    """|m_j - c|^2: (maps, samples, columns)."""
    largest: Vector
    """The largest m_j A m_j per map: squares that are tiny beside it are rounding errors."""

    def scores(self, weights: Matrix) -> Matrix:
        """Return (z - c) A (m_j - c) / |m_j - c| per sample and column, for weighted maps.

        Args:
            weights: The weight of each map, or several rows of such weights: then there are as many
                scores, (rows, samples, columns).
        """
        numerators, squares = (
            (weights @ each.reshape(len(each), -1)).reshape(*weights.shape[:-1], *each.shape[1:])
            for each in (self.numerators, self.squares)  # np.tensordot takes longer to begin
        )
        least = ROUNDING * (weights @ self.largest)[..., None, None]
        squares[squares <= least] = np.inf  # no direction: the score is 0
        numerators /= np.sqrt(squares, out=squares)
        return numerators


class LeftOutGroup:
    """The classes of one group, and their samples, left out.

    Args:
        products: The products of all samples.
        group: The group.
        taught: The number of samples taught of each of its classes.
    """

    def __init__(self, products: SampleProducts, group: ClassGroup, taught: Vector) -> None:
        self._products = products
        self._group = group
        self._sums = products.sums
        self._taught = taught[:, None]
        self._own_square = products.means[0].squares[:, group.numbers, None]
        self._mm = group.per_column(self._sums @ products.means[0].squares)[:, :, None]
        own = np.tensordot(self._sums, group.own, 1)
        self._own = own[:, :, None]

    def without_sample(self) -> list[CosineParts]:
        """Leave each sample out of its class mean, of the origin and of the scatter.

        Returns:
            The parts of cosine scores relative to each of the origins: (maps, classes, samples,
            columns).
        """
        taught, rr, ro = self._taught, self._group.squares, self._group.crossed_own
        shift = np.where(taught < 2, 0, 1 / np.maximum(taught - 1, 1))
        gain = self._gain()
        # The mean of the sample's own class moves, and the sample is removed from the scatter.
        zr, moved_own = ro + rr, ro - shift * rr
        zm = self._own_square + ro - shift * zr + gain * zr * moved_own
        mm = self._own_square + shift * (shift * rr - 2 * ro) + gain * moved_own**2
        squared = self._crossed(gain[None], self._group.crossed**2)[0] + self._mm
        largest = squared.max(axis=(1, 2, 3), initial=0.0)
        parts = []
        for means, cr in zip(self._products.means, self._group.crossed_centres, strict=True):
            # The origin moves with the mean.
            back = shift * means.shares[self._group.numbers, None]
            own_centre = means.towards_centre[:, self._group.numbers, None]
            moved = cr - back * rr
            along = gain * moved - back
            zc = own_centre + cr - back * zr + gain * zr * moved
            cc = means.centre_square[:, None, None] + back * (back * rr - 2 * cr) + gain * moved**2
            cm = own_centre - shift * cr + along * moved_own
            factors = np.array([1 + gain * zr - along, -2 * along])
            numerators, squares = self._crossed(factors, self._group.crossed)
            towards = self._group.per_column(self._sums @ means.towards_centre)[:, :, None]
            added = cc - zc
            sums = self._summed(np.array([added, cc, zm - cm + added, mm - 2 * cm + cc]))
            numerators += self._own - towards + sums[0]
            squares += squared - 2 * towards + sums[1]
            self._set_own(numerators, sums[2])
            self._set_own(squares, sums[3])
            parts.append(CosineParts(numerators, squares, largest))
        return parts

    def _gain(self) -> Matrix:
        """Return g, with which removing a sample from the scatter adds g A r r^T A to A."""
        taught = self._taught
        removed = np.where(taught > 1, taught / np.maximum(taught - 1, 1), 0)
        removed = self._products.share[:, None, None] * removed
        gain: Matrix = removed / np.maximum(1 - removed * self._group.squares, LEAST_SHARED)
        return gain

    def without_class(self) -> CosineParts:
        """Leave the whole class of each sample out of the origin and of the scatter.

        Scores for the class itself are meaningless.
        """
        group, means, cr = self._group, self._products.means[0], self._group.crossed_centres[0]
        # The origin without the class is (c - s m) / rest, with the share s of the class.
        s = means.shares[group.numbers, None]
        rest = 1 - s
        own_centre = means.towards_centre[:, group.numbers, None]
        # x A y becomes x A y + e_x . e_y, where e_x = root R A x.
        root = inverse_roots(group.among, self._products.share, LEAST_SHARED)
        e_own = root @ group.towards_own
        e_c = (root @ group.towards_centre - s[..., None] * e_own) / rest[..., None]
        e_z = group.residuals @ np.swapaxes(root, -1, -2) + np.swapaxes(e_own, -1, -2)
        zc = (own_centre + cr - s * (self._own_square + group.crossed_own)) / rest
        zc = zc + (e_z @ e_c)[..., 0]
        cc = means.centre_square[:, None, None] - 2 * s * own_centre + s**2 * self._own_square
        cc = cc / rest**2 + np.einsum("bnkj,bnkj->bnj", e_c, e_c)
        e_c = np.swapaxes(e_c, -1, -2)
        along, e_m = self._removed(root, np.concatenate([e_z - e_c, e_c], axis=2))
        towards = group.per_column(self._sums @ means.towards_centre)[:, :, None]
        s, rest = s[..., None], rest[..., None]
        ones = np.ones_like(group.squares)[None]
        numerators = self._crossed(ones, group.crossed)[0] + along[:, :, :-1]
        sums = self._summed(np.array([cc - zc, np.broadcast_to(cc, zc.shape)]))
        numerators += (self._own - towards) / rest + sums[0]
        mm = self._mm + e_m[:, :, None]
        squares = mm - 2 * (towards - s * self._own) / rest - 2 * along[:, :, -1:]
        squares = squares + sums[1]
        squares = np.broadcast_to(squares, numerators.shape)
        return CosineParts(numerators, squares, mm.max(axis=(1, 2, 3), initial=0.0))

    def _removed(self, root: Matrix, factors: Matrix) -> tuple[Matrix, Matrix]:
        """Return factors . e_m and e_m . e_m per column, summed for each map.

        Args:
            root: The root of each class.
            factors: (blocks, classes, n, rows).

        Returns:
            (maps, classes, n, columns) and (maps, classes, columns).
        """
        blocks, classes, rows, columns = self._group.towards.shape
        each = np.empty((classes, blocks, rows, columns))
        np.matmul(root, self._group.towards, out=each.transpose(1, 0, 2, 3))
        e_m = each.reshape(classes, blocks * rows, columns)
        weighted = self._sums[:, :, None, None, None] * factors
        maps, count = len(self._sums), factors.shape[2]
        weighted = weighted.transpose(2, 0, 3, 1, 4).reshape(classes, maps * count, blocks * rows)
        found = (weighted @ e_m).reshape(classes, maps, count, columns)
        squares = np.repeat(self._sums, rows, axis=1) @ e_m**2
        return found.transpose(1, 0, 2, 3), squares.transpose(1, 0, 2)

    def _crossed(self, factors: Matrix, crossed: Matrix) -> Matrix:
        """Return factors * crossed, summed for each map: (n, maps, classes, samples, columns).

        Args:
            factors: (n, blocks, classes, samples).
            crossed: (blocks, classes, samples, columns).
        """
        weighted = self._sums[:, :, None, None] * factors[:, None]
        count, maps = weighted.shape[:2]
        weighted = weighted.transpose(3, 4, 0, 1, 2).reshape(*crossed.shape[1:3], count * maps, -1)
        found = weighted @ crossed.transpose(1, 2, 0, 3)
        found = found.reshape(*found.shape[:2], count, maps, found.shape[-1])
        return found.transpose(2, 3, 0, 1, 4)

    def _summed(self, products: Matrix) -> Matrix:
        """Return products (n, blocks, classes, samples), summed for each map: (n, maps, ..., 1)."""
        count, blocks, *shape = products.shape
        found = self._sums @ products.reshape(count, blocks, -1)
        return found.reshape(count, len(self._sums), *shape, 1)

    def _set_own(self, found: Matrix, own: Matrix) -> None:
        """Set the column of the own class: (maps, classes, samples, 1)."""
        classes = np.arange(len(self._taught))
        found[:, classes, :, self._group.places] = own[..., 0].transpose(1, 0, 2)


def left_out_parts(
    products: SampleProducts, taught: Vector, samples: int, *, classes: bool
) -> tuple[list[CosineParts], CosineParts | None]:
    """Leave samples out, and their classes.

    Args:
        products: The products of the samples.
        taught: The number of samples taught per class.
        samples: The number of samples.
        classes: Whether to leave classes out, too.

    Returns:
        The parts without the sample, relative to each of the origins, and without its class.
    """
    groups = [LeftOutGroup(products, each, taught[each.numbers]) for each in products.groups]
    alone = zip(*(group.without_sample() for group in groups), strict=True)
    parts = [_joined(products, each, samples) for each in alone]
    if not groups:
        parts = [_joined(products, (), samples) for _ in products.means]
    if not classes:
        return parts, None
    return parts, _joined(products, [group.without_class() for group in groups], samples)


def _joined(products: SampleProducts, parts: Sequence[CosineParts], samples: int) -> CosineParts:
    """Return the parts of all groups in the order of the samples: (maps, samples, columns)."""
    maps = len(products.starts)
    columns = parts[0].numerators.shape[-1] if parts else len(products.means[0].shares)
    found = np.empty((2, maps, samples, columns))
    for part, group in zip(parts, products.groups, strict=True):
        found[0][:, group.samples] = part.numerators
        found[1][:, group.samples] = part.squares
    largest = np.max([np.zeros(maps), *(part.largest for part in parts)], axis=0)
    return CosineParts(found[0], found[1], largest)
