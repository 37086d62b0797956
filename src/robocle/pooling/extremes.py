"""Poolings by the largest values: the maximum, its blends with the mean, and the top few."""

import math

import numpy as np

from robocle.pooling.average import Average
from robocle.spec import require_between
from robocle.types import Embeddings, FeatureMaps

average = Average()


class Maximum:
    """The maximum over all positions."""

    blocks = 1

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        return _maximum(maps)


class AverageMaximum:
    """The mean and the maximum, concatenated."""

    blocks = 2

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        return np.hstack([average(maps), _maximum(maps)])


class Mix:
    """A blend of the mean (`share` of it) and the maximum."""

    blocks = 1

    def __init__(self, share: float = 0.5) -> None:
        require_between("share", share, 0, 1)
        self.share = share

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        share = np.float32(self.share)
        return share * average(maps) + (1 - share) * _maximum(maps)


class RankedActivations:
    """The largest `top` percent of each channel's values, in falling order (RAP)."""

    blocks = 1

    def __init__(self, top: float = 10.0) -> None:
        require_between("top", top, 0.01, 100)
        self.top = top

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        n, positions, channels = maps.grid.shape
        kept = max(1, math.ceil(self.top / 100 * positions))
        rest = positions - kept
        largest = np.partition(maps.grid, rest, axis=1)[:, rest:] if rest else maps.grid
        falling = -np.sort(-largest, axis=1)
        return np.ascontiguousarray(falling.reshape(n, kept * channels))


def _maximum(maps: FeatureMaps) -> Embeddings:
    maximum: Embeddings = maps.grid.max(axis=1)
    return maximum
