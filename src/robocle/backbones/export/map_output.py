"""The output of a model: the feature map in the layout that robocle reads, and nothing after it."""

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


def end_at_map(graph: onnx.GraphProto, maps: FeatureMap, prefix: int, has_token: bool) -> None:
    """Make a graph end at its map, with outputs `feature_map` and, if it has one, `token`.

    Args:
        graph: The graph to change.
        maps: Its feature map.
        prefix: How many tokens precede those of the positions.
        has_token: Whether the first of these is a class token.
    """
    del graph.output[:]
    builder = GraphBuilder(graph)
    value = maps.name
    if maps.dtype != "float32":
        value = builder.node("Cast", value, output="feature_float", to=TensorProto.FLOAT)
    if len(maps.shape) == 3:
        _end_at_grid(builder, value, maps)
    else:
        _end_at_tokens(builder, value, maps, prefix)
    if has_token:
        first = builder.constant(np.int64(0), "token_place")
        builder.node("Gather", value, first, output="token", axis=1)
        builder.add_output("token", TensorProto.FLOAT, maps.channels)
    remove_unused(graph)


def _end_at_grid(builder: GraphBuilder, value: str, maps: FeatureMap) -> None:
    """Output a map with rows and columns, one position per row if the channels come last."""
    if maps.channels_first:
        builder.node("Identity", value, output="feature_map")
        builder.add_output("feature_map", TensorProto.FLOAT, *maps.shape)
        return
    shape = np.array([0, maps.positions, maps.channels], np.int64)
    builder.node("Reshape", value, builder.constant(shape, "feature_rows"), output="feature_map")
    builder.add_output("feature_map", TensorProto.FLOAT, maps.positions, maps.channels)


def _end_at_tokens(builder: GraphBuilder, value: str, maps: FeatureMap, prefix: int) -> None:
    """Output the tokens of the positions."""
    bounds = {"feature_start": prefix, "feature_end": THE_END, "feature_axis": 1}
    names = [builder.constant(np.array([bound], np.int64), name) for name, bound in bounds.items()]
    builder.node("Slice", value, *names, output="feature_map")
    positions = maps.positions - prefix
    builder.add_output("feature_map", TensorProto.FLOAT, positions, maps.channels)
