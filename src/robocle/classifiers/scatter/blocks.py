"""The scatter of embeddings whose blocks may each have a covariance of their own."""

from collections.abc import Callable, Sequence

import numpy as np

from robocle.blocks import Blocks
from robocle.classifiers.scatter.class_factors import ClassFactors, SampleIndex
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.forms import Form, array_owners, fastest, merged, restored
from robocle.classifiers.scatter.leave_one_out import Products
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
    """

    def __init__(self, layout: Blocks, ridges: int, factors: Callable[[], ClassFactors]) -> None:
        self._layout = layout
        self._ridges = ridges
        self._new_factors = factors
        self._forms: list[Form] = []

    @property
    def dense(self) -> bool:
        """Whether a scatter is stored in the dense form."""
        return any(isinstance(form, DenseScatter) for form in self._forms)

    @property
    def count(self) -> int:
        """The number of blocks; 0 if nothing was taught yet."""
        return len(self._forms)

    @property
    def separable(self) -> bool:
        """Whether the contribution of each class is known."""
        return all(form.separable for form in self._forms)

    def add_row(self, width: int) -> None:
        """Add a class of embeddings of this width."""
        if not self._forms:
            self._forms = [
                CompressedScatter(each, self._ridges, self._new_factors())
                for each in self._layout.widths(width)
            ]
        for form in self._forms:
            form.add_row()

    def remove_row(self, row: int) -> None:
        """Remove a class; see `ScatterForm.remove_row`."""
        for form in self._forms:
            form.remove_row(row)

    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add a sample; see `ScatterForm.add`."""
        start = 0
        for number, form in enumerate(self._forms):
            form.add(sample[start : start + form.width], row, weight, step)
            start += form.width
            self._forms[number] = fastest(form)

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
        origins: Sequence[Origin],
    ) -> tuple[Matrix, MeanProducts]:
        """Return rows w = C^-1 m per class mean m, and products m . w, for weighted blocks.

        The origins' fixed row comes after the class means.
        """
        each = zip(self._forms, regularisers, origins, strict=True)
        solved = [form.solve(*regular, origin) for form, regular, origin in each]
        rows = np.hstack(
            [weight * found for (found, _), weight in zip(solved, weights, strict=True)]
        )
        return rows, MeanProducts.total([products for _, products in solved], weights)

    def residual_counts(self, counts: Sequence[int]) -> list[int]:
        """Return how many samples per class leave-one-out scores can be computed for."""
        each = [form.residual_counts(counts) for form in self._forms]
        return [min(kept) for kept in zip(*each, strict=True)]

    def products(
        self,
        regularisers: Sequence[Regulariser],
        samples: Sequence[SampleIndex],
        counts: Sequence[int],
        origins: Sequence[Origin],
    ) -> list[Products]:
        """Return the inner products that leave-one-out scores need, per block."""
        each = zip(self._forms, regularisers, origins, strict=True)
        return [form.products(*regular, samples, counts, origin) for form, regular, origin in each]

    def discard_order(self) -> None:
        """Keep only sums; see `CompressedScatter.discard_order`."""
        for form in self._forms:
            if isinstance(form, CompressedScatter):
                form.discard_order()

    def state(self) -> Arrays:
        """Return copies of the arrays. Each name begins with the number of the block."""
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
        return self._checked_width()

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
