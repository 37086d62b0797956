"""RobOCLe's pooling: the first R statistical moments of each channel over the positions (eq. 1).

The block of order 1 is the mean, that of order 2 the standard deviation. For the orders from 3 on
there are two forms:
- `root`: the signed r-th root of the central moment, on the mean's own scale like the two before;
- `standardised`: the moment of (g - mean) / deviation, the equation's literal reading. It reaches
  positions^(r/2 - 1), ten times the mean's scale and more.
A channel that is constant has moments 0 from order 2 on, never NaN.
"""

import numpy as np
from numpy.typing import NDArray

from robocle.spec import require_between, require_choice
from robocle.types import Embeddings, FeatureMaps

Floats = NDArray[np.float32] | NDArray[np.float64]

ROUNDING = float(np.finfo(np.float32).eps)
LARGEST = float(np.finfo(np.float32).max)
# Below this share of the mean a deviation is what float32 rounding leaves of a constant channel.
CONSTANT = 4 * ROUNDING


class Moments:
    """RobOCLe's moments: mean, deviation, and the orders 3 to R, concatenated."""

    def __init__(self, r: int = 3, form: str = "root") -> None:
        require_between("r", r, 1, 8)
        require_choice("form", form, ("root", "standardised"))
        self.r = r
        self.form = form

    @property
    def blocks(self) -> int:
        return self.r

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        n, _, channels = maps.grid.shape
        pooled = np.empty((n, self.r, channels), np.float32)
        # One picture at a time: its map stays in the processor's cache between the passes.
        for blocks, grid in zip(pooled, maps.grid, strict=True):
            centred = _fill_first_two(blocks, grid)
            if self.r > 1 and not self._float32_holds(blocks, len(grid)):
                blocks[:] = self._in_float64(grid)
            elif self.r > 2:
                self._fill_higher(blocks, grid, centred)
        return pooled.reshape(n, self.r * channels)

    def _float32_holds(self, blocks: Floats, positions: int) -> bool:
        """Whether no deviation may be the mean's rounding alone, and no product overflows.

        A sum of p values is wrong by up to p roundings.
        """
        mean, deviation = blocks[:2]
        largest = (LARGEST * ROUNDING) ** (1 / self.r) / positions
        held = deviation >= np.abs(mean) * (ROUNDING * positions)
        held &= deviation <= largest
        return bool(np.count_nonzero(held) == len(held))

    def _in_float64(self, grid: NDArray[np.float32]) -> NDArray[np.float64]:
        wide = grid.astype(np.float64)
        blocks = np.empty((self.r, grid.shape[1]))
        with np.errstate(all="ignore"):
            centred = _fill_first_two(blocks, wide)
            constant = blocks[1] <= CONSTANT * np.abs(blocks[0])
            self._fill_higher(blocks, wide, centred)
        blocks[1:, constant] = 0
        return blocks

    def _fill_higher(self, blocks: Floats, grid: Floats, centred: Floats) -> None:
        """The orders from 3 on: sums of products, for a power costs seventy times a product.

        The last product overwrites its factor, as less memory is then to be fetched:
        E[c^r] = E[c^(r-1) g] - mean E[c^(r-1)].
        """
        mean, deviation = blocks[:2]
        power, moment = centred, deviation * deviation
        for order, block in enumerate(blocks[2:], start=3):
            last = order == self.r
            power = np.multiply(power, centred, out=centred if last else None)
            np.einsum("pc,pc->c", power, grid if last else centred, out=block)
            block /= len(grid)
            if last:
                block -= mean * moment
            else:
                moment = block.copy()
            self._bring_in_form(block, order, deviation)

    def _bring_in_form(self, moment: Floats, order: int, deviation: Floats) -> None:
        if self.form == "standardised":
            # In float64, for a power of a small deviation underflows in float32.
            moment /= np.where(deviation > 0, deviation, 1).astype(np.float64) ** order
        elif order == 3:
            np.cbrt(moment, out=moment)
        else:
            np.copysign(np.abs(moment) ** (1 / order), moment, out=moment)


def _fill_first_two(blocks: Floats, grid: Floats) -> Floats:
    """The mean and the deviation of a map (positions, channels); gives the centred map.

    Centred before any product: raw power sums lose the skewness in float32. einsum takes the map as
    it lies in memory, and needs no BLAS, which would have to be held to one thread each time.
    """
    mean = np.einsum("pc->c", grid, out=blocks[0])
    mean /= len(grid)
    if len(blocks) == 1:
        return grid
    centred: Floats = grid - mean
    variance = np.einsum("pc,pc->c", centred, centred, out=blocks[1])
    variance /= len(grid)
    np.sqrt(variance, out=variance)
    return centred
