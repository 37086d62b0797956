"""Names of backbones: the paper's sixteen networks, and input sizes.

A built-in backbone has the size as an option. A network that is added for another size than its own
has the size at the end of its name, as in "resnet50_288".
"""

import re
from dataclasses import dataclass

from robocle.errors import SpecError
from robocle.spec import require_whole

SIZES = range(64, 1025, 32)
"""The sides of the input that a network can be used at, besides its own. Most networks halve it
five times."""


@dataclass(frozen=True)
class Architecture:
    """The input and the maps of a network, and the approximate size of its model."""

    input_size: int
    """The side of the square input in pixels."""
    side: int
    """The side of the square last map."""
    channels: int
    earlier_side: int
    """The side of the square earlier map, unless another one is chosen."""
    earlier_channels: int
    megabytes: int
    has_token: bool = False
    """Whether it has a class token."""


ARCHITECTURES = {
    "mobilenet_v3_small": Architecture(224, 7, 576, 14, 288, 4),
    "mobilenet_v3_large": Architecture(224, 7, 960, 14, 672, 12),
    "efficientnet_b0": Architecture(224, 7, 1280, 14, 672, 16),
    "efficientnet_b1": Architecture(240, 8, 1280, 15, 672, 26),
    "resnet18": Architecture(224, 7, 512, 14, 256, 45),
    "resnet34": Architecture(224, 7, 512, 14, 256, 85),
    "resnet50": Architecture(224, 7, 2048, 14, 1024, 94),
    "resnet101": Architecture(224, 7, 2048, 14, 1024, 170),
    "resnet152": Architecture(224, 7, 2048, 14, 1024, 232),
    "swin_t": Architecture(224, 7, 768, 14, 384, 111),
    "swin_s": Architecture(224, 7, 768, 14, 384, 198),
    "swin_b": Architecture(224, 7, 1024, 14, 512, 350),
    "vit_b_16": Architecture(224, 14, 768, 14, 768, 343, has_token=True),
    "vit_b_32": Architecture(224, 7, 768, 7, 768, 350, has_token=True),
    "vit_l_16": Architecture(224, 14, 1024, 14, 1024, 1213, has_token=True),
    "vit_l_32": Architecture(224, 7, 1024, 7, 1024, 1222, has_token=True),
}


def require_size(size: int) -> None:
    """Raise SpecError if no network can be used at a size, unless it is its own."""
    require_whole("size", size, SIZES[0], SIZES[-1])
    if size not in SIZES:
        below = size - size % SIZES.step
        raise SpecError(
            f"size={size} is not a multiple of {SIZES.step}: give {below} or {below + SIZES.step}"
        )


def sized_name(name: str, size: int) -> str:
    """Return the name of a network at another size than its own.

    Example:
        >>> sized_name("resnet50", 288)
        'resnet50_288'
    """
    return f"{name}_{size}"


def split_size(name: str) -> tuple[str, int]:
    """Split the size from the end of a name; the size is 0 if the name does not end in one.

    Example:
        >>> split_size("vit_b_16_384"), split_size("vit_b_16")
        (('vit_b_16', 384), ('vit_b_16', 0))
    """
    found = re.fullmatch("(.+)_([1-9][0-9]{1,3})", name)
    if found and int(found[2]) in SIZES:
        return found[1], int(found[2])
    return name, 0
