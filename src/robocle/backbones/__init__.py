"""Backbones: pictures to feature maps, by frozen networks.

A backbone has a name, a fingerprint that changes with its function, the side of its square input,
how many pixel levels are one unit of its normalised input, whether it has a class token, and
features(pixels) -> FeatureMaps.
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
    @property
    def pixel_unit(self) -> float: ...
    @property
    def has_token(self) -> bool: ...
    def features(self, pixels: Pixels) -> FeatureMaps: ...


BACKBONES: Table[Backbone] = Table(
    "backbone",
    {"efficientnet_lite0": "robocle.backbones.efficientnet_lite:EfficientNetLite0"},
)


def backbone(spec: str = "efficientnet_lite0") -> Backbone:
    """The backbone a spec describes, such as "efficientnet_lite0:threads=2"."""
    return BACKBONES.build(spec)
