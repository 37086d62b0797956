"""Detectors of torchvision: exported once by `robocle finders add`, then used without PyTorch.

Each is one ONNX file in a folder of the cache, and its name has the hash of its content. To give
several robots the same detector, copy that file.
"""

import hashlib
from importlib import import_module
from pathlib import Path

from robocle._internal.files import replace_file
from robocle.backbones.model_folder import cache_folder
from robocle.errors import FinderError, MissingExtraError, SpecError
from robocle.finders.detector import Detector
from robocle.spec import parse_spec

DIGITS = 16
"""Digits of the hash in the name of a file."""
DEFAULT_WEIGHTS = "COCO_V1"


class TorchvisionDetector(Detector):
    """A detector of torchvision, after `robocle finders add`.

    Args:
        model: Its name in torchvision, such as "ssdlite320_mobilenet_v3_large".
        threshold: The lowest score of a box.
        threads: The number of CPU threads.

    Raises:
        SpecError: An option has an invalid value.
        FinderError: It was not added, or its file is damaged.
    """

    def __init__(self, model: str, threshold: float = 0.1, threads: int = 1) -> None:
        self.model = model
        file = added_finders().get(model)
        if file is None:
            raise FinderError(
                f"the detector {model!r} is not installed: run robocle finders add "
                f"torchvision:{model}"
            )
        super().__init__(str(file), "torchvision", "unit", threshold, threads=threads)
        if not file.stem.endswith(self.fingerprint[:DIGITS]):
            raise FinderError(
                f"{file} is damaged: run robocle finders add torchvision:{model} --replace"
            )


def added_finders() -> dict[str, Path]:
    """Return the files of all detectors that were added, by their names in torchvision."""
    files = sorted(_folder().glob("*.onnx"))
    return {file.stem[: -DIGITS - 1]: file for file in files if len(file.stem) > DIGITS + 1}


def add_finder(spec: str, weights: str = "", replaces: bool = False) -> Path:
    """Export a detector of torchvision and keep it on this machine.

    Args:
        spec: The detector, such as "torchvision:ssdlite320_mobilenet_v3_large".
        weights: The name of published weights, which are downloaded, or a checkpoint file. The
            default is "COCO_V1".
        replaces: Whether to replace the detector if it was added before.

    Returns:
        Its ONNX file.

    Raises:
        SpecError: The spec is not that of a detector of torchvision.
        FinderError: It was added before, cannot be exported, or its file cannot be written.
        BackboneError: The weights cannot be found, downloaded or read, or do not fit.
        MissingExtraError: PyTorch is needed and not installed.
    """
    parsed = parse_spec(spec)
    if parsed.name != "torchvision" or not parsed.first or parsed.options:
        raise SpecError(
            f"{spec!r} cannot be added: give torchvision:MODEL; an exported detector is used "
            "as onnx:FILE"
        )
    before = added_finders().get(parsed.first)
    if before and not replaces:
        raise FinderError(f"{spec} was added already, as {before}: replace it with --replace")
    try:
        detectors = import_module("robocle.finders.torchvision_detectors")
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError("export", f"adding {spec} needs PyTorch ({error})") from error
    return _kept(parsed.first, detectors.exported(parsed.first, weights or DEFAULT_WEIGHTS), before)


def _kept(name: str, model: bytes, before: Path | None) -> Path:
    file = _folder() / f"{name}-{hashlib.sha256(model).hexdigest()[:DIGITS]}.onnx"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, model)
        if before and before != file:
            before.unlink(missing_ok=True)
    except OSError as error:
        raise FinderError(f"cannot write {file}: {error.strerror}") from error
    return file


def _folder() -> Path:
    return cache_folder() / "finders"
