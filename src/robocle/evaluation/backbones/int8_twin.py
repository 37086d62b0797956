"""Making the int8 twin of a backbone and comparing it with the original."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocle.backbones import Backbone
from robocle.backbones.adding.int8 import quantised
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.errors import BackboneError
from robocle.evaluation.backbones.int8_comparison import Comparison, compared
from robocle.evaluation.backbones.int8_pictures import (
    calibration_pictures,
    check_pictures,
    pixel_batches,
)

Progress = Callable[[Iterable[Any], str], Iterable[Any]]


@dataclass(frozen=True)
class Int8Twin:
    """An int8 backbone that is not stored yet, and how it compares with the original."""

    manifest: Manifest
    model: bytes
    calibrated_on: int
    """The number of calibration pictures."""
    comparison: Comparison


def int8_twin(network: Backbone, folder: Path, progress: Progress) -> Int8Twin:
    """Quantise a backbone on the pictures of a folder and compare the two.

    Args:
        network: The original.
        folder: Pictures like those that the camera will take.
        progress: Wraps an iterable to show progress; its second argument says what is done.

    Raises:
        BackboneError: The backbone cannot be quantised.
        DataError: The folder has too few pictures.
    """
    if not isinstance(network, OnnxBackbone):
        raise BackboneError(f"cannot quantise {network.name}: it is not an ONNX model")
    if network.name.startswith("onnx:"):
        raise BackboneError(
            f"{network.name} needs a name: run robocle backbones add {network.name} --name NAME"
        )
    original = model_of(network)
    pictures = calibration_pictures(folder)
    batches = progress(pixel_batches(pictures, network.input_size), "calibrating")
    manifest, model = quantised(network.manifest, original, batches)
    twin = OnnxBackbone(manifest, model)
    sizes = (len(original), len(model))
    check = check_pictures(folder, pictures)
    return Int8Twin(manifest, model, len(pictures), compared(network, twin, sizes, check, progress))
