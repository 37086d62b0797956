"""Model folders: where a backbone's ONNX model is kept once it has been built.

A folder holds `model.onnx` and `manifest.json`. It appears whole, by one rename, so that two
programs that build the same model at once do not disturb each other, and it is checked against the
manifest's hash at every load: a damaged folder is built again.
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

log = logging.getLogger("robocle")

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


def cache_folder() -> Path:
    """Where built models are kept: $ROBOCLE_CACHE, or the user's own cache folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path("robocle"))


def load_or_build(manifest: Manifest, build: Callable[[], bytes]) -> bytes:
    """The serialised model: from its folder if that is sound, else built and kept for next time."""
    folder = cache_folder() / "backbones" / f"{manifest.name}-{manifest.fingerprint[:16]}"
    model = _read(folder, manifest)
    if model is None:
        log.info("building %s (once; kept in %s)", manifest.name, folder)
        model = build()
        _keep(folder, manifest, model)
    return model


def _read(folder: Path, manifest: Manifest) -> bytes | None:
    try:
        recorded = json.loads((folder / "manifest.json").read_text("utf-8"))
        model = (folder / "model.onnx").read_bytes()
    except (OSError, ValueError, RecursionError):
        return None
    sound = recorded == _record(manifest, model)
    if not sound:
        log.warning("%s is damaged, or of another version, and will be built again", folder)
    return model if sound else None


def _record(manifest: Manifest, model: bytes) -> dict[str, object]:
    return {**dataclasses.asdict(manifest), "model_sha256": hashlib.sha256(model).hexdigest()}


def _keep(folder: Path, manifest: Manifest, model: bytes) -> None:
    """Put the model in its folder; a cache that cannot be written costs time, not the answer."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary:
            fresh = Path(temporary) / "fresh"
            fresh.mkdir()
            (fresh / "model.onnx").write_bytes(model)
            record = json.dumps(_record(manifest, model), indent=2) + "\n"
            (fresh / "manifest.json").write_text(record, "utf-8")
            _swap_in(fresh, folder, Path(temporary) / "old")
    except OSError as error:
        log.warning("cannot keep %s in %s (%s): it is built again next time", manifest.name,
                    folder, error.strerror)  # fmt: skip


def _swap_in(fresh: Path, folder: Path, aside: Path) -> None:
    """Rename fresh to folder. If another program got there first, theirs is as good as ours."""
    if folder.exists():
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.exists():
            raise
