"""From a PyTorch network to a standard model, checked against PyTorch.

Only `robocle backbones add` comes here. PyTorch's newer exporter is used. It knows that only the
batch varies, and computes all else beforehand: the older one writes Swin as 13,000 nodes instead of
1,300, and every program that uses the model waits seconds for them.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxscript  # noqa: F401  (PyTorch's exporter needs it, and would only say so halfway)
import torch

from robocle.backbones.export.pixel_front import Normalisation
from robocle.backbones.export.standard_model import TOLERANCE, Network, difference, standard_model
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, one_line
from robocle.errors import BackboneError

# What ONNX Runtime 1.18, the oldest supported, reads.
OPSET = 18
IR_VERSION = 10


@dataclass(frozen=True)
class TorchNetwork:
    """A PyTorch network and how to get its map."""

    name: str
    module: Any
    feature_map: Callable[[Any], Any]
    """From pictures (n, 3, side, side), normalised, to the map before pooling."""
    input_size: int
    normalisation: Normalisation
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
    forward = {"forward": lambda _, pictures: network.feature_map(pictures)}
    module = type("FeatureMap", (torch.nn.Module,), forward)()
    module.network = network.module
    pictures = torch.zeros(2, 3, network.input_size, network.input_size)
    with _quietly(), torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            (pictures,),
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=["pictures"],
            output_names=["map"],
            dynamic_shapes=({0: torch.export.Dim("n")},),
        )
    model: onnx.ModelProto = program.model_proto
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "robocle", ""
    _forget_where_it_was_made(model)
    return model


def _forget_where_it_was_made(model: onnx.ModelProto) -> None:
    """Drop notes on this machine's files, so that the same weights give the same bytes."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        noted.doc_string = ""
        del noted.metadata_props[:]


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what the exporter says to developers."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


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
