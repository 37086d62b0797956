"""Stochastic pooling: one position per channel, drawn in proportion to its activation.

Zeiler & Fergus, "Stochastic pooling for regularization of deep CNNs" (2013). The draw is keyed by
the seed and the map itself, so a picture always has the same embedding, alone or in any batch.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle.spec import Described, require_between
from robocle.types import Embeddings, FeatureMaps


class Stochastic(Described):
    """The value at one position per channel, drawn in proportion to activation.

    Args:
        seed: Another seed draws other positions.

    Raises:
        SpecError: The seed is negative.

    Example:
        >>> maps = FeatureMaps(np.array([[[0], [0], [6]]], np.float32))
        >>> Stochastic()(maps).tolist()
        [[6.0]]
    """

    blocks = 1

    def __init__(self, seed: int = 0) -> None:
        require_between("seed", seed, 0, 2**63)
        self.seed = seed

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        positive = np.maximum(maps.grid, 0).astype(np.float64)
        reach = np.cumsum(positive, axis=1)
        total = reach[:, -1:]
        # In a channel without positive activation, all positions are equally likely.
        steps = np.arange(1, maps.grid.shape[1] + 1, dtype=np.float64)[None, :, None]
        reach = np.where(total > 0, reach, steps)
        draws = self._draws(maps.grid)[:, None] * reach[:, -1:]
        chosen = (reach > draws).argmax(axis=1)
        drawn: Embeddings = np.take_along_axis(maps.grid, chosen[:, None], axis=1)[:, 0]
        return drawn

    def _draws(self, grid: NDArray[np.float32]) -> NDArray[np.float64]:
        """Draw a number from 0 to 1 for each picture and channel."""
        channels = grid.shape[2]
        draws = [
            keyed_rng(self.seed, "stochastic pooling", _content(picture)).random(channels)
            for picture in grid
        ]
        return np.array(draws).reshape(len(grid), channels)


def _content(picture: NDArray[np.float32]) -> str:
    return hashlib.sha256(np.ascontiguousarray(picture).tobytes()).hexdigest()
