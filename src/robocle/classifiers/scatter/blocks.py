"""The scatter of embeddings whose blocks may each have a covariance of their own."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from robocle.blas import one_blas_thread
from robocle.blocks import Blocks
from robocle.classifiers.scatter.class_factors import MIN_ROWS, ClassFactors, SampleIndex
from robocle.classifiers.scatter.class_samples import (
    TaughtEmbeddings,
    class_contrasts,
    class_means,
    float32_if_exact,
)
from robocle.classifiers.scatter.compressed import DENSE_FROM_IN_BULK, CompressedScatter
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.forms import Form, array_owners, fastest, merged, restored
from robocle.classifiers.scatter.leave_one_out import LeftOutSamples, left_out
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.shrinkage import regularised
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Vector
from robocle.errors import FeatureError, StateError

Regulariser = tuple[float, Vector]
"""(share, ridge): the shrunk covariance is share * scatter + ridge, with one ridge per block."""


class BlockScatters:
    """One scatter and the class means per block of the embedding.

    Args:
        layout: The blocks that have a covariance of their own.
        ridges: How many ridge parameters each of these covariances has.
        factors: Returns new, empty class factors.
        most: The number of samples whose contributions are all kept; None for as many as the widest
            block has entries.
    """

    def __init__(
        self,
        layout: Blocks,
        ridges: int,
        factors: Callable[[], ClassFactors],
        most: int | None = None,
    ) -> None:
        self._layout = layout
        self._most = most
        self._ridges = ridges
        self._new_factors = factors
        self._forms: list[Form] = []

    @property
    def dense(self) -> bool:
        """Whether a scatter is stored in the dense form."""
        return any(isinstance(form, DenseScatter) for form in self._forms)

    @property
    def forms(self) -> Sequence[Form]:
        """The scatter of each block."""
        return self._forms

    @property
    def count(self) -> int:
        """The number of blocks; 0 if nothing was taught yet."""
        return len(self._forms)

    @property
    def last(self) -> int:
        """The number of blocks from the last map. The others are from the earlier map."""
        return self._layout.last

    @property
    def separable(self) -> bool:
        """Whether the contribution of each class is known."""
        return all(form.separable for form in self._forms)

    def add_row(self, width: int) -> None:
        """Add a class of embeddings of this width."""
        if not self._forms:
            self._forms = [
                CompressedScatter(each, self._ridges, self._factors(width))
                for each in self._layout.widths(width)
            ]
        for form in self._forms:
            form.add_row()

    def _factors(self, width: int) -> ClassFactors:
        """Return new class factors for embeddings of this width, with one limit for all blocks."""
        found = self._new_factors()
        widest = max(self._layout.widths(width))
        found.most = max(widest, MIN_ROWS) if self._most is None else self._most
        return found

    def samples(
        self, counts: Sequence[int], known: TaughtEmbeddings | None
    ) -> TaughtEmbeddings | None:
        """Return all samples, if float32 holds them exactly.

        Args:
            counts: The number of samples taught per class.
            known: The first of them, if they are known: they need not be computed.
        """
        if known is None or known.rows.dtype != np.float32:
            known = TaughtEmbeddings(np.empty((0, sum(self.widths)), np.float32), ())
        found = []
        for form in self._forms:
            exact = form.samples(counts, known.counts)
            rounded = float32_if_exact(exact) if exact is not None else None
            if rounded is None:
                return None
            found.append(rounded)
        return known.joined(np.hstack(found), counts) if found else None

    def begin(self, samples: Matrix, counts: Sequence[int]) -> None:
        """Start from the samples of one class after another.

        Raises:
            FeatureError: The samples cannot be divided into the blocks.
        """
        self._forms = []
        start, contrasts, means = 0, class_contrasts(samples, counts), class_means(samples, counts)
        for width in self._layout.widths(samples.shape[1]):
            part, factors = slice(start, start + width), self._factors(samples.shape[1])
            start += width
            if len(samples) <= DENSE_FROM_IN_BULK * width:
                few = CompressedScatter(width, self._ridges, factors)
                few.begin(samples[:, part], counts)
                self._forms.append(few)
            else:
                factors.begin(contrasts[:, part], counts)
                many = DenseScatter(width, self._ridges, factors)
                many.begin(means[:, part], contrasts[:, part])
                self._forms.append(many)

    def remove_row(self, row: int) -> None:
        """Remove a class; see `ScatterForm.remove_row`."""
        for form in self._forms:
            form.remove_row(row)

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add a sample; see `ScatterForm.add`."""
        start = 0
        for form in self._forms:
            form.add(sample[start : start + form.width], row, weight, step)
            start += form.width
        for number, form in enumerate(self._forms):
            self._forms[number] = fastest(form)
            if self._forms[number] is not form:
                break  # the next one with a later sample: no lesson has to wait for all of them

    def merge(
        self, other: "BlockScatters", rows: list[int], weights: Vector, steps: Vector
    ) -> None:
        """Add what another classifier has learned; see `forms.merged`."""
        for number, (mine, added) in enumerate(zip(self._forms, other._forms, strict=True)):
            self._forms[number] = merged(mine, added, rows, weights, steps)

    def energies(self, counts: Vector, blocks: int) -> Vector:
        """Return the sum of squares of all samples for each of `blocks` blocks."""
        each = blocks // len(self._layout)
        return np.concatenate([form.energies(counts, each) for form in self._forms])

    def regularisers(
        self, gains: Vector, shrinkage: float | str, samples: int, freedom: int
    ) -> list[Regulariser]:
        """Return the regulariser of each scatter; see `shrinkage.regularised`."""
        pairs = zip(self._forms, np.split(gains, len(self._forms)), strict=True)
        return [
            regularised(form, own[: form.blocks] ** 2, shrinkage, samples, freedom)
            for form, own in pairs
        ]

    @property
    def widths(self) -> list[int]:
        """The width of each block."""
        return [form.width for form in self._forms]

    def solve(
        self,
        regularisers: Sequence[Regulariser],
        weights: Sequence[float],
        origins: Sequence[Origin] | None = None,
    ) -> tuple[Matrix, MeanProducts]:
        """Return rows w = C^-1 m per class mean m, and products m . w, for weighted blocks.

        The origins' fixed row comes after the class means.
        """
        origins = origins or [Origin.none(width) for width in self.widths]
        each = zip(self._forms, regularisers, origins, strict=True)
        solved = [form.solve(*regular, origin) for form, regular, origin in each]
        rows = np.hstack(
            [weight * found for (found, _), weight in zip(solved, weights, strict=True)]
        )
        return rows, MeanProducts.stacked([each for _, each in solved]).weighted(weights)

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        """Return how many samples per class leave-one-out scores can be computed for."""
        if not self._forms:
            return []
        each = [form.residual_counts(counts) for form in self._forms]
        fewest: list[int] = np.min(each, axis=0).tolist()
        return fewest

    def left_out(
        self,
        regularisers: Sequence[Regulariser],
        samples: Sequence[SampleIndex],
        counts: Sequence[int],
        origins: Sequence[Origin],
    ) -> Iterator[LeftOutSamples]:
        """Yield samples with the sample, and with its class, left out; see `leave_one_out`."""
        each = zip(self._forms, regularisers, origins, strict=True)
        with one_blas_thread():
            products = [
                form.products(*regular, samples, counts, origin) for form, regular, origin in each
            ]
        rows = np.array([row for row, _ in samples], np.int64)
        return left_out(products, rows, np.array(counts, float), origins[0], self.last)

    def discard_order(self) -> None:
        """Keep only sums; see `CompressedScatter.discard_order`."""
        for form in self._forms:
            if isinstance(form, CompressedScatter):
                form.discard_order()

    def state(self) -> Arrays:
        """Return the arrays, as they are now. Each name begins with the number of the block."""
        return {
            f"{number}.{name}": array
            for number, form in enumerate(self._forms)
            for name, array in form.state().items()
        }

    def restore(self, state: ClassifierState) -> int | None:
        """Replace everything with a state; return the width, or None if nothing was ever taught.

        Raises:
            StateError: The state is damaged.
        """
        self._forms = []
        if not any("." in name for name in state.arrays) and not state.labels:
            return None
        self._forms = [
            restored(state.within(f"{number}."), self._ridges, self._new_factors())
            for number in range(self._stored_blocks(state))
        ]
        width = self._checked_width()
        for form in self._forms:
            form.factors.most = self._factors(width).most
        return width

    def _stored_blocks(self, state: ClassifierState) -> int:
        """Return how many blocks a state has: it may have none of an earlier map."""
        first = f"{self._layout.last}."
        has_earlier = any(name.startswith(first) for name in state.arrays)
        return len(self._layout) if has_earlier else self._layout.last

    def _checked_width(self) -> int:
        found = tuple(form.width for form in self._forms)
        try:
            expected = self._layout.widths(sum(found))
        except FeatureError:
            expected = ()
        if found != expected:
            raise StateError(f"state has covariance blocks of other widths than {self._layout}")
        return sum(found)

    def array_owners(self) -> dict[str, Ownership]:
        """Return which labels own the rows of each array that a state may hold."""
        owners: dict[str, Ownership] = {}
        for number in range(len(self._layout)):
            owners |= array_owners(f"{number}.")
        return owners
