"""The pooling of a learner in an ONNX graph."""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder, opset_version
from robocle.errors import SpecError
from robocle.poolings import Pooling
from robocle.poolings.focus import Focus, window_weights
from robocle.poolings.moments import CONSTANT, Form, Moments
from robocle.poolings.plain import Average


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
