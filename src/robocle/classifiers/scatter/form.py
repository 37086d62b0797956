"""The interface of both forms of a scatter. `robocle.classifiers.scatter.forms` selects one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from robocle.classifiers.scatter.class_factors import ClassFactors, SampleIndex
from robocle.classifiers.scatter.cosine import MeanProducts
from robocle.classifiers.scatter.followed_solution import MAX_MOVES, Move
from robocle.classifiers.scatter.helmert import first_contrast, residuals_of
from robocle.classifiers.scatter.inverses import Inverse
from robocle.classifiers.scatter.origin import Origin
from robocle.classifiers.scatter.solved_products import Products
from robocle.classifiers.scatter.square_bounds import SquareBounds
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Vector


class ScatterForm(ABC):
    """The within-class scatter S and the class means of embeddings, or of one block of them.

    Args:
        width: The length of an embedding (or block).
        blocks: How many blocks with their own ridge the scatter is divided into.
        factors: Keeps the contribution of each class to the scatter.
        centred: Whether deviations are taken from the class mean. If not, they are the samples
            themselves, and with steps of 1 the means are sums.
    """

    def __init__(
        self, width: int, blocks: int, factors: ClassFactors, *, centred: bool = True
    ) -> None:
        self.width = width
        self.blocks = blocks
        self._factors = factors
        self._centred = centred
        self.moves: list[Move] | None = None
        """The samples since the list was last emptied; None if they are not known."""
        self._bounds: SquareBounds | None = None
        self._bounded = False  # whether bounds were returned since the last sample
        self._limit: float | None = None

    @property
    @abstractmethod
    def separable(self) -> bool:
        """Whether the contribution of each class to the scatter is known."""

    @abstractmethod
    def add_row(self) -> None:
        """Add a class whose mean is zero."""

    @abstractmethod
    def remove_row(self, row: int) -> None:
        """Remove the mean of a class, and its contribution to the scatter if that is known."""

    @abstractmethod
    def add(self, sample: Vector, row: int, weight: float, step: float) -> None:
        """Add weight * v v^T to the scatter and step * v to the mean, v = sample - mean."""

    @abstractmethod
    def traces(self) -> Vector:
        """Return the trace of each diagonal block of the scatter."""

    @abstractmethod
    def squares(self) -> Matrix:
        """Return the squared Frobenius norm of each block of the scatter."""

    def square_bounds(self) -> tuple[float, float]:
        """Return bounds of the squared Frobenius norm, for a single block; the next are equal."""
        self.settle()
        if self._bounds is None or (self._bounded and not self._bounds.exact):
            self._bounds = SquareBounds(float(self.squares()[0, 0]))
        self._bounded = True
        low = self._bounds.low
        return low, low if self._bounds.exact else self._bounds.high

    @abstractmethod
    def largest_square(self) -> float:
        """Return the largest squared length of a class mean."""

    def square_limit(self) -> float:
        """Return an upper bound of `largest_square`, which takes less time."""
        if not self._centred:
            return self.largest_square()
        self.settle()
        if self._limit is None:
            self._limit = self.largest_square()
        return self._limit

    @abstractmethod
    def energies(self, counts: Vector, blocks: int) -> Vector:
        """Return the sum of squares of all samples for each block, from means and factors.

        Args:
            counts: The number of samples taught per class.
            blocks: How many blocks the embedding is divided into.
        """

    @abstractmethod
    def solve(
        self, share: float, ridge: Vector, origin: Origin | None = None
    ) -> tuple[Matrix, MeanProducts]:
        """Return rows w = (share S + diag(ridge))^-1 m per class mean m, and products m . w.

        Args:
            share: The weight of the scatter.
            ridge: One number per block.
            origin: The origin of the familiarity. Its fixed row, if it has one, comes after the
                class means; then there must be a single block.
        """

    def residual_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Return how many samples per class leave-one-out scores can be computed for."""
        return self._factors.residual_counts(counts)

    def products(
        self,
        share: float,
        ridge: Vector,
        samples: Sequence[SampleIndex],
        counts: Sequence[int],
        origin: Origin,
    ) -> Products:
        """Return the inner products that leave-one-out scores need; only for a single block.

        Args:
            share: The weight of the scatter.
            ridge: One number.
            samples: The samples to leave out.
            counts: The number of samples taught per class.
            origin: The origin of the familiarity.
        """
        means, beside = self._mean_rows(origin)
        classes = sorted({number for number, _ in samples})
        parts = [means, *(self._factors.rows(number, means.shape[1]) for number in classes)]
        whitened = self._whitened(np.vstack(parts), share, ridge)
        if beside:  # one more direction, in which only the fixed row has a component
            whitened = np.pad(whitened, ((0, 0), (0, 1)))
            whitened[len(means) - 1, -1] = np.sqrt(beside / ridge[0])
        means, *each = np.split(whitened, np.cumsum([len(part) for part in parts[:-1]]))
        contributions = dict(zip(classes, each, strict=True))
        residuals = self._factors.residuals(samples, counts, contributions)
        return Products(share, means, np.vstack([residuals, means[:0]]), contributions)

    @property
    def factors(self) -> ClassFactors:
        """The contribution of each class to the scatter."""
        return self._factors

    def settle(self) -> None:  # noqa: B027
        """Learn what is pending, so that `moves` has it."""

    def tidy(self) -> bool:
        """Do work that makes later lessons faster; return whether there was any."""
        return False

    @abstractmethod
    def inverse(self, ridge: float) -> Inverse:
        """Return (S + ridge I)^-1, which may have to be completed."""

    @abstractmethod
    def full_means(self) -> Matrix:
        """Return the class means in full width. The caller must not modify them."""

    @abstractmethod
    def times_means(self, rows: Matrix) -> Matrix:
        """Return the dot product of each full-width row with each class mean: (rows, classes)."""

    @property
    def compressed(self) -> bool:
        """Whether everything is kept in coordinates of the span of the samples."""
        return False

    def spanned(self, coordinates: Vector) -> tuple[Vector, Vector]:
        """Return the full-width row with these coordinates, and its products with the class means.

        Only a compressed form has coordinates. The basis may have gained directions since.
        """
        raise NotImplementedError

    def some_means(self, classes: Sequence[int]) -> Matrix:
        """Return the means of some classes, in full width."""
        return self.full_means()[list(classes)]

    def shared_rows(self) -> tuple[Matrix, list[range]] | None:
        """Return what `full_rows` returns in one array, and where the rows of each class are.

        The array is never modified. None if there is no such array.
        """
        return None

    @property
    def rows_type(self) -> DTypeLike:
        """The smallest type that holds what `full_rows` returns."""
        return np.float64

    @abstractmethod
    def full_rows(self, number: int) -> Matrix:
        """Return the rows that a class contributes to the scatter, in full width."""

    def samples(self, counts: Sequence[int], known: Sequence[int] = ()) -> Matrix | None:
        """Return all samples, one class after another; None if they are not determined.

        Args:
            counts: The number of samples taught per class.
            known: How many of the first samples of each of the first classes are left out.
        """
        self.settle()
        if not (self._centred and self._factors.has_samples(counts)):
            return None
        means, _ = self._mean_rows(Origin.none(self.width))
        starts = [*known, *[0] * (len(means) - len(known))]
        each = [
            mean + residuals_of(self._factors.rows(number, len(mean), first_contrast(start)), start)
            for number, (mean, start) in enumerate(zip(means, starts, strict=True))
            if start < counts[number]
        ]
        return self._full_width(np.vstack([*each, means[:0]]))

    @abstractmethod
    def _full_width(self, rows: Matrix) -> Matrix:
        """Return rows in coordinates of the class factors in full width."""

    @property
    def _notes(self) -> bool:
        """Whether samples must be noted; see `_note`."""
        return self._bounds is not None or self._limit is not None

    def _note(self, square: float, contributed: float) -> None:
        """Note a sample for `square_bounds` and `square_limit`.

        Args:
            square: Its squared length.
            contributed: What it adds to the trace of the scatter.
        """
        self._bounded = False
        if self._bounds is not None:
            self._bounds.add(contributed)
        if self._limit is not None:  # a mean is not longer than the longest sample
            self._limit = max(self._limit, square)

    def _forget_bounds(self) -> None:
        """Discard what `square_bounds` and `square_limit` know, because more was changed."""
        self._bounds = self._limit = None

    def _record(self, move: Move) -> None:
        """Note a sample for those who follow the scatter."""
        if self.moves is not None and len(self.moves) < MAX_MOVES:
            self.moves.append(move)
        else:
            self.moves = None

    @abstractmethod
    def _mean_rows(self, origin: Origin) -> tuple[Matrix, float]:
        """Return the class means and the origin's fixed row, in coordinates of the class factors.

        The second value is the square of the part of the fixed row that these coordinates lack.
        """

    @abstractmethod
    def _whitened(self, rows: Matrix, share: float, ridge: Vector) -> Matrix:
        """Return rows whose dot products are those of the given rows under (share S + ridge)^-1.

        The given rows may be overwritten.
        """

    @abstractmethod
    def state(self) -> Arrays:
        """Return the arrays. What is learned later does not change them."""

    @abstractmethod
    def restore(self, state: ClassifierState) -> None:
        """Replace everything with the arrays of a state."""
