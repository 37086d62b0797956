"""Poolings: feature maps to one vector a picture.

A pooling is called with FeatureMaps and gives (n, width) float32. Its vectors are made of `blocks`
equal parts of different kind; classifiers may treat the blocks apart.
"""

from typing import Protocol

from robocle.registry import Registry
from robocle.types import Embeddings, FeatureMaps


class Pooling(Protocol):
    """What the rest of robocle needs of a pooling."""

    @property
    def blocks(self) -> int: ...
    def __call__(self, maps: FeatureMaps) -> Embeddings: ...


POOLINGS: Registry[Pooling] = Registry(
    "pooling",
    {
        "avg": "robocle.pooling.average:Average",
        "max": "robocle.pooling.extremes:Maximum",
        "avgmax": "robocle.pooling.extremes:AverageMaximum",
        "mix": "robocle.pooling.extremes:Mix",
        "stochastic": "robocle.pooling.stochastic:Stochastic",
        "lp": "robocle.pooling.lp:PowerMean",
        "rap": "robocle.pooling.extremes:RankedActivations",
        "isqrt": "robocle.pooling.isqrt:RootCovariance",
        "cls": "robocle.pooling.token:ClassToken",
        "moments": "robocle.pooling.moments:Moments",
    },
)


def pooling(spec: str) -> Pooling:
    """The pooling a spec describes, such as "moments:r=3,form=root"."""
    return POOLINGS.build(spec)
