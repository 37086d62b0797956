"""Any ONNX network, converted to the one kind of model that robocle runs.

A standard model takes uint8 RGB pixels (n, side, side, 3) and normalises them itself. Its outputs
are `feature_map`, (n, channels, rows, columns) or (n, positions, channels); `token` (n, channels),
if the network has a class token; and `earlier_map`, in one of the layouts of the first, if it has
an earlier map. The shapes of the outputs are found by running the network, so a network that cannot
work is refused when it is added and not at the first picture.

A convolutional network computes the same at any size of the input. Other graphs have constants that
belong to one size: the positions of a transformer, or the shape that a Reshape makes. Most of these
cannot be run at another size. Some can, and compute nonsense: a Reshape to (-1, 16, 5) turns one
picture of 64 positions into four of 16. Such a network is therefore run at both sizes and compared.
Its maps must grow with the input, and each Reshape must split and join the same axes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import mul

import onnx
from onnx import compose

from robocle.backbones.added import fingerprint_of
from robocle.backbones.adding.graph_ends import (
    FeatureMap,
    Normalisation,
    end_at_maps,
    is_map,
    picture_input,
    take_pixels,
)
from robocle.backbones.adding.inspection import (
    NONE,
    Outputs,
    earlier_tensor,
    outputs_of,
    require_independent,
    serialised,
)
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_graph import opset_version
from robocle.errors import BackboneError

RESERVED_NAMES = (
    "pixels", "feature_map", "token", "earlier_map", "earlier_float", "earlier_rows",
    "earlier_start", "earlier_end", "earlier_axis",
)  # fmt: skip
FREED = "network/"
"""What the names of all tensors start with if one of them was a name that we use."""
OLDEST_OPSET = 11
POOLING_NODES = ("GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "AveragePool")
MAX_PREFIX = 16

BATCH = 2
"""How many pictures `outputs_of` runs together."""
Shape = tuple[int, ...]
Model = tuple[Manifest, bytes]


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
    """The side of the input, needed where the graph leaves it open. 0 is the declared one."""
    prefix: int = 0
    """How many tokens of a transformer precede those of the positions."""
    has_token: bool = True
    """Whether the first of these is a class token."""
    earlier: str = ""
    """The tensor that is the earlier map, or "none". If empty, one is looked for."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """The module of the network that computes a tensor, where the name of the tensor is not its
    own."""
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
    if opset_version(model) < OLDEST_OPSET:
        raise BackboneError(
            f"{name} uses ONNX opset {opset_version(model)}: export it with opset {OLDEST_OPSET} "
            "or newer"
        )
    _free_reserved_names(model)
    taken = picture_input(model.graph, network.size, name)
    take_pixels(model.graph, taken, network.normalisation)
    maps, earlier = _find_maps(model, network, taken.side)
    has_token = network.prefix > 0 and network.has_token
    end_at_maps(model.graph, maps, earlier, has_token)
    content = serialised(model, name)
    normalisation = network.normalisation
    manifest = Manifest(
        name=name,
        fingerprint="",
        input_size=taken.side,
        channels=maps.channels,
        positions=maps.positions,
        pixel_unit=normalisation.pixel_unit,
        has_token=has_token,
        source=network.source,
        licence=network.licence,
        mean=normalisation.unit_mean,
        std=normalisation.unit_std,
        earlier=_in_words(network, earlier) if earlier else "",
        earlier_channels=earlier.channels if earlier else 0,
        earlier_positions=earlier.positions if earlier else 0,
    )
    return replace(manifest, fingerprint=fingerprint_of(manifest, content)), content


def _free_reserved_names(model: onnx.ModelProto) -> None:
    """Rename all tensors of the graph if one of them has a name that we are going to use."""
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.initializer]
    names = {value.name for value in values} | {o for node in graph.node for o in node.output}
    if not names.isdisjoint(RESERVED_NAMES) or any(name.startswith("pixels_") for name in names):
        compose.add_prefix_graph(graph, FREED, inplace=True)


def _in_words(network: Network, found: FeatureMap) -> str:
    """Return which tensor a map is, as the network's user knows it."""
    name = found.name.removeprefix(FREED)
    return network.modules.get(name, name)


def _find_maps(
    model: onnx.ModelProto, network: Network, side: int
) -> tuple[FeatureMap, FeatureMap | None]:
    """Return the last map, which is the first output that is one, and the earlier map."""
    graph, name = model.graph, network.name
    poolings = [node.input[0] for node in graph.node if node.op_type in POOLING_NODES]
    if network.output:
        wanted = _tensor(graph, network, network.output, poolings)
        del graph.output[:]
        graph.output.append(onnx.ValueInfoProto(name=wanted))
    declared = [each.name for each in graph.output]
    earlier = _add_earlier_output(model, network, side, poolings)
    _forget_shapes(graph)
    outputs = outputs_of(model, name, side)
    for found in declared:
        alone, batch = outputs[found]
        if is_map(batch.shape[1:], network.prefix):
            require_independent(f"{found} of {name}", alone, batch)
            last = FeatureMap(found, batch.shape[1:], str(batch.dtype), network.prefix)
            return last, _checked_earlier(network, earlier, outputs)
    shapes = {found: outputs[found][1].shape for found in declared}
    shown = "; ".join(f"{each}: {_shown(shape)}" for each, shape in shapes.items())
    raise BackboneError(f"{name} has no spatial feature map ({shown}): {_advice(shapes, poolings)}")


def _add_earlier_output(
    model: onnx.ModelProto, network: Network, side: int, poolings: list[str]
) -> str:
    """Make the earlier map an output and return its name; "" if there is none."""
    if network.earlier == NONE:
        return ""
    if network.earlier:
        earlier = _tensor(model.graph, network, network.earlier, poolings)
    else:
        earlier = earlier_tensor(model, side, network.prefix)
    if earlier and earlier not in [each.name for each in model.graph.output]:
        model.graph.output.append(onnx.ValueInfoProto(name=earlier))
    return earlier


def _checked_earlier(network: Network, name: str, outputs: Outputs) -> FeatureMap | None:
    """Return the earlier map. One that was named must be usable, another is left out if not."""
    if not name:
        return None
    alone, batch = outputs[name]
    shape = batch.shape[1:]
    shown = f"{name.removeprefix(FREED)} of {network.name}"
    try:
        prefix = network.prefix if is_map(shape, network.prefix) else 0
        if not is_map(shape, prefix):
            raise BackboneError(
                f"{shown} is no map ({_shown(batch.shape)}): choose another tensor, or earlier=none"
            )
        require_independent(shown, alone, batch)
    except BackboneError:
        if network.earlier:
            raise
        return None
    return FeatureMap(name, shape, str(batch.dtype), prefix)


def _tensor(graph: onnx.GraphProto, network: Network, name: str, poolings: list[str]) -> str:
    """Return the name that a tensor of the network has now."""
    tensors = {output for node in graph.node for output in node.output}
    for wanted in (name, f"{FREED}{name}"):
        if wanted in tensors:
            return wanted
    known = dict.fromkeys([*(each.name for each in graph.output), *poolings[-2:]])
    raise BackboneError(f"{network.name} has no tensor {name!r}: it has {', '.join(known)}")


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


def model_of_size(network: Network) -> Model:
    """Convert a network to a standard model of the size that it names.

    Args:
        network: The network. Its ONNX model is changed in place and cannot be used afterwards.

    Returns:
        The manifest and the serialised model.

    Raises:
        BackboneError: The network cannot be a backbone, or takes only the size that it declares.
    """
    own = picture_input(network.model.graph, network.size, network.name).own_side
    if not network.size or own in (0, network.size):
        return standard_model(network)
    model = onnx.ModelProto()
    model.CopyFrom(network.model)
    original = standard_model(replace(network, model=model, size=0))
    try:
        sized = standard_model(replace(network, earlier=original[0].earlier or NONE))
        _require_larger_maps(original[0], sized[0])
        _require_same_axes(original, sized)
    except BackboneError as error:
        raise BackboneError(
            f"{network.name} takes only {own}x{own} pictures: leave out size={network.size} "
            f"({error})"
        ) from error
    return sized


def _require_larger_maps(original: Manifest, sized: Manifest) -> None:
    """Raise unless the side of each map follows that of the input, up to padding and rounding."""
    growth = sized.input_size / original.input_size
    for what, before, after in (
        ("map", original.positions, sized.positions),
        ("earlier map", original.earlier_positions, sized.earlier_positions),
    ):
        side, found = math.isqrt(before), math.isqrt(after)
        wanted = side * growth
        stays = found == side and side not in (math.floor(wanted), math.ceil(wanted))
        if stays or abs(found - wanted) > max(1, growth):
            raise BackboneError(f"its {what} is {found}x{found}, not {wanted:.0f}x{wanted:.0f}")


def _require_same_axes(original: Model, sized: Model) -> None:
    after = _reshapes(sized)
    for tensor, (given, made) in _reshapes(original).items():
        given_later, made_later = after[tensor]
        mixed = made[:1] == (BATCH,) != made_later[:1]
        if mixed or _cuts(given, made) != _cuts(given_later, made_later):
            raise BackboneError(f"its Reshape to {tensor} is made for that size")


def _reshapes(made: Model) -> dict[str, tuple[Shape, Shape]]:
    """Return the shapes before and after each Reshape, for a batch, by the name of its output."""
    manifest, content = made
    model = onnx.load_from_string(content)
    graph = model.graph
    computed = {output for node in graph.node for output in node.output}
    nodes = [n for n in graph.node if n.op_type == "Reshape" and n.input[0] in computed]
    listed = {each.name for each in graph.output}
    for tensor in {name for node in nodes for name in (node.input[0], node.output[0])} - listed:
        graph.output.append(onnx.ValueInfoProto(name=tensor))
    found = outputs_of(model, manifest.name, manifest.input_size)
    shapes = {tensor: batch.shape for tensor, (_, batch) in found.items()}
    return {node.output[0]: (shapes[node.input[0]], shapes[node.output[0]]) for node in nodes}


def _cuts(before: Shape, after: Shape) -> set[tuple[int, int]]:
    """Return after which axes two shapes can be cut into parts of equally many elements.

    Example:
        >>> sorted(_cuts((2, 16, 40), (2, 16, 8, 5)))  # the last axis is split
        [(0, 0), (1, 1), (2, 3)]
    """
    sizes = [list(accumulate(shape, mul)) for shape in (before, after)]
    return {
        (axis, other)
        for axis, size in enumerate(sizes[0])
        for other, same in enumerate(sizes[1])
        if size == same
    }
