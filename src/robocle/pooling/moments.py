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

from robocle.blas import one_blas_thread
from robocle.spec import require_between, require_choice
from robocle.types import FeatureMaps, Vectors

Floats = NDArray[np.float32] | NDArray[np.float64]

# Below this share of the mean a deviation is what float32 rounding leaves of a constant channel.
CONSTANT = 4 * float(np.finfo(np.float32).eps)


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

    def __call__(self, maps: FeatureMaps) -> Vectors:
        n, _, channels = maps.grid.shape
        pooled = np.empty((n, self.r, channels), np.float32)
        # One picture at a time: its map stays in the processor's cache between the passes.
        with one_blas_thread():
            for picture, grid in enumerate(maps.grid):
                central = _central_moments(grid, self.r)
                if not np.isfinite(central).all():
                    central = _central_moments(grid.astype(np.float64), self.r)
                pooled[picture] = self._normalised(central)
        return pooled.reshape(n, self.r * channels)

    def _normalised(self, central: Floats) -> Floats:
        """Bring raw central moments (order, channel) to their form."""
        if self.r == 1:
            return central
        blocks = np.zeros_like(central)
        blocks[0] = central[0]
        deviation = np.sqrt(central[1])
        varies = deviation > CONSTANT * np.abs(central[0])
        blocks[1, varies] = deviation[varies]
        for order in range(3, self.r + 1):
            moment = central[order - 1, varies]
            if self.form == "root":
                blocks[order - 1, varies] = _signed_root(moment, order)
            else:
                scale = deviation[varies].astype(np.float64) ** order  # float32 would underflow
                blocks[order - 1, varies] = moment / scale
        return blocks


def _central_moments(grid: Floats, r: int) -> Floats:
    """The mean, then E[(g - mean)^k] for k = 2..r, of a map (positions, channels).

    Centred before any product (raw power sums lose the skewness in float32), and by products and
    matrix-vector sums (a power costs seventy times a product).
    """
    share = np.full(len(grid), 1 / len(grid), grid.dtype)
    moments = np.empty((r, grid.shape[1]), grid.dtype)
    moments[0] = share @ grid
    if r > 1:
        centred = grid - moments[0]
        power = centred.copy(order="K")
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for order in range(2, r + 1):
                power *= centred
                moments[order - 1] = share @ power
    return moments


def _signed_root(values: Floats, order: int) -> Floats:
    if order == 3:
        return np.cbrt(values)
    return np.copysign(np.abs(values) ** (1 / order), values)
