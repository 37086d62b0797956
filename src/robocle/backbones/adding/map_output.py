"""The outputs of a model: its maps in the layouts that robocle reads, and nothing after them."""

import math
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder, remove_unused

THE_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class FeatureMap:
    """A tensor of a graph that is a feature map."""

    name: str
    shape: tuple[int, ...]
    """Shape for one picture: (channels, rows, columns), (rows, columns, channels) or
    (tokens, channels)."""
    dtype: str
    """Its numpy dtype: "float32", "float16", ..."""

    @property
    def channels_first(self) -> bool:
        """Whether the shape is (channels, rows, columns)."""
        return len(self.shape) == 3 and self.shape[1] == self.shape[2]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.shape[0] if self.channels_first else self.shape[-1]

    @property
    def positions(self) -> int:
        """The number of positions or, for a transformer, of all tokens."""
        return math.prod(self.shape) // self.channels

    def prefix(self, given: int) -> int:
        """Return how many of its positions are none: the given number, or 0 without tokens."""
        tokens = len(self.shape) == 2 and is_map(self.shape, given)
        return given if tokens else 0


def is_map(shape: tuple[int, ...], prefix: int) -> bool:
    """Return whether a tensor holds one feature vector per position of a square grid.

    Args:
        shape: The shape of the tensor for one picture, without the batch axis.
        prefix: How many tokens precede those of the positions.

    Example:
        >>> is_map((512, 7, 7), 0), is_map((7, 7, 768), 0), is_map((197, 768), 1)
        (True, True, True)
        >>> is_map((512, 1, 1), 0), is_map((1000,), 0), is_map((197, 768), 0)
        (False, False, False)
    """
    if len(shape) == 3 and not prefix:
        return shape[1] > 1 and shape[1] in (shape[0], shape[2])
    positions = shape[0] - prefix if len(shape) == 2 else 0
    return positions > 1 and math.isqrt(positions) ** 2 == positions


def end_at_maps(
    graph: onnx.GraphProto,
    last: FeatureMap,
    earlier: FeatureMap | None,
    prefix: int,
    has_token: bool,
) -> None:
    """Make a graph end at its maps: outputs `feature_map`, and `token` and `earlier_map` if any.

    Args:
        graph: The graph to change.
        last: Its last map.
        earlier: Its earlier map, if it has one.
        prefix: How many tokens precede those of the positions, in each map that consists of tokens.
        has_token: Whether the first of these is a class token.
    """
    del graph.output[:]
    builder = GraphBuilder(graph)
    value = _add_map(builder, "feature", last, prefix)
    if has_token:
        first = builder.constant(np.int64(0), "token_place")
        builder.node("Gather", value, first, output="token", axis=1)
        builder.add_output("token", TensorProto.FLOAT, last.channels)
    if earlier:
        _add_map(builder, "earlier", earlier, earlier.prefix(prefix))
    remove_unused(graph)


def _add_map(builder: GraphBuilder, stem: str, maps: FeatureMap, prefix: int) -> str:
    """Output a map, and return the name of its tensor as float32 in the network's own layout."""
    value = maps.name
    if maps.dtype != "float32":
        value = builder.node("Cast", value, output=f"{stem}_float", to=TensorProto.FLOAT)
    if len(maps.shape) == 3:
        _add_grid(builder, stem, value, maps)
    else:
        _add_tokens(builder, stem, value, maps, prefix)
    return value


def _add_grid(builder: GraphBuilder, stem: str, value: str, maps: FeatureMap) -> None:
    """Output a map with rows and columns, one position per row if the channels come last."""
    output = f"{stem}_map"
    if maps.channels_first:
        builder.node("Identity", value, output=output)
        builder.add_output(output, TensorProto.FLOAT, *maps.shape)
        return
    shape = np.array([0, maps.positions, maps.channels], np.int64)
    builder.node("Reshape", value, builder.constant(shape, f"{stem}_rows"), output=output)
    builder.add_output(output, TensorProto.FLOAT, maps.positions, maps.channels)


def _add_tokens(
    builder: GraphBuilder, stem: str, value: str, maps: FeatureMap, prefix: int
) -> None:
    """Output the tokens of the positions."""
    output = f"{stem}_map"
    bounds = {f"{stem}_start": prefix, f"{stem}_end": THE_END, f"{stem}_axis": 1}
    names = [builder.constant(np.array([bound], np.int64), name) for name, bound in bounds.items()]
    builder.node("Slice", value, *names, output=output)
    builder.add_output(output, TensorProto.FLOAT, maps.positions - prefix, maps.channels)
