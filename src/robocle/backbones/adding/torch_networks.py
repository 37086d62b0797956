"""Export of a PyTorch network to a standard model, and a comparison of the two.

Only `robocle backbones add` uses this module. It uses PyTorch's newer exporter (dynamo), which
treats only the batch size as variable and folds everything else into constants. The older exporter
writes Swin as 13,000 nodes instead of 1,300, which adds seconds to every start.

Weights may come from a checkpoint file. A checkpoint is a pickle, and a pickle can run code, so
PyTorch is restricted to loading tensors.
"""

import logging
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxscript  # noqa: F401  (PyTorch's exporter needs it, and would fail late without it)
import torch

from robocle.backbones.adding.graph_ends import Normalisation
from robocle.backbones.adding.inspection import NONE, TOLERANCE, difference
from robocle.backbones.adding.standard_model import Network, standard_model
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, one_line
from robocle.errors import BackboneError
from robocle.spec import suggestion

# The newest versions that ONNX Runtime 1.18, the oldest supported one, reads.
OPSET = 18
IR_VERSION = 10
# Where the exporter notes the modules around a node, and the module that we put around all of them.
SCOPES, OUR_MODULE = "pkg.torch.onnx.name_scopes", r"network\."

WRAPPERS = ("state_dict", "model", "model_state_dict", "state_dict_ema")
COUNTER = "num_batches_tracked"  # counts training steps and does not affect the features


@dataclass(frozen=True)
class TorchNetwork:
    """A PyTorch network and how to compute its feature map."""

    name: str
    module: Any
    feature_map: Callable[[Any], Any]
    """Computes the map before pooling from normalised pictures (n, 3, side, side)."""
    input_size: int
    normalisation: Normalisation
    licence: str
    prefix: int = 0
    """The number of prefix tokens, which precede the tokens of the positions."""
    has_token: bool = True
    """Whether the first prefix token is a class token."""


def export(network: TorchNetwork, earlier: str = "") -> tuple[Manifest, bytes]:
    """Export a network to a standard model that computes the same map as PyTorch.

    Args:
        network: The network.
        earlier: The module whose output is the earlier map, such as "layer3", or "none". If empty,
            one is looked for.

    Returns:
        The manifest and the serialised model.

    Raises:
        BackboneError: The network cannot be exported, or the export differs from PyTorch.
    """
    network.module.eval()
    try:
        traced = _traced(network)
    except Exception as error:  # a network that cannot be traced can fail in any way
        raise BackboneError(f"cannot export {network.name}: {one_line(error)}") from error
    modules = _modules(traced)
    remove_annotations(traced)
    manifest, model = standard_model(
        Network(
            name=network.name,
            model=traced,
            licence=network.licence,
            normalisation=network.normalisation,
            prefix=network.prefix,
            has_token=network.has_token,
            earlier=_last_tensor_of(earlier, modules, network.name),
            modules={tensor: scopes[-1] for tensor, scopes in modules.items()},
        )
    )
    _require_agreement(network, manifest, model)
    return manifest, model


def reference(network: TorchNetwork, pixels: Any) -> Any:
    """Compute the feature map with PyTorch, in the network's own layout.

    Args:
        network: The network.
        pixels: uint8 RGB pixels (n, side, side, 3).
    """
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
    with quietly(), torch.no_grad():
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
    return model


def _modules(model: onnx.ModelProto) -> dict[str, list[str]]:
    """Return the modules, from the outermost to the innermost, that compute each tensor."""
    found: dict[str, list[str]] = {}
    for node in model.graph.node:
        notes = {each.key: each.value for each in node.metadata_props}
        scopes = re.findall(rf"'{OUR_MODULE}([^']+)'", notes.get(SCOPES, ""))
        if scopes:
            found |= dict.fromkeys(node.output, scopes)
    return found


def _last_tensor_of(module: str, modules: dict[str, list[str]], name: str) -> str:
    """Return the last tensor that a module computes; "" and "none" stand for themselves."""
    if module in ("", NONE):
        return module
    tensors = [tensor for tensor, scopes in modules.items() if module in scopes]
    if not tensors:
        known = {scope for scopes in modules.values() for scope in scopes}
        raise BackboneError(
            f"{name} has no module {module!r} before its last map: {suggestion(module, known)}"
        )
    return tensors[-1]


def remove_annotations(model: onnx.ModelProto) -> None:
    """Remove paths of source files, so that the same weights result in the same bytes."""
    graph = model.graph
    for each in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        each.doc_string = ""
        del each.metadata_props[:]


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress messages of PyTorch and timm that are meant for their developers."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _require_agreement(network: TorchNetwork, manifest: Manifest, model: bytes) -> None:
    """Raise if the model does not compute PyTorch's map: an export can go wrong silently."""
    side = manifest.input_size
    pixels = np.random.default_rng(1).integers(0, 256, (1, side, side, 3), np.uint8)
    found = OnnxBackbone(manifest, model).features(pixels).grid[0]
    expected = as_positions(reference(network, pixels)[0].numpy(), network.prefix)
    apart = difference(found, expected)
    if not apart <= TOLERANCE:
        raise BackboneError(f"the export of {network.name} differs from PyTorch by {apart:.1e}")


def as_positions(maps: Any, prefix: int) -> Any:
    """Convert the map of one picture to (positions, channels).

    Args:
        maps: (channels, rows, columns), (rows, columns, channels) or (tokens, channels).
        prefix: The number of prefix tokens.
    """
    if maps.ndim == 2:
        return maps[prefix:]
    if maps.shape[1] == maps.shape[2]:
        return maps.reshape(len(maps), -1).T
    return maps.reshape(-1, maps.shape[-1])


def read_weights(path: Path) -> dict[str, Any]:
    """Read a checkpoint or safetensors file.

    Returns:
        The tensors by name.

    Raises:
        BackboneError: The file cannot be read, or contains anything but tensors.
    """
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            tree: Any = load_file(path)
        else:
            tree = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise BackboneError(f"cannot read {path}: {error.strerror or error}") from error
    except pickle.UnpicklingError as error:
        raise BackboneError(
            f"{path} contains something other than tensors, so loading it could run code: "
            "save the network's state_dict() instead"
        ) from error
    except Exception as error:  # a damaged file can fail in any way
        raise BackboneError(f"{path} is not a PyTorch checkpoint ({one_line(error)})") from error
    return _tensors(tree, path)


def _tensors(tree: Any, path: Path) -> dict[str, Any]:
    """Return the tensors without what training programs wrap around them."""
    for wrapper in WRAPPERS:
        if isinstance(tree, Mapping) and isinstance(tree.get(wrapper), Mapping):
            tree = tree[wrapper]
    if not isinstance(tree, Mapping) or not all(torch.is_tensor(t) for t in tree.values()):
        raise BackboneError(f"{path} is not a state_dict: it must contain tensors by name")
    if not tree:
        raise BackboneError(f"{path} contains no weights")
    return {str(name).removeprefix("module."): tensor for name, tensor in tree.items()}


def load_weights(
    network: Any, tensors: Mapping[str, Any], heads: str | tuple[str, ...], file: str, name: str
) -> None:
    """Load weights into a network. All must fit, except those of the classifier.

    Args:
        network: The PyTorch network.
        tensors: The weights by name.
        heads: The prefixes of the names of the classifier's weights, which are ignored.
        file: The file that the weights are from, for error messages.
        name: The name of the network, for error messages.

    Raises:
        BackboneError: A weight is missing, unexpected or of a different shape.
    """
    wanted = {n: t for n, t in network.state_dict().items() if not n.startswith(heads)}
    given = {n: t for n, t in tensors.items() if not n.startswith(heads)}
    misfits = _misfits(wanted, given)
    if misfits:
        more = f" (and {len(misfits) - 1} more)" if len(misfits) > 1 else ""
        raise BackboneError(
            f"{file} does not fit {name}: {misfits[0]}{more}: give weights of {name}"
        )
    network.load_state_dict(given, strict=False)


def _misfits(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    return [
        *(f"{n} is missing" for n in wanted if n not in given and not n.endswith(COUNTER)),
        *(f"{n} is unexpected" for n in given if n not in wanted),
        *(
            f"{n} is {_shape(given[n])}, not {_shape(wanted[n])}"
            for n in wanted
            if n in given and given[n].shape != wanted[n].shape
        ),
    ]


def _shape(tensor: Any) -> str:
    return " x ".join(map(str, tensor.shape)) or "one number"
