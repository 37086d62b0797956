"""RobOCLe's pooling: the first R statistical moments of each channel over the positions (eq. 1).

Block 1 is the mean and block 2 the standard deviation. The higher orders have two forms:
- `root`: the signed r-th root of the central moment, which has the scale of the mean;
- `standardised`: the moment of (g - mean) / deviation, the literal reading of the equation. It
  reaches positions^(r/2 - 1), which can be more than ten times the scale of the mean.
A constant channel has moments 0 from order 2 on, never NaN.

Moments are computed in float32, and again in float64 for channels where that is not precise enough.
The page on poolings states the tolerance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robocle.spec import Described, require_between, require_choice
from robocle.types import Embeddings, FeatureMaps

Form = Literal["root", "standardised"]
Floats = NDArray[np.float32] | NDArray[np.float64]

ROUNDING = float(np.finfo(np.float32).eps)
LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)
# How far the mean may be off in the worst case, as a share of the deviation, so that moments are
# within the stated tolerance. With few positions the other roundings dominate.
PRECISION = 8e-4
FEW_POSITIONS = 64
# A deviation below this share of the mean is float32 rounding: the channel is constant.
CONSTANT = 4 * ROUNDING


@dataclass(frozen=True, eq=False)
class PositionMoments:
    """The mean, the standard deviation and the orders 3 to r of each channel."""

    r: int
    form: Form = "root"
    weights: NDArray[np.float64] | None = None
    """The weight of each position; they sum to 1. None if all count the same."""

    def __call__(self, grids: NDArray[np.float32]) -> Embeddings:
        """Return the moments of maps (n, positions, channels), concatenated: (n, r * channels)."""
        n, positions, channels = grids.shape
        pooled = np.empty((n, self.r, channels), np.float32)
        # Pool one picture at a time, so that its map stays in the processor's cache.
        with np.errstate(all="ignore"):  # What overflows is computed again.
            for blocks, grid in zip(pooled, grids, strict=True):
                centred = self._fill_first_two(blocks, grid)
                self._fill_higher(blocks, grid, centred)
        if self.r > 1:
            for picture, channel in self._imprecise(pooled, positions):
                grid = grids[picture][:, channel]
                pooled[picture][:, channel] = self._in_float64(grid)
        return pooled.reshape(n, self.r * channels)

    def _imprecise(
        self, pooled: NDArray[np.float32], positions: int
    ) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the pictures and their channels for which float32 is not precise enough.

        Either the deviation is small beside the mean, which is off by up to one rounding per
        position, or products of deviations underflow or overflow.
        """
        mean, deviation = np.abs(pooled[:, 0]), pooled[:, 1]
        smallest = (SMALLEST / ROUNDING) ** (1 / self.r)
        largest = (LARGEST * ROUNDING) ** (1 / self.r) / positions
        rounded = mean * (ROUNDING / PRECISION * max(positions, FEW_POSITIONS))
        precise = deviation >= np.maximum(rounded, smallest, out=rounded)
        precise &= deviation <= largest
        if np.count_nonzero(precise) < precise.size:
            precise |= (mean == 0) & (deviation == 0)
            for picture, held in enumerate(precise):
                if not held.all():
                    yield picture, np.flatnonzero(~held)

    def _in_float64(self, grid: NDArray[np.float32]) -> NDArray[np.float64]:
        wide = grid.astype(np.float64)
        blocks = np.empty((self.r, grid.shape[1]))
        with np.errstate(all="ignore"):
            centred = self._fill_first_two(blocks, wide)
            constant = blocks[1] <= CONSTANT * np.abs(blocks[0])
            self._fill_higher(blocks, wide, centred)
        blocks[1:, constant] = 0
        return blocks

    def _fill_higher(self, blocks: Floats, grid: Floats, centred: Floats) -> None:
        """Fill the blocks from order 3 on with means of products.

        A floating-point power would take seventy times as long as a product. The last product
        overwrites its factor, which saves memory traffic: E[c^r] = E[c^(r-1) g] - mean E[c^(r-1)].
        """
        if self.r < 3:
            return
        mean, deviation = blocks[:2]
        power, moment = self._weighted(centred), deviation * deviation
        for order, block in enumerate(blocks[2:], start=3):
            last = order == self.r
            power = np.multiply(power, centred, out=centred if last else None)
            self._products(power, grid if last else centred, block)
            if last:
                block -= mean * moment
            else:
                moment = block.copy()
            self._scale(block, order, deviation)

    def _scale(self, moment: Floats, order: int, deviation: Floats) -> None:
        if self.form == "standardised":
            # In float64, because a power of a small deviation underflows in float32.
            moment /= np.where(deviation > 0, deviation, 1).astype(np.float64) ** order
        elif order == 3:
            np.cbrt(moment, out=moment)
        else:
            np.copysign(np.abs(moment) ** (1 / order), moment, out=moment)

    def _fill_first_two(self, blocks: Floats, grid: Floats) -> Floats:
        """Fill in the mean and the deviation of a map (positions, channels); return it centred.

        The map is centred before any product, because raw power sums lose the skewness in float32.
        einsum accepts any memory layout and needs no BLAS, whose threads would have to be limited.
        """
        mean = self._sums(grid, blocks[0])
        if len(blocks) == 1:
            return grid
        centred: Floats = grid - mean
        variance = self._products(self._weighted(centred), centred, blocks[1])
        np.sqrt(variance, out=variance)
        return centred

    def _sums(self, grid: Floats, out: Floats) -> Floats:
        """Return the weighted mean over the positions."""
        if self.weights is None:
            np.einsum("pc->c", grid, out=out)
            out /= len(grid)
        else:
            np.einsum("p,pc->c", self.weights.astype(grid.dtype), grid, out=out)
        return out

    def _weighted(self, centred: Floats) -> Floats:
        """Return the centred map, with each position multiplied by its weight."""
        if self.weights is None:
            return centred
        return np.multiply(centred, self.weights[:, None], dtype=centred.dtype, casting="same_kind")

    def _products(self, weighted: Floats, grid: Floats, out: Floats) -> Floats:
        """Return the mean over the positions of products, of which one factor is weighted."""
        np.einsum("pc,pc->c", weighted, grid, out=out)
        if self.weights is None:
            out /= len(grid)
        return out


class Moments(Described):
    """RobOCLe's moments: mean, standard deviation and the orders 3 to r, concatenated.

    Args:
        r: The number of moments, from 1 to 8.
        form: How the orders from 3 on are scaled, "root" or "standardised".

    Raises:
        SpecError: An option has a value that is not allowed.

    Example:
        >>> import numpy as np
        >>> maps = FeatureMaps(np.array([[[1], [1], [1], [5]]], np.float32))
        >>> Moments(r=3)(maps).round(2)
        array([[2.  , 1.73, 1.82]], dtype=float32)
        >>> Moments(r=3, form="standardised")(maps).round(2)
        array([[2.  , 1.73, 1.15]], dtype=float32)
    """

    def __init__(self, r: int = 3, form: Form = "root") -> None:
        require_between("r", r, 1, 8)
        require_choice("form", form, get_args(Form))
        self.r = r
        self.form = form

    @property
    def blocks(self) -> int:
        """One block per moment."""
        return self.r

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        return PositionMoments(self.r, self.form)(maps.grid)
