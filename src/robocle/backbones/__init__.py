"""Backbones: pictures to feature maps, by frozen networks.

A backbone has a name, a fingerprint that changes with its function, the side of its square input,
how many pixel levels are one unit of its normalised input, whether it has a class token, and
features(pixels) -> FeatureMaps.
"""

from collections.abc import Mapping
from typing import Protocol

from robocle.backbones.architectures import ARCHITECTURES
from robocle.registry import Registry
from robocle.spec import parse_spec
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


def _added() -> Mapping[str, str]:
    """Those that were added under a plain name; the others go by the name of their collection."""
    from robocle.backbones.added import added_names

    target = "robocle.backbones.added:AddedBackbone"
    return {name: target for name in added_names() if ":" not in name}


def _addable() -> Mapping[str, str]:
    return {name: f"robocle backbones add {name}" for name in ARCHITECTURES}


BACKBONES: Registry[Backbone] = Registry(
    "backbone",
    {
        "efficientnet_lite0": "robocle.backbones.efficientnet_lite:EfficientNetLite0",
        "timm": "robocle.backbones.added:TimmBackbone",
        "onnx": "robocle.backbones.export.user_onnx:UserOnnx",
    },
    found=_added,
    obtainable=_addable,
)


def backbone(spec: str = "efficientnet_lite0") -> Backbone:
    """The backbone a spec describes, such as "efficientnet_lite0:threads=2"."""
    return BACKBONES.build(spec)


def require_backbone(spec: str) -> None:
    """Refuse a backbone that is not on this machine, without loading it."""
    from robocle.backbones.added import require_added

    BACKBONES.require(spec)
    parsed = parse_spec(spec)
    if parsed.name == "timm":
        require_added(f"timm:{parsed.first or parsed.options.get('model', '')}")
