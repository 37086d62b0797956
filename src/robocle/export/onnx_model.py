"""A learner as one ONNX model: backbone, pooling, W and b, and the labels.

It takes pixels (n, side, side, 3) in uint8, RGB, each picture resized to the square, and gives
`label` (n) in text and `scores` (n, labels). ONNX Runtime alone runs it. The metadata names the
labels, what they were learnt with, and under which best score a thing is unknown.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from robocle.errors import BackboneError, NothingTaughtError, SpecError, StateError
from robocle.learner import Learner
from robocle.pooling import Pooling
from robocle.pooling.average import Average
from robocle.pooling.moments import CONSTANT, Moments


def write_onnx(learner: Learner, path: Path) -> None:
    """Write a learner to a file as an ONNX model."""
    content = onnx_model(learner).SerializeToString(deterministic=True)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror or error}") from error


def onnx_model(learner: Learner) -> onnx.ModelProto:
    """A learner as an ONNX model."""
    if not learner.labels:
        raise NothingTaughtError
    model = _backbone_model(learner)
    graph = _Extension(model)
    vectors = graph.pooled(learner.pooling, model.graph.output[0].name)
    graph.classified(vectors, *learner.linear(), learner.labels)
    del model.graph.output[:]
    names = len(learner.labels)
    model.graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, ["n"]))
    scores = helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n", names])
    model.graph.output.append(scores)
    _describe(model, learner)
    onnx.checker.check_model(model)
    return model


def _backbone_model(learner: Learner) -> onnx.ModelProto:
    source = getattr(learner.backbone, "model_bytes", None)
    if source is None:
        raise BackboneError(
            f"{learner.backbone.name} does not give out its model: cannot export it"
        )
    return onnx.load_from_string(source())


def _describe(model: onnx.ModelProto, learner: Learner) -> None:
    labels = json.dumps(list(learner.labels), ensure_ascii=False)
    told = {"labels": labels, **vars(learner.parts)}
    lowest = learner.unknown_below()
    if lowest is not None:
        told["unknown_below"] = repr(lowest)
    for key, value in told.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = f"robocle.{key}", value


class _Extension:
    """Nodes that go on where a graph ends."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        # From 13 on the axes of sums, from 18 on also those of means, are inputs.
        opset = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
        self._axes_are_inputs = opset >= 18
        positions_first = len(self._graph.output[0].type.tensor_type.shape.dim) == 3
        self._places = [1] if positions_first else [2, 3]

    def pooled(self, pooling: Pooling, feature_map: str) -> str:
        """The vectors (n, width) of feature maps, in either of a model's two layouts."""
        if isinstance(pooling, Average):
            return self._mean(feature_map)
        if isinstance(pooling, Moments):
            return self._moments(pooling, feature_map)
        raise SpecError(
            f"the pooling {type(pooling).__name__} cannot be exported: only avg and moments can"
        )

    def classified(
        self, vectors: str, weights: NDArray[Any], bias: NDArray[Any], labels: tuple[str, ...]
    ) -> None:
        """Scores in float64, as here, and the label of the best."""
        wide = self._node("Cast", vectors, to=TensorProto.DOUBLE)
        products = self._node("MatMul", wide, self._constant(np.ascontiguousarray(weights.T)))
        self._node("Add", products, self._constant(bias), output="scores")
        best = self._node("ArgMax", "scores", axis=1, keepdims=0)
        names = self._constant(np.array(labels, dtype=object))
        self._node("Gather", names, best, output="label", axis=0)

    def _moments(self, pooling: Moments, feature_map: str) -> str:
        mean = self._mean(feature_map, keepdims=1)
        blocks = [self._flat(mean)]
        if pooling.r > 1:
            blocks += self._higher_moments(pooling, feature_map, mean)
        return self._node("Concat", *blocks, axis=1)

    def _higher_moments(self, pooling: Moments, feature_map: str, mean: str) -> list[str]:
        centred = self._node("Sub", feature_map, mean)
        power = self._node("Mul", centred, centred)
        deviation = self._node("Sqrt", self._mean(power))
        floor = self._node("Mul", self._flat(self._node("Abs", mean)), self._number(CONSTANT))
        varies = self._node("Greater", deviation, floor)
        zero, one = self._number(0), self._number(1)
        blocks = [self._node("Where", varies, deviation, zero)]
        divisor = self._node("Where", varies, deviation, one)
        for order in range(3, pooling.r + 1):
            power = self._node("Mul", power, centred)
            moment = self._mean(power)
            if pooling.form == "root":
                form = self._signed_root(moment, order)
            else:
                scale = self._node("Pow", divisor, self._number(order))
                form = self._node("Div", moment, scale)
            blocks.append(self._node("Where", varies, form, zero))
        return blocks

    def _signed_root(self, moment: str, order: int) -> str:
        # In float64: a cube root in float32 would differ from numpy's in the last digits.
        wide = self._node("Cast", moment, to=TensorProto.DOUBLE)
        size = self._node("Pow", self._node("Abs", wide), self._constant(np.array(1 / order)))
        signed = self._node("Mul", size, self._node("Sign", wide))
        return self._node("Cast", signed, to=TensorProto.FLOAT)

    def _mean(self, value: str, keepdims: int = 0) -> str:
        if self._axes_are_inputs:
            places = self._constant(np.array(self._places))
            return self._node("ReduceMean", value, places, keepdims=keepdims)
        return self._node("ReduceMean", value, axes=self._places, keepdims=keepdims)

    def _flat(self, value: str) -> str:
        return self._node("Flatten", value, axis=1)

    def _number(self, value: float) -> str:
        return self._constant(np.array(value, np.float32))

    def _constant(self, value: NDArray[Any]) -> str:
        name = f"robocle_constant_{len(self._graph.initializer)}"
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"robocle_{kind.lower()}_{len(self._graph.node)}"
        self._graph.node.append(helper.make_node(kind, inputs, [output], **attributes))
        return output
