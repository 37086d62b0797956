"""From a PyTorch network to a standard model, checked against PyTorch.

Only `robocle backbones add` comes here. The tracing exporter is used, as it needs nothing besides
PyTorch; networks are only ever evaluated, so what the newer one adds is not missed.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch

from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, one_line
from robocle.backbones.pixel_front import Normalisation
from robocle.backbones.standard_model import TOLERANCE, Network, difference, standard_model
from robocle.errors import BackboneError

# What ONNX Runtime 1.18, the oldest supported, reads.
OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True)
class TorchNetwork:
    """A PyTorch network and how to get its map."""

    name: str
    module: Any
    feature_map: Callable[[Any], Any]
    """From pictures (n, 3, side, side), normalised, to the map before pooling."""
    input_size: int
    normalisation: Normalisation
    source: str
    licence: str
    prefix: int = 0
    """How many tokens stand before those of the positions."""
    has_token: bool = True


def export(network: TorchNetwork) -> tuple[Manifest, bytes]:
    """The network as a standard model that gives what PyTorch gives."""
    network.module.eval()
    try:
        traced = _traced(network)
    except Exception as error:  # a network that cannot be traced can fail in any way
        raise BackboneError(f"cannot export {network.name}: {one_line(error)}") from error
    manifest, model = standard_model(
        Network(
            name=network.name,
            model=traced,
            source=network.source,
            licence=network.licence,
            normalisation=network.normalisation,
            prefix=network.prefix,
            has_token=network.has_token,
        )
    )
    _require_agreement(network, manifest, model)
    return manifest, model


def reference(network: TorchNetwork, pixels: Any) -> Any:
    """What PyTorch gives for uint8 pixels (n, side, side, 3), in the network's own layout."""
    how = network.normalisation
    pictures = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(each).view(3, 1, 1) for each in (how.mean, how.std))
    with torch.inference_mode():
        return network.feature_map((pictures - mean) / std)


def _traced(network: TorchNetwork) -> onnx.ModelProto:
    module = torch.nn.Module()
    module.network = network.module
    module.forward = network.feature_map
    pictures = torch.zeros(2, 3, network.input_size, network.input_size)
    file = io.BytesIO()
    with _quietly(), torch.no_grad():
        torch.onnx.export(
            module.eval(),
            (pictures,),
            file,
            dynamo=False,
            opset_version=OPSET,
            input_names=["pictures"],
            output_names=["map"],
            dynamic_axes={"pictures": {0: "n"}, "map": {0: "n"}},
        )
    model = onnx.load_from_string(file.getvalue())
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "robocle", ""
    return model


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what the exporter says to developers, and with attention that it can trace."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        torch.backends.mha.set_fastpath_enabled(fast)


def _require_agreement(network: TorchNetwork, manifest: Manifest, model: bytes) -> None:
    """The model must give PyTorch's map: an export can go wrong without a word."""
    side = manifest.input_size
    pixels = np.random.default_rng(1).integers(0, 256, (1, side, side, 3), np.uint8)
    found = OnnxBackbone(manifest, model).features(pixels).grid[0]
    expected = as_positions(reference(network, pixels)[0].numpy(), network.prefix)
    apart = difference(found, expected)
    if not apart <= TOLERANCE:
        raise BackboneError(f"the export of {network.name} differs from PyTorch by {apart:.1e}")


def as_positions(maps: Any, prefix: int) -> Any:
    """One picture's map as (positions, channels)."""
    if maps.ndim == 2:
        return maps[prefix:]
    if maps.shape[1] == maps.shape[2]:
        return maps.reshape(len(maps), -1).T
    return maps.reshape(-1, maps.shape[-1])
