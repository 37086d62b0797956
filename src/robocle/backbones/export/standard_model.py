"""Any network in ONNX, made into the one kind of model that robocle runs.

A standard model takes uint8 pixels (n, side, side, 3) and normalises them itself. It gives
`feature_map`, (n, channels, rows, columns) or (n, positions, channels), and `token` (n, channels)
where the network has a class token. What a network gives is found by running it, so that whatever
is wrong with it is said when it is added, and not at the first picture.
"""

from dataclasses import dataclass, field

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import compose

from robocle.backbones.added import fingerprint
from robocle.backbones.export.map_end import FeatureMap, end_at_map, is_map
from robocle.backbones.export.pixel_front import Normalisation, picture_input, put_pixels_in_front
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import one_line, open_session
from robocle.errors import BackboneError

OURS = ("pixels", "feature_map", "token")
OLDEST_OPSET = 11
POOLING_NODES = ("GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "AveragePool")
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Network:
    """A network, and what its graph does not say about it."""

    name: str
    model: onnx.ModelProto
    licence: str
    normalisation: Normalisation = field(default_factory=Normalisation)
    output: str = ""
    """The tensor that is the map; if left open, the first output that can be one."""
    size: int = 0
    """The side of the input, where the graph leaves it open."""
    prefix: int = 0
    """How many of a transformer's tokens stand before those of the positions."""
    has_token: bool = True
    """Whether the first of these is a class token."""
    source: str = ""
    """Where it is from, for its manifest."""


def standard_model(network: Network) -> tuple[Manifest, bytes]:
    """A network as a standard model; the network's own graph is used up."""
    model, name = network.model, network.name
    _require_opset(model, name)
    _free_our_names(model)
    taken = picture_input(model.graph, network.size, name)
    put_pixels_in_front(model.graph, taken, network.normalisation)
    maps = _chosen_map(model, network, taken.side)
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
    opset = max(
        (each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=0
    )
    if opset < OLDEST_OPSET:
        raise BackboneError(
            f"{name} is written in ONNX opset {opset}: export it with {OLDEST_OPSET} or newer"
        )


def _free_our_names(model: onnx.ModelProto) -> None:
    """Give all tensors of the graph other names if one of ours is among them."""
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.initializer]
    names = {value.name for value in values} | {o for node in graph.node for o in node.output}
    if not names.isdisjoint(OURS) or any(name.startswith("pixels_") for name in names):
        compose.add_prefix_graph(graph, "network/", inplace=True)


def _chosen_map(model: onnx.ModelProto, network: Network, side: int) -> FeatureMap:
    """The tensor that is asked for, or the first output that is a map."""
    graph, name = model.graph, network.name
    poolings = [node.input[0] for node in graph.node if node.op_type in POOLING_NODES]
    if network.output:
        _make_output(graph, network, poolings)
    del graph.value_info[:]  # may be for a batch of one
    for each in graph.output:
        if each.HasField("type") and each.type.HasField("tensor_type"):
            each.type.tensor_type.ClearField("shape")
    shapes = {}
    for found, (alone, together) in _outputs(model, name, side).items():
        shapes[found] = together.shape
        if is_map(together.shape[1:], network.prefix):
            _require_free_batch(f"{found} of {name}", alone, together)
            return FeatureMap(found, together.shape[1:], str(together.dtype))
    shown = "; ".join(f"{each}: {_shown(shape)}" for each, shape in shapes.items())
    raise BackboneError(f"{name} has no spatial map ({shown}): {_advice(shapes, poolings)}")


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


def _shown(shape: tuple[int, ...]) -> str:
    return " x ".join(["n", *map(str, shape[1:])])


def _advice(shapes: dict[str, tuple[int, ...]], poolings: list[str]) -> str:
    """What to do about a network without a map."""
    for shape in shapes.values():
        for prefix in range(1, 17):
            if len(shape) == 3 and is_map(shape[1:], prefix):
                return f"{prefix} of its tokens may be no positions: give prefix={prefix}"
    if poolings:
        return f"name the tensor before its pooling, perhaps output={poolings[-1]}"
    return "name the tensor before its pooling with output="


def _outputs(
    model: onnx.ModelProto, name: str, side: int
) -> dict[str, tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """What the graph gives for one picture alone, and for it together with another."""
    session = open_session(_serialised(model, name), name)
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    names = [each.name for each in model.graph.output]
    try:
        alone = session.run(names, {"pixels": pixels[:1]})
    except Exception as error:  # ONNX Runtime raises types of its own for each fault
        raise BackboneError(f"cannot run {name}: {one_line(error)}") from error
    try:
        together = session.run(names, {"pixels": pixels})
    except Exception as error:
        raise BackboneError(
            f"{name} takes one picture at a time: export it with a dynamic batch axis"
        ) from error
    return dict(zip(names, zip(alone, together, strict=True), strict=True))


def _require_free_batch(
    shown: str, alone: NDArray[np.floating], together: NDArray[np.floating]
) -> None:
    """A picture must give the same map in any company."""
    if not np.isfinite(together).all():
        raise BackboneError(f"{shown} has values that are not finite: check its weights")
    if together.shape != (2, *alone.shape[1:]) or difference(together[:1], alone) > TOLERANCE:
        raise BackboneError(
            f"{shown} mixes the pictures of a batch: export it with a dynamic batch axis"
        )


def difference(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """How far two maps are apart, relative to the largest value."""
    largest = float(np.abs(expected).max(initial=0))
    return float(np.abs(found - expected).max(initial=0)) / max(largest, 1e-12)


def _serialised(model: onnx.ModelProto, name: str) -> bytes:
    try:
        content: bytes = model.SerializeToString(deterministic=True)
    except ValueError as error:
        raise BackboneError(f"{name} is larger than 2 GB, which no ONNX file can hold") from error
    return content
