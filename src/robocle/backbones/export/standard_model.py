"""Any ONNX network, converted to the one kind of model that robocle runs.

A standard model takes uint8 RGB pixels (n, side, side, 3) and normalises them itself. Its outputs
are `feature_map`, (n, channels, rows, columns) or (n, positions, channels), and, if the network has
a class token, `token` (n, channels). The shapes of the outputs are found by running the network, so
a network that cannot work is rejected when it is added and not at the first picture.
"""

import threading
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import compose

from robocle.backbones.added import fingerprint
from robocle.backbones.export.map_output import FeatureMap, end_at_map, is_map
from robocle.backbones.export.pixel_input import Normalisation, picture_input, take_pixels
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import one_line, open_session
from robocle.backbones.onnx_graph import opset_version
from robocle.errors import BackboneError
from robocle.types import Pixels

RESERVED_NAMES = ("pixels", "feature_map", "token")
OLDEST_OPSET = 11
POOLING_NODES = ("GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "AveragePool")
TOLERANCE = 1e-3
MAX_PREFIX = 16
TIME_LIMIT = 120
"""Seconds that a network may take for one or two pictures when it is checked."""


@dataclass(frozen=True)
class Network:
    """A network as an ONNX model, and what the model itself does not say about it."""

    name: str
    model: onnx.ModelProto
    licence: str
    normalisation: Normalisation = field(default_factory=Normalisation)
    output: str = ""
    """The tensor that is the feature map. If empty, the first output that can be one."""
    size: int = 0
    """The side of the input, needed where the graph leaves it open; otherwise 0."""
    prefix: int = 0
    """How many tokens of a transformer precede those of the positions."""
    has_token: bool = True
    """Whether the first of these is a class token."""
    source: str = ""
    """Where the network is from, for the manifest."""


def standard_model(network: Network) -> tuple[Manifest, bytes]:
    """Convert a network to a standard model.

    Args:
        network: The network. Its ONNX model is changed in place and cannot be used afterwards.

    Returns:
        The manifest and the serialised model.

    Raises:
        BackboneError: The network does not take pictures, has no feature map, or cannot be run.
    """
    model, name = network.model, network.name
    _require_opset(model, name)
    _free_reserved_names(model)
    taken = picture_input(model.graph, network.size, name)
    take_pixels(model.graph, taken, network.normalisation)
    maps = _find_map(model, network, taken.side)
    has_token = network.prefix > 0 and network.has_token
    end_at_map(model.graph, maps, network.prefix, has_token)
    content = _serialised(model, name)
    normalisation = network.normalisation
    manifest = Manifest(
        name=name,
        fingerprint=fingerprint(content, taken.side, has_token),
        input_size=taken.side,
        channels=maps.channels,
        positions=maps.positions - network.prefix,
        pixel_unit=normalisation.pixel_unit,
        has_token=has_token,
        source=network.source,
        licence=network.licence,
        mean=normalisation.unit_mean,
        std=normalisation.unit_std,
    )
    return manifest, content


def _require_opset(model: onnx.ModelProto, name: str) -> None:
    opset = opset_version(model)
    if opset < OLDEST_OPSET:
        raise BackboneError(
            f"{name} uses ONNX opset {opset}: export it with opset {OLDEST_OPSET} or newer"
        )


def _free_reserved_names(model: onnx.ModelProto) -> None:
    """Rename all tensors of the graph if one of them has a name that we are going to use."""
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.initializer]
    names = {value.name for value in values} | {o for node in graph.node for o in node.output}
    if not names.isdisjoint(RESERVED_NAMES) or any(name.startswith("pixels_") for name in names):
        compose.add_prefix_graph(graph, "network/", inplace=True)


def _find_map(model: onnx.ModelProto, network: Network, side: int) -> FeatureMap:
    """Return the requested tensor, or the first output that is a feature map."""
    graph, name = model.graph, network.name
    poolings = [node.input[0] for node in graph.node if node.op_type in POOLING_NODES]
    if network.output:
        _make_output(graph, network, poolings)
    _forget_shapes(graph)
    shapes = {}
    for found, (alone, batch) in _outputs(model, name, side).items():
        shapes[found] = batch.shape
        if is_map(batch.shape[1:], network.prefix):
            _require_independent(f"{found} of {name}", alone, batch)
            return FeatureMap(found, batch.shape[1:], str(batch.dtype))
    shown = "; ".join(f"{each}: {_shown(shape)}" for each, shape in shapes.items())
    raise BackboneError(f"{name} has no spatial feature map ({shown}): {_advice(shapes, poolings)}")


def _make_output(graph: onnx.GraphProto, network: Network, poolings: list[str]) -> None:
    wanted = network.output
    tensors = {output for node in graph.node for output in node.output}
    if wanted not in tensors:
        wanted = f"network/{wanted}"
    if wanted not in tensors:
        known = ", ".join([*(each.name for each in graph.output), *dict.fromkeys(poolings[-2:])])
        raise BackboneError(f"{network.name} has no tensor {network.output!r}: it has {known}")
    del graph.output[:]
    graph.output.append(onnx.ValueInfoProto(name=wanted))


def _forget_shapes(graph: onnx.GraphProto) -> None:
    """Remove the declared shapes, which may be those of a batch of one."""
    del graph.value_info[:]
    for each in graph.output:
        if each.HasField("type") and each.type.HasField("tensor_type"):
            each.type.tensor_type.ClearField("shape")


def _shown(shape: tuple[int, ...]) -> str:
    return " x ".join(["n", *map(str, shape[1:])])


def _advice(shapes: dict[str, tuple[int, ...]], poolings: list[str]) -> str:
    """Return what to do about a network without a feature map."""
    for shape in shapes.values():
        for prefix in range(1, MAX_PREFIX + 1):
            if len(shape) == 3 and is_map(shape[1:], prefix):
                tokens = "its first token is" if prefix == 1 else f"its first {prefix} tokens are"
                return f"perhaps {tokens} not part of the grid: give prefix={prefix}"
    if poolings:
        return f"name the tensor before its pooling, perhaps output={poolings[-1]}"
    return "name the tensor before its pooling with output="


def _outputs(
    model: onnx.ModelProto, name: str, side: int
) -> dict[str, tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """Return each output for one picture alone, and for a batch of this and another picture."""
    session = open_session(_serialised(model, name), name)
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    names = [each.name for each in model.graph.output]
    try:
        alone = _run(session, name, names, pixels[:1])
    except BackboneError:
        raise
    except Exception as error:  # ONNX Runtime has an exception type of its own for each fault
        raise BackboneError(f"cannot run {name}: {one_line(error)}") from error
    try:
        batch = _run(session, name, names, pixels)
    except BackboneError:
        raise
    except Exception as error:
        raise BackboneError(
            f"{name} takes one picture at a time: export it with a dynamic batch axis"
        ) from error
    return dict(zip(names, zip(alone, batch, strict=True), strict=True))


def _run(
    session: onnxruntime.InferenceSession, name: str, outputs: list[str], pixels: Pixels
) -> list[NDArray[np.floating]]:
    """Run a network, and stop it after TIME_LIMIT: a loop in it may never end."""
    options = onnxruntime.RunOptions()
    stop = threading.Timer(TIME_LIMIT, lambda: setattr(options, "terminate", True))
    stop.start()
    try:
        found: list[NDArray[np.floating]] = session.run(outputs, {"pixels": pixels}, options)
    except Exception as error:
        if options.terminate:
            raise BackboneError(
                f"{name} was stopped after {TIME_LIMIT} s: it is too slow, or does not end"
            ) from error
        raise
    finally:
        stop.cancel()
    return found


def _require_independent(
    shown: str, alone: NDArray[np.floating], batch: NDArray[np.floating]
) -> None:
    """Raise if the map of a picture depends on the other pictures of its batch."""
    if not np.isfinite(batch).all():
        raise BackboneError(f"{shown} has values that are not finite: check its weights")
    if batch.shape != (2, *alone.shape[1:]) or difference(batch[:1], alone) > TOLERANCE:
        raise BackboneError(
            f"{shown} mixes the pictures of a batch: export it with a dynamic batch axis"
        )


def difference(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the largest difference between two maps, relative to the largest expected value.

    Example:
        >>> difference(np.array([1.0, 4.0]), np.array([1.0, 5.0]))
        0.2
    """
    largest = float(np.abs(expected).max(initial=0))
    return float(np.abs(found - expected).max(initial=0)) / max(largest, 1e-12)


def _serialised(model: onnx.ModelProto, name: str) -> bytes:
    try:
        content: bytes = model.SerializeToString(deterministic=True)
    except ValueError as error:
        raise BackboneError(
            f"{name} is larger than 2 GB, which is the limit of an ONNX file"
        ) from error
    return content
