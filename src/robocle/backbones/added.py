"""Added backbones: networks that `robocle backbones add` put on this machine.

Each has a model folder of its own, and these folders are the only record. A folder is checked
against its hashes at every load, and a damaged one is an error. To give several robots the same
backbone, add it once and copy its folder.

A state records the file of a user's ONNX network, as in "onnx:/home/ada/net.onnx". A state may come
from anyone, so that file is never opened: it could be a device, a pipe, or a private file. Instead,
the standard model of every ONNX file that a user names is kept in a model folder, and a state is
opened with the model that has the fingerprint it records.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from robocle.backbones.efficientnet_lite import PUBLISHED
from robocle.backbones.model_folder import (
    Manifest,
    backbones_folder,
    keep_folder,
    read_folder,
    read_manifest,
    write_folder,
)
from robocle.backbones.names import ARCHITECTURES, split_size
from robocle.backbones.onnx_backbone import OnnxBackbone
from robocle.errors import BackboneError

INT8_SUFFIX = "_int8"
"""What the name of an int8 twin ends in."""


class AddedBackbone(OnnxBackbone):
    """A network that was added on this machine: `robocle backbones` lists its source.

    Args:
        model: The name under which it was added.
        threads: The number of CPU threads.

    Raises:
        BackboneError: It was not added, or its folder is damaged.
        SpecError: The number of threads is out of range.
    """

    def __init__(self, model: str, threads: int = 1) -> None:
        self.model = model
        super().__init__(*read_added(model), threads)

    def model_bytes(self) -> bytes:
        """Return the serialised ONNX model."""
        return read_added(self.manifest.name)[1]


class TimmBackbone(AddedBackbone):
    """A network of the timm collection, after it was added.

    Args:
        model: Its name in timm, with "_288" at its end if it was added for 288x288 pixels and that
            is not its own size.
        threads: The number of CPU threads.

    Raises:
        BackboneError: It was not added, or its folder is damaged.
        SpecError: The number of threads is out of range.
    """

    def __init__(self, model: str, threads: int = 1) -> None:
        super().__init__(f"timm:{model}", threads)
        self.model = model


def fingerprint_of(manifest: Manifest, model: bytes) -> str:
    """Return a hash of everything that determines the features of an added backbone.

    The normalisation is inside the model, so it need not be hashed separately.
    """
    model_sha256 = hashlib.sha256(model).hexdigest()
    facts = f"added/1/{model_sha256}/{manifest.input_size}/{manifest.has_token}"
    if manifest.earlier_channels:  # without one, the fingerprint is that of older versions
        facts += f"/{manifest.earlier_channels}"
    return hashlib.sha256(facts.encode()).hexdigest()


def added_folder(name: str) -> Path:
    """Return the folder of an added backbone, whether it exists or not."""
    return backbones_folder() / "added" / _folder_name(name)


def _folder_name(name: str) -> str:
    """Quote a name, so that it is a valid folder name and cannot lead to another folder."""
    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if quoted.startswith(".") else quoted


def added_names() -> list[str]:
    """Return the names of all added backbones, sorted."""
    try:
        folders = sorted(os.listdir(backbones_folder() / "added"))
    except OSError:
        return []
    return [unquote(folder) for folder in folders if _folder_name(unquote(folder)) == folder]


def added_manifests() -> Iterator[tuple[str, Manifest | None]]:
    """Yield the name and the manifest of each added backbone; None for an unreadable manifest."""
    for name in added_names():
        try:
            yield name, read_manifest(added_folder(name))[0]
        except (OSError, ValueError):
            yield name, None


def is_int8(name: str) -> bool:
    """Return whether a backbone is the int8 twin of another one, by its name."""
    return name.endswith(INT8_SUFFIX)


def how_to_add(name: str) -> str:
    """Return what a user must do to have a backbone on this machine.

    Args:
        name: Its name, such as "timm:vit_tiny_patch16_224", "resnet50_288" or
            "efficientnet_lite0_int8".
    """
    if is_int8(name):
        return (
            f"run robocle backbones quantise {_original(name)} --calibrate FOLDER, with the "
            "pictures it was calibrated on before, or copy its folder from a machine that has it "
            f"to {added_folder(name)}"
        )
    network, size = split_size(name)
    sized = f"run robocle backbones add {network} --size {size}"
    if size and network in ARCHITECTURES:
        if size == ARCHITECTURES[network].input_size:
            return f"use {network}, which has this size (robocle backbones add {network})"
        return sized
    # Only timm knows whether a number is part of its own name for a network. 224 almost always is.
    if size not in (0, 224) and network.startswith("timm:"):
        return f"{sized}, or robocle backbones add {name} if timm has a network of that name"
    return f"run robocle backbones add {name}"


def _original(twin: str) -> str:
    """Return the spec of the backbone that an int8 twin was made from."""
    name = twin.removesuffix(INT8_SUFFIX)
    network, size = split_size(name)
    return f"{network}:size={size}" if size and network in PUBLISHED else name


def require_added(name: str) -> None:
    """Raise BackboneError if no backbone of this name was added."""
    if name not in added_names():
        raise BackboneError(f"the backbone {name} is not installed: {how_to_add(name)}")


def read_added(name: str) -> tuple[Manifest, bytes]:
    """Read the manifest and the model of an added backbone.

    Raises:
        BackboneError: It was not added, or its folder is damaged.
    """
    require_added(name)
    folder = added_folder(name)
    try:
        manifest, model = read_folder(folder)
        if (manifest.name, manifest.fingerprint) != (name, fingerprint_of(manifest, model)):
            raise ValueError("its manifest does not belong to its model")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BackboneError(
            f"the folder of {name}, {folder}, is damaged ({reason}): "
            "add it again with `robocle backbones add`"
        ) from error
    return manifest, model


def write_added(manifest: Manifest, model: bytes) -> Path:
    """Write an added backbone to its folder, replacing what is there.

    Args:
        manifest: The description of the backbone.
        model: The serialised ONNX model.

    Returns:
        The folder.

    Raises:
        BackboneError: The folder cannot be written.
    """
    folder = added_folder(manifest.name)
    try:
        write_folder(folder, manifest, model)
    except OSError as error:
        raise BackboneError(f"cannot write {folder}: {error.strerror or error}") from error
    return folder


def remove_added(name: str) -> None:
    """Delete an added backbone.

    Raises:
        BackboneError: It was not added, or cannot be deleted.
    """
    if name not in added_names():
        raise BackboneError(f"{name} was not added, so there is nothing to remove")
    folder = added_folder(name)
    try:
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    except OSError as error:
        raise BackboneError(f"cannot remove {folder}: {error.strerror or error}") from error


class GivenOnnx(OnnxBackbone):
    """The network of an ONNX file that was given on this machine before.

    Args:
        spec: The spec that it was given by, which becomes its name. Its file is not opened.
        wanted: Its fingerprint.
        threads: The number of CPU threads.

    Raises:
        BackboneError: No network with this fingerprint was given on this machine.
        SpecError: The number of threads is out of range.
    """

    def __init__(self, spec: str, wanted: str, threads: int = 1) -> None:
        self._spec = spec
        found = _kept(wanted) or _added(wanted)
        if found is None:
            raise BackboneError(
                f"the network {spec} (sha {wanted[:8]}) has not been given on this machine: "
                f"run robocle backbones add {spec} --name NAME"
            )
        manifest, self._model = found
        super().__init__(manifest, self._model, threads)

    @property
    def name(self) -> str:
        """The spec, as the state records it."""
        return self._spec

    def model_bytes(self) -> bytes:
        """Return the serialised ONNX model."""
        return self._model


def keep_given(manifest: Manifest, model: bytes) -> None:
    """Keep the standard model of a file that a user has given, unless it is kept already."""
    folder = _folder(manifest.fingerprint)
    if not folder.exists():
        otherwise = "states that are taught with it cannot be opened without it"
        keep_folder(folder, manifest, model, otherwise)


def _kept(wanted: str) -> tuple[Manifest, bytes] | None:
    # The fingerprint comes from a state, so it must not lead to another folder.
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        return None
    try:
        manifest, model = read_folder(_folder(wanted))
    except (OSError, ValueError):
        return None
    return (manifest, model) if fingerprint_of(manifest, model) == wanted else None


def _added(wanted: str) -> tuple[Manifest, bytes] | None:
    for name, manifest in added_manifests():
        if manifest is not None and manifest.fingerprint == wanted:
            return read_added(name)
    return None


def _folder(wanted: str) -> Path:
    return backbones_folder() / "given" / wanted
