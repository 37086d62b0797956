"""Plain poolings: the mean over all positions, and the class token of a vision transformer."""

import numpy as np

from robocle.errors import FeatureError
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


class ClassToken(Described):
    """The class token of a vision transformer.

    A call raises FeatureError if the backbone has no class token.

    Example:
        >>> import numpy as np
        >>> maps = FeatureMaps(np.zeros((1, 4, 2), np.float32), np.ones((1, 2), np.float32))
        >>> ClassToken()(maps).tolist()
        [[1.0, 1.0]]
    """

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        if maps.token is None:
            raise FeatureError(
                "this backbone has no class token: use the pooling avg, or a vision transformer"
            )
        return maps.token
