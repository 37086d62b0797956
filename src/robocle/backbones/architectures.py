"""The sixteen networks of the paper, as torchvision has them: what is known before adding one."""

from dataclasses import dataclass


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
