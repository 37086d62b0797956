"""The class token of a vision transformer."""

from robocle.errors import FeatureError
from robocle.spec import Described
from robocle.types import Embeddings, FeatureMaps


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
