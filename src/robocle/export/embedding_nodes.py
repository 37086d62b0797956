"""From pixels to embeddings in an ONNX graph: views, pooling, and the mean over the views."""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder, opset_version
from robocle.errors import SpecError
from robocle.images.views import Centre, Plain, Views
from robocle.poolings import Pooling
from robocle.poolings.focus import Focus, window_weights
from robocle.poolings.moments import CONSTANT, Form, Moments
from robocle.poolings.plain import Average

# Pillow rounds the weights of neighbouring pixels to this fraction.
WEIGHT_STEP = 2.0**-22
Neighbours = tuple[NDArray[np.int64], NDArray[np.float64]]
"""For each pixel of a row, one of the pixels that it is made of, and its weight."""


def add_views(builder: GraphBuilder, views: Views, side: int) -> int:
    """Make the graph of a backbone take all views of each picture, in one batch.

    Args:
        builder: Adds the nodes to the graph. Its input is `pixels`, (n, side, side, 3).
        views: The views.
        side: The side of a picture.

    Returns:
        The number of views. The batch has the first view of every picture, then the second.

    Raises:
        SpecError: The views cannot be exported.
    """
    if isinstance(views, Plain):
        return 1
    if not isinstance(views, Centre):
        raise SpecError(
            f"the views {type(views).__name__} cannot be exported: only plain and centre can"
        )
    pixels, looks = builder.graph.input[0].name, "robocle_views"
    for node in builder.graph.node:
        node.input[:] = [looks if name == pixels else name for name in node.input]
    with builder.at_the_start():
        each = [_look(builder, pixels, share, side) for share in views.looks]
        builder.node("Concat", *each, output=looks, axis=0)
    return len(each)


def add_mean(builder: GraphBuilder, embeddings: str, views: int) -> str:
    """Add the mean over the views of each picture.

    Args:
        builder: Adds the nodes.
        embeddings: The tensor with the embeddings of all views, (views * n, width).
        views: The number of views.

    Returns:
        The tensor with one embedding per picture.
    """
    if views == 1:
        return embeddings
    node, constant = builder.node, builder.constant
    parts = [f"{embeddings}_view_{number}" for number in range(views)]
    builder.graph.node.append(onnx.helper.make_node("Split", [embeddings], parts, axis=0))
    total = node("Sum", *parts)
    return node("Div", total, constant(np.array(views, np.float32)))


def _look(builder: GraphBuilder, pixels: str, share: float, side: int) -> str:
    """Add a look at the centre, as Pillow computes it: rows, then columns, rounded after each."""
    if share == 1:
        return pixels
    wide = builder.node("Cast", pixels, to=TensorProto.DOUBLE)
    for axis in (2, 1):
        wide = _resized(builder, wide, axis, _neighbours(share, side))
    return builder.node("Cast", wide, to=TensorProto.UINT8)


def _resized(builder: GraphBuilder, value: str, axis: int, neighbours: list[Neighbours]) -> str:
    node, constant = builder.node, builder.constant
    shape = [-1 if each == axis else 1 for each in range(4)]
    first, second = (node("Gather", value, constant(each), axis=axis) for each, _ in neighbours)
    weight, excess = neighbours[0][1], neighbours[0][1] + neighbours[1][1] - 1
    # Only the difference is weighed: many are rounded from close to a half, even in float32.
    change = node("Mul", node("Sub", first, second), constant(weight.reshape(shape)))
    if excess.any():
        change = node("Add", change, node("Mul", second, constant(excess.reshape(shape))))
    half = constant(np.array(0.5))
    return node("Add", second, node("Floor", node("Add", change, half)))


def _neighbours(share: float, side: int) -> list[Neighbours]:
    """Return the two pixels that each pixel of an enlarged row is made of, and their weights.

    Pillow puts the centre of pixel i at i + 1/2, and weighs by the distance from the point that is
    enlarged. It keeps the corners of the region in float32.
    """
    margin = side * (1 - share) / 2
    start, end = np.float32(margin), np.float32(side - margin)
    points = float(start) + (np.arange(side) + 0.5) * (float(end - start) / side)
    left = np.floor(points - 0.5)
    places = np.clip([left, left + 1], 0, side - 1)
    weights = np.maximum(1 - np.abs([left, left + 1] - points + 0.5), 0)
    rounded = np.floor(weights / WEIGHT_STEP + 0.5) * WEIGHT_STEP
    return list(zip(places.astype(np.int64), rounded, strict=True))


def add_pooling(
    builder: GraphBuilder, model: onnx.ModelProto, pooling: Pooling, has_earlier: bool
) -> str:
    """Add a pooling to the graph of a backbone.

    Args:
        builder: Adds the nodes to the graph of the model.
        model: The backbone. Its first output is the last map and, if it has one, its last output
            the earlier map.
        pooling: The pooling.
        has_earlier: Whether the backbone has an earlier map.

    Returns:
        The tensor with the embeddings, (n, width).

    Raises:
        SpecError: The pooling cannot be exported.
    """
    outputs = model.graph.output
    last = _Map(builder, model, outputs[0])
    if isinstance(pooling, Average):
        return last.mean(last.name)
    if isinstance(pooling, Moments):
        return builder.node("Concat", *last.moments(pooling.r, pooling.form), axis=1)
    if isinstance(pooling, Focus):
        blocks = last.focused(pooling.window).moments(pooling.r, "root")
        if has_earlier and pooling.earlier:
            earlier = _Map(builder, model, outputs[-1]).focused(pooling.window)
            blocks += earlier.moments(pooling.earlier, "root")
        return builder.node("Concat", *blocks, axis=1)
    raise SpecError(
        f"the pooling {type(pooling).__name__} cannot be exported: only avg, moments and focus can"
    )


class _Map:
    """Adds statistics over the positions of a map, in either of the two layouts."""

    def __init__(
        self, builder: GraphBuilder, model: onnx.ModelProto, output: onnx.ValueInfoProto
    ) -> None:
        self.name = output.name
        self._builder = builder
        # Since opset 18 the axes of ReduceMean are an input; before, they are an attribute.
        self._axes_are_inputs = opset_version(model) >= 18
        shape = [dimension.dim_value for dimension in output.type.tensor_type.shape.dim]
        self._axes = [1] if len(shape) == 3 else [2, 3]
        self._positions = int(np.prod([shape[axis] for axis in self._axes]))
        self._shape = [shape[axis] if axis in self._axes else 1 for axis in range(1, len(shape))]
        self._weights: NDArray[np.float64] | None = None

    def focused(self, window: float) -> "_Map":
        """Weigh the positions by a window."""
        self._weights = window_weights(self._positions, window)
        return self

    def moments(self, r: int, form: Form) -> list[str]:
        """Return the moments 1 to r."""
        mean = self.mean(self.name, keepdims=1)
        blocks = [self._builder.node("Flatten", mean, axis=1)]
        return blocks + (self._higher_moments(r, form, mean) if r > 1 else [])

    def mean(self, value: str, keepdims: int = 0) -> str:
        """Return the mean over the positions."""
        node, constant = self._builder.node, self._builder.constant
        if self._weights is not None:
            # The mean of p w_i x_i over p positions is the weighted mean of x.
            factors = (self._positions * self._weights).reshape(self._shape)
            value = node("Mul", value, constant(factors.astype(np.float32)))
        if self._axes_are_inputs:
            axes = constant(np.array(self._axes, np.int64))
            return node("ReduceMean", value, axes, keepdims=keepdims)
        return node("ReduceMean", value, axes=self._axes, keepdims=keepdims)

    def _higher_moments(self, r: int, form: Form, mean: str) -> list[str]:
        node = self._builder.node
        centred = node("Sub", self.name, mean)
        power = node("Mul", centred, centred)
        deviation = node("Sqrt", self.mean(power))
        absolute = node("Flatten", node("Abs", mean), axis=1)
        floor = node("Mul", absolute, self._number(CONSTANT))
        varies = node("Greater", deviation, floor)
        zero, one = self._number(0), self._number(1)
        blocks = [node("Where", varies, deviation, zero)]
        divisor = node("Where", varies, deviation, one)
        for order in range(3, r + 1):
            power = node("Mul", power, centred)
            moment = self.mean(power)
            if form == "root":
                scaled = self._signed_root(moment, order)
            else:
                scaled = node("Div", moment, node("Pow", divisor, self._number(order)))
            blocks.append(node("Where", varies, scaled, zero))
        return blocks

    def _signed_root(self, moment: str, order: int) -> str:
        # In float64: a cube root in float32 would differ from numpy's in the last digits.
        node = self._builder.node
        wide = node("Cast", moment, to=TensorProto.DOUBLE)
        size = node("Pow", node("Abs", wide), self._builder.constant(np.array(1 / order)))
        signed = node("Mul", size, node("Sign", wide))
        return node("Cast", signed, to=TensorProto.FLOAT)

    def _number(self, value: float) -> str:
        return self._builder.constant(np.array(value, np.float32))
