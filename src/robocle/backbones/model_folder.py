"""Model folders: each keeps the ONNX model of one backbone and its manifest.

A folder contains `model.onnx` and `manifest.json`. It is created by one rename, so that two
programs can build the same model at the same time. At every load the model is checked against the
hash in the manifest. If the folder of the default backbone is damaged, its model is built again; a
damaged folder of an added backbone is an error.
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

LARGEST_SIZE = 1_000_000  # larger than any input size or number of channels or positions
CACHE_VARIABLE = "ROBOCLE_CACHE"


@dataclass(frozen=True)
class Manifest:
    """The description of a backbone. Equal fingerprints mean equal features."""

    name: str
    fingerprint: str
    input_size: int
    channels: int
    positions: int
    pixel_unit: float
    """How many levels of 0..255 make one unit of the normalised input."""
    has_token: bool
    source: str
    licence: str
    mean: tuple[float, float, float]
    """What the model subtracts from each channel of pixels from 0 to 1."""
    std: tuple[float, float, float]
    """What the model then divides each channel by."""
    resize: str = PREPROCESSING
    """How a picture is resized to the square input."""
    earlier: str = ""
    """Which tensor of the network the earlier map is. Empty if there is none."""
    earlier_channels: int = 0
    earlier_positions: int = 0


def cache_folder() -> Path:
    """Return the folder of all cached files: $ROBOCLE_CACHE, or the user's cache folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path("robocle"))


def backbones_folder() -> Path:
    """Return the folder that contains all model folders."""
    return cache_folder() / "backbones"


def built_folder(manifest: Manifest, sha256: str) -> Path:
    """Return the folder of a model that robocle builds, whether it exists or not.

    Its name has the hash of the model, so that two versions of robocle do not replace each other's.
    """
    name = manifest.name.replace(":", "-")  # which no folder of Windows may have in its name
    return backbones_folder() / f"{name}-{manifest.fingerprint[:16]}-{sha256[:8]}"


def load_or_build(
    manifest: Manifest, build: Callable[[], bytes], sha256: str, *, exact: bool = True
) -> bytes:
    """Return a model from its folder, or build it and keep it for the next time.

    Args:
        manifest: The description of the model.
        build: Builds the serialised model. Called if the folder is missing, damaged or outdated.
        sha256: The hash of the model that `build` returns. A model in the folder with another hash
            is not used, whatever its manifest says.
        exact: Whether `build` returns just that model. If not, the manifest is believed, and the
            hash is that of a model which changes whenever this one does.

    Returns:
        The serialised model.
    """
    folder = built_folder(manifest, sha256)
    model = _read(folder, manifest, sha256 if exact else "")
    if model is None:
        log.info("building %s (only once: it is kept in %s)", manifest.name, folder)
        model = build()
        keep_folder(folder, manifest, model, "it will be built again next time")
    return model


def read_folder(folder: Path) -> tuple[Manifest, bytes]:
    """Read the manifest and the model in a folder.

    Raises:
        OSError: A file cannot be read.
        ValueError: The manifest is invalid, or the model does not have the expected hash.
    """
    manifest, model_sha256 = read_manifest(folder)
    model = (folder / "model.onnx").read_bytes()
    if model_sha256 != hashlib.sha256(model).hexdigest():
        raise ValueError("its model does not have the hash that its manifest names")
    return manifest, model


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """Read the manifest in a folder, and the hash that the model must have.

    Raises:
        OSError: The file cannot be read.
        ValueError: The manifest is invalid.
    """
    try:
        facts = json.loads((folder / "manifest.json").read_text("utf-8"))
        model_sha256 = facts.pop("model_sha256")
        facts |= {key: tuple(facts[key]) for key in ("mean", "std")}
        manifest = Manifest(**facts)
    except (AttributeError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"its manifest cannot be read ({error})") from error
    _require_sensible(manifest)
    return manifest, model_sha256


def write_folder(folder: Path, manifest: Manifest, model: bytes) -> None:
    """Write a model folder atomically, replacing what is there.

    Args:
        folder: The folder to create or replace.
        manifest: The description of the model.
        model: The serialised model.

    Raises:
        OSError: The folder cannot be written. What was there before is kept.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary:
        fresh = Path(temporary) / "fresh"
        fresh.mkdir()
        (fresh / "model.onnx").write_bytes(model)
        model_sha256 = hashlib.sha256(model).hexdigest()
        record = dataclasses.asdict(manifest) | {"model_sha256": model_sha256}
        (fresh / "manifest.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        _swap_in(fresh, folder, Path(temporary) / "old")


def keep_folder(folder: Path, manifest: Manifest, model: bytes, otherwise: str) -> None:
    """Write a model folder if possible, and warn of what happens otherwise."""
    try:
        write_folder(folder, manifest, model)
    except OSError as error:
        reason = error.strerror
        log.warning("cannot keep %s in %s (%s): %s", manifest.name, folder, reason, otherwise)


def _require_sensible(manifest: Manifest) -> None:
    """Raise unless numbers are numbers in range and text is printable: the file may be anyone's."""
    sizes = (manifest.input_size, manifest.channels, manifest.positions)
    earlier_sizes = (manifest.earlier_channels, manifest.earlier_positions)
    texts = (manifest.name, manifest.fingerprint, manifest.source, manifest.licence,
             manifest.resize, manifest.earlier)  # fmt: skip
    levels = (manifest.pixel_unit, *manifest.mean, *manifest.std)
    sensible = (
        all(isinstance(size, int) and 0 < size < LARGEST_SIZE for size in sizes)
        and all(isinstance(size, int) and 0 <= size < LARGEST_SIZE for size in earlier_sizes)
        and all(isinstance(text, str) and text.isprintable() for text in texts)
        and all(isinstance(level, int | float) for level in levels)
        and isinstance(manifest.has_token, bool)
        and len({bool(each) for each in (manifest.earlier, *earlier_sizes)}) == 1
    )
    if not sensible:
        raise ValueError("its manifest has values that no backbone can have")


def _read(folder: Path, manifest: Manifest, sha256: str) -> bytes | None:
    """Return the model of a manifest, with this hash if one is given; None if it is not there."""
    try:
        if read_manifest(folder)[0] != manifest:
            raise ValueError("its manifest is that of another version")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # expected after an update, so it is no warning
        log.info("%s will be built again: %s", folder, error)
        return None
    try:
        model = read_folder(folder)[1]
    except (OSError, ValueError) as error:
        log.warning("%s is damaged (%s) and will be built again", folder, error)
        return None
    if sha256 and hashlib.sha256(model).hexdigest() != sha256:
        log.warning("the model in %s is not the one that robocle builds: building it again", folder)
        return None
    return model


def _swap_in(fresh: Path, folder: Path, aside: Path) -> None:
    """Rename fresh to folder. If another program did so first, its folder is as good as ours."""
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
