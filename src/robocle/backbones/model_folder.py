"""Model folders: where a backbone's ONNX model is kept once it has been built.

A folder holds `model.onnx` and `manifest.json`. It appears whole, by one rename, so that two
programs that build the same model at once do not disturb each other, and it is checked against the
manifest's hash at every load. A damaged folder of a model that robocle builds by itself is built
again; of one that was added, it is refused.
"""

import dataclasses
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from robocle.images import PREPROCESSING

log = logging.getLogger("robocle")

MOST = 1_000_000
CACHE_VARIABLE = "ROBOCLE_CACHE"


@dataclass(frozen=True)
class Manifest:
    """What a backbone is. Equal fingerprints mean equal features."""

    name: str
    fingerprint: str
    input_size: int
    channels: int
    positions: int
    pixel_unit: float
    """How many levels of 0..255 are one unit of the normalised input."""
    has_token: bool
    source: str
    licence: str
    mean: tuple[float, float, float]
    """What is taken from a pixel of 0..1 in each channel, inside the model."""
    std: tuple[float, float, float]
    """By what the rest is divided."""
    resize: str = PREPROCESSING
    """How a picture comes to the square input."""


def cache_folder() -> Path:
    """Where built models are kept: $ROBOCLE_CACHE, or the user's own cache folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path("robocle"))


def backbones_folder() -> Path:
    """Where all model folders are."""
    return cache_folder() / "backbones"


def load_or_build(manifest: Manifest, build: Callable[[], bytes]) -> bytes:
    """The serialised model: from its folder if that is sound, else built and kept for next time."""
    folder = backbones_folder() / f"{manifest.name}-{manifest.fingerprint[:16]}"
    model = _read(folder, manifest)
    if model is None:
        log.info("building %s (once; kept in %s)", manifest.name, folder)
        model = build()
        _keep(folder, manifest, model)
    return model


def read_folder(folder: Path) -> tuple[Manifest, bytes]:
    """The manifest and the model in a folder; ValueError or OSError if they are not sound."""
    manifest, model_sha256 = _read_manifest(folder)
    model = (folder / "model.onnx").read_bytes()
    if model_sha256 != hashlib.sha256(model).hexdigest():
        raise ValueError("its model is not the one that its manifest describes")
    return manifest, model


def read_manifest(folder: Path) -> Manifest:
    """What a folder says it holds, without reading the model."""
    return _read_manifest(folder)[0]


def write_folder(folder: Path, manifest: Manifest, model: bytes) -> None:
    """Put a model in its folder, in place of what is there, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary:
        fresh = Path(temporary) / "fresh"
        fresh.mkdir()
        (fresh / "model.onnx").write_bytes(model)
        model_sha256 = hashlib.sha256(model).hexdigest()
        record = dataclasses.asdict(manifest) | {"model_sha256": model_sha256}
        (fresh / "manifest.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        _swap_in(fresh, folder, Path(temporary) / "old")


def _read_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest and the hash that the model must have."""
    try:
        facts = json.loads((folder / "manifest.json").read_text("utf-8"))
        model_sha256 = facts.pop("model_sha256")
        facts |= {key: tuple(facts[key]) for key in ("mean", "std")}
        manifest = Manifest(**facts)
    except (AttributeError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"its manifest cannot be read ({error})") from error
    _require_sensible(manifest)
    return manifest, model_sha256


def _require_sensible(manifest: Manifest) -> None:
    """A manifest may come from anywhere: numbers are numbers, and text can be shown."""
    sizes = (manifest.input_size, manifest.channels, manifest.positions)
    texts = (manifest.name, manifest.fingerprint, manifest.source, manifest.licence)
    levels = (manifest.pixel_unit, *manifest.mean, *manifest.std)
    sensible = (
        all(isinstance(size, int) and 0 < size < MOST for size in sizes)
        and all(isinstance(text, str) and text.isprintable() for text in (*texts, manifest.resize))
        and all(isinstance(level, int | float) for level in levels)
        and isinstance(manifest.has_token, bool)
    )
    if not sensible:
        raise ValueError("its manifest holds what no backbone has")


def _read(folder: Path, manifest: Manifest) -> bytes | None:
    try:
        if read_manifest(folder) != manifest:
            raise ValueError("its manifest is not the one of this version")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # as after an update: nothing to worry about
        log.info("%s will be built again: %s", folder, error)
        return None
    try:
        return read_folder(folder)[1]
    except (OSError, ValueError):
        log.warning("%s is damaged, and will be built again", folder)
        return None


def _keep(folder: Path, manifest: Manifest, model: bytes) -> None:
    """Put the model in its folder; a cache that cannot be written costs time, not the answer."""
    try:
        write_folder(folder, manifest, model)
    except OSError as error:
        log.warning("cannot keep %s in %s (%s): it is built again next time", manifest.name,
                    folder, error.strerror)  # fmt: skip


def _swap_in(fresh: Path, folder: Path, aside: Path) -> None:
    """Rename fresh to folder. If another program got there first, theirs is as good as ours."""
    if folder.exists():
        folder.rename(aside)
    try:
        fresh.rename(folder)
    except OSError:
        if folder.exists():
            return
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)
