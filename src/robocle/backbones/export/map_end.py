"""The end of a model: the feature map as robocle takes it, and nothing behind it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

THE_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class FeatureMap:
    """A tensor that is a map."""

    name: str
    shape: tuple[int, ...]
    """Of one picture: (channels, rows, columns), (rows, columns, channels) or (tokens, channels)"""
    kind: str
    """Of its numbers: float32, float16..."""

    @property
    def channels_first(self) -> bool:
        """Whether it is (channels, rows, columns)."""
        return len(self.shape) == 3 and self.shape[1] == self.shape[2]

    @property
    def channels(self) -> int:
        """The length of the vector at each place."""
        return self.shape[0] if self.channels_first else self.shape[-1]

    @property
    def positions(self) -> int:
        """The number of places, or of tokens."""
        return math.prod(self.shape) // self.channels


def is_map(shape: tuple[int, ...], prefix: int) -> bool:
    """Whether a tensor of one picture has a vector at each place of a square.

    >>> is_map((512, 7, 7), 0), is_map((7, 7, 768), 0), is_map((197, 768), 1)
    (True, True, True)
    >>> is_map((512, 1, 1), 0), is_map((1000,), 0), is_map((197, 768), 0)
    (False, False, False)
    """
    if len(shape) == 3 and not prefix:
        return shape[1] > 1 and shape[1] in (shape[0], shape[2])
    places = shape[0] - prefix if len(shape) == 2 else 0
    return places > 1 and math.isqrt(places) ** 2 == places


def end_at_map(graph: onnx.GraphProto, maps: FeatureMap, prefix: int, has_token: bool) -> None:
    """End the graph at the map: `feature_map`, and `token` if it has one."""
    del graph.output[:]
    value = maps.name
    if maps.kind != "float32":
        value = _append(graph, "Cast", [value], "feature_float", to=TensorProto.FLOAT)
    if maps.channels_first:
        _append(graph, "Identity", [value], "feature_map")
        _declare(graph, "feature_map", *maps.shape)
    elif len(maps.shape) == 3:
        rows = _constant(graph, "feature_rows", [0, maps.positions, maps.channels])
        _append(graph, "Reshape", [value, rows], "feature_map")
        _declare(graph, "feature_map", maps.positions, maps.channels)
    else:
        bounds = {"feature_start": [prefix], "feature_end": [THE_END], "feature_axis": [1]}
        names = [_constant(graph, name, bound) for name, bound in bounds.items()]
        _append(graph, "Slice", [value, *names], "feature_map")
        _declare(graph, "feature_map", maps.positions - prefix, maps.channels)
    if has_token:
        _append(graph, "Gather", [value, _constant(graph, "token_place", 0)], "token", axis=1)
        _declare(graph, "token", maps.channels)
    _prune(graph)


def _append(
    graph: onnx.GraphProto, kind: str, inputs: list[str], output: str, **attributes: Any
) -> str:
    graph.node.append(helper.make_node(kind, inputs, [output], **attributes))
    return output


def _constant(graph: onnx.GraphProto, name: str, value: list[int] | int) -> str:
    graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    return name


def _declare(graph: onnx.GraphProto, name: str, *shape: int) -> None:
    declared = helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *shape])
    graph.output.append(declared)


def _prune(graph: onnx.GraphProto) -> None:
    """Drop what no output needs: a classifier's weights, for one."""
    nodes = list(graph.node)
    if any(attribute.g.node or attribute.graphs for n in nodes for attribute in n.attribute):
        return  # a graph inside a node may use any tensor
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            needed.update(node.input)
            kept.append(node)
    weights = [weight for weight in graph.initializer if weight.name in needed]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(kept))
    graph.initializer.extend(weights)
