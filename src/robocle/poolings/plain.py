"""Plain poolings: the mean and the largest values over the positions, and the class token."""

import math

import numpy as np

from robocle.errors import FeatureError
from robocle.spec import Described, require_between
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


class Maximum(Described):
    """The maximum over all positions.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [2], [6]]], np.float32))
        >>> Maximum()(maps).tolist()
        [[6.0]]
    """

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        maximum: Embeddings = maps.grid.max(axis=1)
        return maximum


class AverageMaximum(Described):
    """The mean and the maximum, concatenated.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [2], [6]]], np.float32))
        >>> AverageMaximum()(maps).tolist()
        [[3.0, 6.0]]
    """

    blocks = 2

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        return np.hstack([Average()(maps), Maximum()(maps)])


class Mix(Described):
    """A weighted sum of the mean and the maximum.

    Args:
        share: The weight of the mean, from 0 to 1. The maximum has the rest.

    Raises:
        SpecError: The share is out of range.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [2], [6]]], np.float32))
        >>> Mix(share=0.5)(maps).tolist()
        [[4.5]]
    """

    blocks = 1

    def __init__(self, share: float = 0.5) -> None:
        require_between("share", share, 0, 1)
        self.share = share

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        share = np.float32(self.share)
        return share * Average()(maps) + (1 - share) * Maximum()(maps)


class RankedActivations(Described):
    """The largest values of each channel in descending order (RAP).

    The embedding has one value per channel for the largest values, then one per channel for the
    second largest, and so on.

    Args:
        top: The percentage of positions whose values are kept, rounded up to whole positions.

    Raises:
        SpecError: The percentage is out of range.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [2], [6]]], np.float32))
        >>> RankedActivations(top=60)(maps).tolist()
        [[6.0, 2.0]]
    """

    blocks = 1

    def __init__(self, top: float = 10.0) -> None:
        require_between("top", top, 0.01, 100)
        self.top = top

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        n, positions, channels = maps.grid.shape
        kept = max(1, math.ceil(self.top / 100 * positions))
        rest = positions - kept
        largest = np.partition(maps.grid, rest, axis=1)[:, rest:] if rest else maps.grid
        descending = -np.sort(-largest, axis=1)
        return np.ascontiguousarray(descending.reshape(n, kept * channels))


class ClassToken(Described):
    """The class token of a vision transformer.

    A call raises FeatureError if the backbone has no class token.

    Example:
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
