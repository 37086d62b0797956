"""The list of backbones: what is on this machine, and what can be added to it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from robocle.backbones.added import added_folder, added_manifests
from robocle.backbones.architectures import ARCHITECTURES
from robocle.backbones.efficientnet_lite import MANIFEST
from robocle.backbones.model_folder import Manifest

DEFAULT_MEGABYTES = 14


@dataclass(frozen=True)
class Listed:
    """A backbone as the list shows it."""

    name: str
    state: str
    """"default", "here", "damaged" or "can be added"."""
    input_size: int = 0
    side: int = 0
    channels: int = 0
    has_token: bool = False
    megabytes: int = 0
    source: str = ""

    @property
    def map(self) -> str:
        """The size of the map; + for a class token beside it."""
        token = " +" if self.has_token else ""
        return f"{self.side}x{self.side}x{self.channels}{token}" if self.channels else ""


def listed_backbones() -> Iterator[Listed]:
    """The default, the paper's sixteen, and whatever else was added."""
    yield replace(_described(MANIFEST, "default", DEFAULT_MEGABYTES), source="")
    added = dict(added_manifests())
    for name, known in ARCHITECTURES.items():
        if name in added:
            yield _added(name, added.pop(name))
        else:
            facts = (known.input_size, known.side, known.channels, known.has_token)
            yield Listed(name, "can be added", *facts, known.megabytes)
    for name, manifest in added.items():
        yield _added(name, manifest)


def _added(name: str, manifest: Manifest | None) -> Listed:
    if manifest is None:
        return Listed(name, "damaged", source="add it again")
    try:
        size = (added_folder(name) / "model.onnx").stat().st_size
    except OSError:
        return Listed(name, "damaged", source="add it again")
    return _described(manifest, "here", max(1, round(size / 1e6)))


def _described(manifest: Manifest, state: str, megabytes: int) -> Listed:
    return Listed(
        manifest.name,
        state,
        manifest.input_size,
        math.isqrt(manifest.positions),
        manifest.channels,
        manifest.has_token,
        megabytes,
        manifest.source.replace(f" {manifest.name} ", " "),
    )
