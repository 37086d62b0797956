"""ONNX networks that a user of this machine has given, found again by their fingerprint.

A state records the file of its network, as in "onnx:/home/ada/net.onnx". A state may come from
anyone, so the file that it names is never opened: it could be a device, a pipe, or a private file.
Instead, the standard model of every ONNX file that a user names is kept in a model folder, and a
state is opened with the model that has the fingerprint it records.
"""

import logging
import re
from pathlib import Path

from robocle.backbones.added import added_manifests, expected_fingerprint, read_added
from robocle.backbones.model_folder import Manifest, backbones_folder, read_folder, write_folder
from robocle.backbones.onnx_backbone import OnnxBackbone
from robocle.errors import BackboneError

log = logging.getLogger("robocle")


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
            older = "" if "earlier=" in spec else " (with earlier=none for an older state)"
            raise BackboneError(
                f"the network {spec} (sha {wanted[:8]}) has not been given on this machine: "
                f"run robocle backbones add {spec} --name NAME{older}"
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
    if folder.exists():
        return
    try:
        write_folder(folder, manifest, model)
    except OSError as error:
        log.warning("cannot keep %s in %s (%s): states that are taught with it cannot be opened "
                    "without it", manifest.name, folder, error.strerror)  # fmt: skip


def _kept(wanted: str) -> tuple[Manifest, bytes] | None:
    # The fingerprint comes from a state, so it must not lead to another folder.
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        return None
    try:
        manifest, model = read_folder(_folder(wanted))
    except (OSError, ValueError):
        return None
    return (manifest, model) if expected_fingerprint(manifest, model) == wanted else None


def _added(wanted: str) -> tuple[Manifest, bytes] | None:
    for name, manifest in added_manifests():
        if manifest is not None and manifest.fingerprint == wanted:
            return read_added(name)
    return None


def _folder(wanted: str) -> Path:
    return backbones_folder() / "given" / wanted
