"""The class token of a vision transformer."""

from robocle.errors import FeatureError
from robocle.types import Embeddings, FeatureMaps


class ClassToken:
    """The class token of a vision transformer."""

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        if maps.token is None:
            raise FeatureError("this backbone has no class token: use cls with a ViT, or avg")
        return maps.token
