"""Average pooling: the mean over all positions."""

import numpy as np

from robocle.types import Embeddings, FeatureMaps


class Average:
    """The mean over all positions."""

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        positions = np.float32(maps.grid.shape[1])
        pooled: Embeddings = np.einsum("npc->nc", maps.grid) / positions
        return pooled
