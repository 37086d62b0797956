"""An ONNX network at another input size than the one that its graph declares.

A convolutional network computes the same at any size. Other graphs have constants that belong to
one size: the positions of a transformer, or the shape that a Reshape makes. Most of these cannot be
run at another size. Some can, and compute nonsense: a Reshape to (-1, 16, 5) turns one picture of
64 positions into four of 16. The network is therefore run at both sizes and compared. Its maps must
grow with the input, and each Reshape must split and join the same axes.
"""

import math
from dataclasses import replace
from itertools import accumulate
from operator import mul

import onnx

from robocle.backbones.adding.earlier_map import NONE
from robocle.backbones.adding.first_run import outputs_of
from robocle.backbones.adding.pixel_input import picture_input
from robocle.backbones.adding.standard_model import Network, standard_model
from robocle.backbones.model_folder import Manifest
from robocle.errors import BackboneError

BATCH = 2
"""How many pictures `outputs_of` runs together."""
Shape = tuple[int, ...]
Model = tuple[Manifest, bytes]


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
    sizes = original.input_size, sized.input_size
    _require_larger("map", original.positions, sized.positions, sizes)
    _require_larger("earlier map", original.earlier_positions, sized.earlier_positions, sizes)


def _require_larger(what: str, before: int, after: int, sizes: tuple[int, int]) -> None:
    """Raise unless the side of a map follows that of the input, up to padding and rounding."""
    growth = sizes[1] / sizes[0]
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
