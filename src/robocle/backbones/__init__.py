"""Backbones: frozen networks that compute the feature maps of pictures.

`Backbone` is the contract that a backbone has to fulfil, whether it comes with robocle, was added
with `robocle backbones add`, or is a plug-in of another package.
"""

from collections.abc import Mapping
from typing import Protocol

from robocle.backbones.names import ARCHITECTURES
from robocle.errors import BackboneError
from robocle.registry import Registry
from robocle.spec import parse_spec
from robocle.types import FeatureMaps, Pixels


class Backbone(Protocol):
    """The plug-in contract: what robocle needs from a backbone.

    A plug-in is any class with these members. No base class is needed. Its package lists the class
    under the entry point group "robocle.backbones", and its constructor arguments are the options
    of the spec. `robocle.contract.check_backbone` checks the class. Three members are optional:

    - `model_bytes() -> bytes` returns the serialised ONNX model from uint8 pixels to the feature
      map. Only `robocle export` to an ONNX file needs it.
    - `threads: int`, a constructor argument and attribute, is the number of CPU threads. Only
      `robocle backbones bench` needs it.
    - `earlier_channels: int` is the number of channels of the earlier map, which `features` then
      returns as well. Missing or 0: there is none.

    A class that runs an ONNX model can derive from `robocle.backbones.onnx_backbone.OnnxBackbone`,
    which has all these members.
    """

    @property
    def name(self) -> str:
        """The spec that loads the backbone again. It is stored in every state."""

    @property
    def fingerprint(self) -> str:
        """A hash that differs between any two backbones that compute different features.

        A state can only be used with a backbone of the same fingerprint.
        """

    @property
    def input_size(self) -> int:
        """The side of the square input in pixels."""

    @property
    def pixel_unit(self) -> float:
        """How many levels of 0..255 make one unit of the normalised input.

        Corruptions whose strength is given in normalised units use it to scale their noise.
        """

    @property
    def has_token(self) -> bool:
        """Whether `features` returns class tokens, which the pooling "cls" needs."""

    def features(self, pixels: Pixels) -> FeatureMaps:
        """Compute the feature maps of a batch.

        Args:
            pixels: uint8 RGB pixels (n, input_size, input_size, 3), not normalised.

        Returns:
            The maps in float32: `grid` (n, positions, channels); if `has_token`, `token`
            (n, channels); with `earlier_channels`, `earlier` (n, positions, channels) at any
            number of positions. A picture's maps must not depend on the others in its batch.

        Raises:
            FeatureError: The pixels have a different shape or dtype.
        """


def _added() -> Mapping[str, str]:
    """Return the added backbones that have a plain name; timm's are found by "timm:MODEL"."""
    from robocle.backbones.added import added_names

    target = "robocle.backbones.added:AddedBackbone"
    return {name: target for name in added_names() if ":" not in name}


def _addable() -> Mapping[str, str]:
    return {name: f"robocle backbones add {name}" for name in ARCHITECTURES}


def _advice(name: str) -> str:
    """Return how to get an int8 twin, or a network at another size; nothing for other names."""
    from robocle.backbones.added import how_to_add, is_int8
    from robocle.backbones.efficientnet_lite import PUBLISHED
    from robocle.backbones.names import split_size

    network, size = split_size(name)
    if network in PUBLISHED:
        return f"write {network}:size={size}"
    return how_to_add(name) if is_int8(name) or network in ARCHITECTURES else ""


BACKBONES: Registry[Backbone] = Registry(
    "backbone",
    {
        "efficientnet_lite0": "robocle.backbones.efficientnet_lite:EfficientNetLite0",
        "efficientnet_lite1": "robocle.backbones.efficientnet_lite:EfficientNetLite1",
        "efficientnet_lite2": "robocle.backbones.efficientnet_lite:EfficientNetLite2",
        "timm": "robocle.backbones.added:TimmBackbone",
        "onnx": "robocle.backbones.adding.user_onnx:UserOnnx",
    },
    found=_added,
    obtainable=_addable,
    advice=_advice,
)


def backbone(spec: str = "efficientnet_lite0") -> Backbone:
    """Load a backbone.

    Args:
        spec: Its name and options, such as "efficientnet_lite0:threads=2".

    Raises:
        SpecError: The name or an option is unknown.
        BackboneError: The backbone cannot be loaded.

    Example:
        >>> network = backbone()
        >>> network.name, network.input_size, network.has_token
        ('efficientnet_lite0', 224, False)
        >>> import numpy as np
        >>> network.features(np.zeros((1, 224, 224, 3), np.uint8)).grid.shape
        (1, 49, 1280)
    """
    return BACKBONES.build(spec)


def earlier_channels(network: object) -> int:
    """Return the number of channels of a backbone's earlier map; 0 if it has none.

    Example:
        >>> earlier_channels(backbone())
        672
    """
    channels: int = getattr(network, "earlier_channels", 0)
    return channels


def backbone_of_state(spec: str, fingerprint: str) -> Backbone:
    """Load the backbone that a state records. A file that the state names is not opened.

    Args:
        spec: Its name and options, from the state.
        fingerprint: Its fingerprint, from the state. Only the network of an ONNX file is found by
            it; the caller must compare that of other backbones.

    Raises:
        SpecError: The name or an option is unknown.
        BackboneError: The backbone is not on this machine.
    """
    from robocle.backbones.added import GivenOnnx, added_folder

    name = parse_spec(spec).name
    if name == "onnx":
        return GivenOnnx(spec, fingerprint)
    # What comes with robocle is known without a search for plug-ins, which takes a while.
    known = name in BACKBONES.builtin() or name in ARCHITECTURES
    if not (known or name in BACKBONES.names() or _advice(name)):
        raise BackboneError(
            f"the backbone {name} (sha {fingerprint[:8]}) is not on this machine: copy its folder "
            f"from one that has it to {added_folder(name)}, or install the plug-in that has it"
        )
    return backbone(spec)


def require_backbone(spec: str) -> None:
    """Raise if a backbone is not on this machine, without loading it.

    Args:
        spec: Its name and options.

    Raises:
        SpecError: The name is unknown.
        BackboneError: It is a network of timm that was not added, or its weights are missing.
    """
    from robocle.backbones.added import require_added
    from robocle.backbones.efficientnet_lite import require_weights

    BACKBONES.require(spec)
    parsed = parse_spec(spec)
    require_weights(spec)
    if parsed.name == "timm":
        require_added(f"timm:{parsed.first or parsed.options.get('model', '')}")
