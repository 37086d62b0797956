"""Added backbones: networks that `robocle backbones add` put on this machine.

Each lies in a model folder of its own, and the folder is the truth: what is read from it is checked
against its hashes at every load, and a damaged one is refused. To give a fleet of robots the same
backbone, add it once and copy its folder.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from robocle.backbones.model_folder import (
    Manifest,
    backbones_folder,
    read_folder,
    read_manifest,
    write_folder,
)
from robocle.backbones.onnx_backbone import OnnxBackbone
from robocle.errors import BackboneError


class AddedBackbone(OnnxBackbone):
    """A network that was added on this machine: `robocle backbones` says from where."""

    def __init__(self, model: str, threads: int = 1) -> None:
        self.model = model
        super().__init__(*read_added(model), threads)

    def model_bytes(self) -> bytes:
        """The serialised ONNX model."""
        return read_added(self.manifest.name)[1]


class TimmBackbone(AddedBackbone):
    """A network of the timm collection, once it was added."""

    def __init__(self, model: str, threads: int = 1) -> None:
        super().__init__(f"timm:{model}", threads)
        self.model = model


def fingerprint(model: bytes, input_size: int, has_token: bool) -> str:
    """A hash of all that decides an added backbone's features; the model normalises by itself."""
    model_sha256 = hashlib.sha256(model).hexdigest()
    facts = f"added/1/{model_sha256}/{input_size}/{has_token}"
    return hashlib.sha256(facts.encode()).hexdigest()


def added_folder(name: str) -> Path:
    """Where an added backbone lies; a name may hold what a folder's must not."""
    return backbones_folder() / "added" / _folder_of(name)


def _folder_of(name: str) -> str:
    """A folder's name that leads nowhere else."""
    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if quoted.startswith(".") else quoted


def added_names() -> list[str]:
    """The names of all added backbones, sorted."""
    try:
        folders = sorted(os.listdir(backbones_folder() / "added"))
    except OSError:
        return []
    return [unquote(folder) for folder in folders if _folder_of(unquote(folder)) == folder]


def added_manifests() -> Iterator[tuple[str, Manifest | None]]:
    """Each added backbone and what its folder says; None if that cannot be read."""
    for name in added_names():
        try:
            yield name, read_manifest(added_folder(name))
        except (OSError, ValueError):
            yield name, None


def require_added(name: str) -> None:
    """Refuse the name of a backbone that was not added."""
    if name not in added_names():
        raise BackboneError(f"the backbone {name} is not here: robocle backbones add {name}")


def read_added(name: str) -> tuple[Manifest, bytes]:
    """The manifest and the model of an added backbone, if its folder is sound."""
    require_added(name)
    folder = added_folder(name)
    try:
        manifest, model = read_folder(folder)
        expected = fingerprint(model, manifest.input_size, manifest.has_token)
        if (manifest.name, manifest.fingerprint) != (name, expected):
            raise ValueError("its manifest is not that of its model")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BackboneError(
            f"the folder of {name}, {folder}, is damaged ({reason}): "
            "add it again with `robocle backbones add`"
        ) from error
    return manifest, model


def write_added(manifest: Manifest, model: bytes) -> Path:
    """Put a backbone in its folder, in place of what is there; gives the folder."""
    folder = added_folder(manifest.name)
    try:
        write_folder(folder, manifest, model)
    except OSError as error:
        raise BackboneError(f"cannot write {folder}: {error.strerror or error}") from error
    return folder


def remove_added(name: str) -> None:
    """Delete an added backbone."""
    if name not in added_names():
        raise BackboneError(f"{name} was not added, so there is nothing to remove")
    folder = added_folder(name)
    try:
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    except OSError as error:
        raise BackboneError(f"cannot remove {folder}: {error.strerror or error}") from error
