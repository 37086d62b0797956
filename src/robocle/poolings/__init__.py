"""Poolings: from feature maps to one embedding per picture.

A pooling is called with FeatureMaps and returns float32 embeddings (n, width). An embedding
consists of `blocks` blocks of equal width, one per kind of statistic. Classifiers may scale each
block separately. A pooling may also pool the earlier map: its blocks follow, and have another
width.
"""

from typing import TYPE_CHECKING, Protocol

from robocle.blocks import Blocks, Layout
from robocle.registry import Registry

if TYPE_CHECKING:  # `import robocle` imports this file, and need not wait for numpy
    from robocle.types import Embeddings, FeatureMaps


class Pooling(Protocol):
    """The interface of a pooling.

    One member is optional: `earlier: int` is the number of blocks from the earlier map, which
    follow the others if the backbone has an earlier map.
    """

    @property
    def blocks(self) -> int:
        """The number of equally wide blocks from the last map."""

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
        "avg": "robocle.poolings.plain:Average",
        "max": "robocle.poolings.plain:Maximum",
        "avgmax": "robocle.poolings.plain:AverageMaximum",
        "mix": "robocle.poolings.plain:Mix",
        "stochastic": "robocle.poolings.literature:Stochastic",
        "lp": "robocle.poolings.literature:PowerMean",
        "rap": "robocle.poolings.plain:RankedActivations",
        "isqrt": "robocle.poolings.literature:RootCovariance",
        "cls": "robocle.poolings.plain:ClassToken",
        "moments": "robocle.poolings.moments:Moments",
        "focus": "robocle.poolings.focus:Focus",
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


def block_layout(pool: Pooling, earlier_channels: int) -> Layout:
    """Return the layout of the blocks of an embedding, for a classifier.

    Args:
        pool: The pooling.
        earlier_channels: The number of channels of the backbone's earlier map; 0 if it has none.

    Example:
        >>> block_layout(pooling("focus"), 672), block_layout(pooling("moments"), 672)
        ('3+2x672', 3)
    """
    earlier = getattr(pool, "earlier", 0) if earlier_channels else 0
    return Blocks(pool.blocks, earlier, earlier_channels if earlier else 0).option
