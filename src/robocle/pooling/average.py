"""Average pooling: the mean over all positions."""

import numpy as np

from robocle.types import FeatureMaps, Vectors


class Average:
    """The mean over all positions."""

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Vectors:
        pooled: Vectors = maps.grid.mean(axis=1, dtype=np.float32)
        return pooled
