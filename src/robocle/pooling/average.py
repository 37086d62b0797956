"""Average pooling: the mean over all positions."""

import numpy as np

from robocle.types import FeatureMaps, Vectors


class Average:
    """The mean over all positions."""

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Vectors:
        positions = np.float32(maps.grid.shape[1])
        pooled: Vectors = np.einsum("npc->nc", maps.grid) / positions
        return pooled
