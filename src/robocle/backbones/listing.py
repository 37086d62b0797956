"""The list of backbones: those on this machine, and those that can be added to it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from robocle.backbones.added import added_folder, added_manifests
from robocle.backbones.efficientnet_lite import PUBLISHED, Published, is_available
from robocle.backbones.model_folder import Manifest
from robocle.backbones.names import ARCHITECTURES

ListingState = Literal[
    "default", "built in", "needs robocle[lite]", "added", "damaged", "can be added"
]


@dataclass(frozen=True)
class ListedBackbone:
    """One entry of the list. Sizes are 0 if they are not known."""

    name: str
    state: ListingState
    input_size: int = 0
    side: int = 0
    """The side of the square feature map."""
    channels: int = 0
    has_token: bool = False
    megabytes: int = 0
    source: str = ""

    @property
    def map(self) -> str:
        """The shape of the feature map, with a + if there is a class token as well.

        Example:
            >>> ListedBackbone("vit_b_32", "can be added", 224, 7, 768, has_token=True).map
            '7x7x768 +'
        """
        token = " +" if self.has_token else ""
        return f"{self.side}x{self.side}x{self.channels}{token}" if self.channels else ""


def listed_backbones() -> Iterator[ListedBackbone]:
    """Yield those that are built in, the sixteen of the paper, and all others that were added."""
    for network in PUBLISHED.values():
        described = _described(network.manifest, _built_in(network), network.megabytes)
        yield replace(described, source="")
    added = dict(added_manifests())
    for name, known in ARCHITECTURES.items():
        if name in added:
            yield _added(name, added.pop(name))
        else:
            facts = (known.input_size, known.side, known.channels, known.has_token)
            yield ListedBackbone(name, "can be added", *facts, known.megabytes)
    for name, manifest in added.items():
        yield _added(name, manifest)


def _built_in(network: Published) -> ListingState:
    if network.number == 0:
        return "default"
    return "built in" if is_available(network) else "needs robocle[lite]"


def _added(name: str, manifest: Manifest | None) -> ListedBackbone:
    damaged = ListedBackbone(name, "damaged", source="add it again")
    if manifest is None:
        return damaged
    try:
        size = (added_folder(name) / "model.onnx").stat().st_size
    except OSError:
        return damaged
    return _described(manifest, "added", max(1, round(size / 1e6)))


def _described(manifest: Manifest, state: ListingState, megabytes: int) -> ListedBackbone:
    return ListedBackbone(
        manifest.name,
        state,
        manifest.input_size,
        math.isqrt(manifest.positions),
        manifest.channels,
        manifest.has_token,
        megabytes,
        manifest.source.replace(f" {manifest.name} ", " "),
    )
