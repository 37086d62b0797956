"""Poolings: from feature maps to one embedding per picture.

A pooling is called with FeatureMaps and returns float32 embeddings (n, width). An embedding
consists of `blocks` blocks of equal width, one per kind of statistic. Classifiers may scale each
block separately.
"""

from typing import TYPE_CHECKING, Protocol

from robocle.registry import Registry

if TYPE_CHECKING:  # `import robocle` imports this file, and need not wait for numpy
    from robocle.types import Embeddings, FeatureMaps


class Pooling(Protocol):
    """The interface of a pooling."""

    @property
    def blocks(self) -> int:
        """The number of equally wide blocks in an embedding."""

    def __call__(self, maps: "FeatureMaps") -> "Embeddings":
        """Pool feature maps.

        Args:
            maps: The feature maps of n pictures.

        Returns:
            One embedding per picture, (n, width). An embedding does not depend on the other
            pictures of the batch.
        """


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
    """Build a pooling from its spec.

    Args:
        spec: A name of POOLINGS with options, such as "moments:r=3,form=root".

    Returns:
        The pooling.

    Raises:
        SpecError: The name or an option is unknown, or a value is not allowed.

    Example:
        >>> pooling("moments:r=2")
        Moments(r=2, form='root')
    """
    return POOLINGS.build(spec)
