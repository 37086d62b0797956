"""Average pooling: the mean over all positions."""

import numpy as np

from robocle.spec import Described
from robocle.types import Embeddings, FeatureMaps


class Average(Described):
    """The mean over all positions.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [2], [6]]], np.float32))
        >>> Average()(maps).tolist()
        [[3.0]]
    """

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        positions = np.float32(maps.grid.shape[1])
        pooled: Embeddings = np.einsum("npc->nc", maps.grid) / positions
        return pooled
