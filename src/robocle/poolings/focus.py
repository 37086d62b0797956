"""The pooling of the default learner: moments around the centre, of two maps.

The window counts the positions around the centre more than those at the edges, because people and
robots put an object in the middle of a picture. The earlier map carries details that the last map
has lost: what tells one mug from another.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robocle.poolings.moments import PositionMoments
from robocle.spec import Described, require_between
from robocle.types import Embeddings, FeatureMaps


class Focus(Described):
    """Moments around the centre, of the last map and of the earlier one.

    Args:
        r: The number of moments of the last map, from 1 to 8.
        window: The standard deviation of the Gaussian window, relative to the side of the map; 0 if
            all positions count the same.
        earlier: The number of moments of the earlier map, from 0 to 8. A backbone without an
            earlier map has none of them.

    Raises:
        SpecError: An option has a value that is not allowed.

    Example:
        >>> last, earlier = np.ones((1, 49, 8), np.float32), np.ones((1, 196, 4), np.float32)
        >>> Focus()(FeatureMaps(last, None, earlier)).shape
        (1, 32)
        >>> Focus()(FeatureMaps(last)).shape
        (1, 24)
    """

    def __init__(self, r: int = 3, window: float = 0.3, earlier: int = 2) -> None:
        require_between("r", r, 1, 8)
        require_between("window", window, 0, 10)
        require_between("earlier", earlier, 0, 8)
        self.r = r
        self.window = window
        self.earlier = earlier

    @property
    def blocks(self) -> int:
        """One block per moment of the last map."""
        return self.r

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        last = self._moments(self.r, maps.grid)
        if maps.earlier is None or not self.earlier:
            return last
        return np.hstack([last, self._moments(self.earlier, maps.earlier)])

    def _moments(self, r: int, grids: NDArray[np.float32]) -> Embeddings:
        return PositionMoments(r, weights=window_weights(grids.shape[1], self.window))(grids)


@lru_cache(maxsize=64)
def window_weights(positions: int, deviation: float) -> NDArray[np.float64] | None:
    """Return the weight of each position of a square map; they sum to 1.

    Args:
        positions: The number of positions, row by row.
        deviation: The standard deviation of the window, relative to the side.

    Returns:
        The weights; None, for equal ones, if the deviation is 0 or the map is not a square.

    >>> window_weights(9, 0.3).reshape(3, 3).round(2)
    array([[0.07, 0.12, 0.07],
           [0.12, 0.23, 0.12],
           [0.07, 0.12, 0.07]])
    """
    side = math.isqrt(positions)
    if not deviation or side * side != positions:
        return None
    places = (np.arange(side) + 0.5) / side - 0.5
    profile = np.exp(-0.5 * (places / deviation) ** 2)
    weights: NDArray[np.float64] = np.outer(profile, profile).ravel()
    weights /= weights.sum()
    weights.flags.writeable = False
    return weights
