"""Backbones: pictures to feature maps, by frozen networks.

A backbone has a name, a fingerprint that changes with its function, the side of its square input,
and features(pixels) -> FeatureMaps.
"""

from typing import Protocol

from robocle.spec import Table
from robocle.types import FeatureMaps, Pixels


class Backbone(Protocol):
    """What the rest of robocle needs of a backbone."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def input_size(self) -> int: ...
    def features(self, pixels: Pixels) -> FeatureMaps: ...


BACKBONES: Table[Backbone] = Table(
    "backbone",
    {"efficientnet_lite0": "robocle.backbones.efficientnet_lite:EfficientNetLite0"},
)


def backbone(spec: str = "efficientnet_lite0") -> Backbone:
    """The backbone a spec describes, such as "efficientnet_lite0:threads=2"."""
    return BACKBONES.build(spec)
