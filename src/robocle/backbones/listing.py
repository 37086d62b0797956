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
    map: str = ""
    """The shape of the feature map, with a + if there is a class token as well."""
    megabytes: int = 0
    source: str = ""


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
            shape = _map(known.side, known.channels, known.has_token)
            yield ListedBackbone(name, "can be added", known.input_size, shape, known.megabytes)
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
    name, side = manifest.name, math.isqrt(manifest.positions)
    shape = _map(side, manifest.channels, manifest.has_token)
    source = manifest.source.replace(f" {name} ", " ")
    return ListedBackbone(name, state, manifest.input_size, shape, megabytes, source)


def _map(side: int, channels: int, has_token: bool) -> str:
    return f"{side}x{side}x{channels}" + (" +" if has_token else "")
