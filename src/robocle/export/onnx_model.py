"""A taught learner as one ONNX model: backbone, pooling, linear classifier and labels.

The model takes uint8 RGB pixels (n, side, side, 3), each picture resized to the square input. It
needs ONNX Runtime and nothing else. Its outputs have the names and the meaning of the fields of
`robocle.Prediction`:

    label       (n)          text: the recognised label, or "unknown"
    confidence  (n)          float64: the probability that `nearest` is right
    scores      (n, labels)  float64
    nearest     (n)          text: the label with the best score, even if the object is unknown
    known       (n)          float64: the posterior probability of a taught object at even odds
    unknown     (n)          bool: whether the object is unknown

The metadata holds the labels, the parts of the learner, the false-rejection rate, and the threshold
on the best score below which an object is unknown.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from robocle.backbones.onnx_backbone import model_of
from robocle.backbones.onnx_graph import GraphBuilder, opset_version
from robocle.errors import NothingTaughtError, SpecError, StateAccessError
from robocle.export.recognition_nodes import RecognitionNodes
from robocle.files import replace_file
from robocle.learner import Learner
from robocle.pooling import Pooling
from robocle.pooling.average import Average
from robocle.pooling.moments import CONSTANT, Moments
from robocle.recognition.levels import DEFAULT_UNKNOWN, require_level

PREFIX = "robocle"


def write_onnx(learner: Learner, path: Path, unknown: float = DEFAULT_UNKNOWN) -> None:
    """Write a learner to a file as an ONNX model. An existing file is replaced atomically.

    Args:
        learner: A learner that was taught at least one label.
        path: The file to write.
        unknown: The false-rejection rate, as in `Learner.predict`.

    Raises:
        StateAccessError: The file cannot be written.
        NothingTaughtError, BackboneError, SpecError: As `onnx_model` does.
    """
    content = onnx_model(learner, unknown).SerializeToString(deterministic=True)
    try:
        replace_file(path, content)
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error


def onnx_model(learner: Learner, unknown: float = DEFAULT_UNKNOWN) -> onnx.ModelProto:
    """Return a learner as an ONNX model.

    Args:
        learner: A learner that was taught at least one label, with pooling avg or moments and a
            linear classifier.
        unknown: The false-rejection rate, as in `Learner.predict`.

    Raises:
        NothingTaughtError: The learner has no labels.
        BackboneError: Its backbone does not provide its ONNX model.
        SpecError: Its pooling or classifier cannot be exported, or the rate is out of range.
    """
    require_level(unknown)
    if not learner.labels:
        raise NothingTaughtError
    model = onnx.load_from_string(model_of(learner.backbone))
    head = _Head(model)
    embeddings = head.pooled(learner.pooling, model.graph.output[0].name)
    del model.graph.output[:]
    scores = head.scores(embeddings, *learner.linear())
    calibration = learner.calibration()
    RecognitionNodes(head.builder, learner.labels, calibration, unknown).add_outputs(scores)
    _describe(model, learner, unknown)
    onnx.checker.check_model(model)
    return model


def _describe(model: onnx.ModelProto, learner: Learner, unknown: float) -> None:
    labels = json.dumps(list(learner.labels), ensure_ascii=False)
    metadata = {"labels": labels, "unknown": repr(unknown), **vars(learner.parts)}
    threshold = learner.unknown_below(unknown)
    if threshold is not None:
        metadata["unknown_below"] = repr(threshold)
    for key, value in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = f"{PREFIX}.{key}", value


class _Head:
    """Adds pooling and classifier to the graph of a backbone."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.builder = GraphBuilder(model.graph, f"{PREFIX}_")
        # Since opset 18 the axes of ReduceMean are an input; before, they are an attribute.
        self._axes_are_inputs = opset_version(model) >= 18
        positions_first = len(model.graph.output[0].type.tensor_type.shape.dim) == 3
        self._axes = [1] if positions_first else [2, 3]

    def pooled(self, pooling: Pooling, feature_map: str) -> str:
        """Add a pooling, for a map in either of the two layouts."""
        if isinstance(pooling, Average):
            return self._mean(feature_map)
        if isinstance(pooling, Moments):
            return self._moments(pooling, feature_map)
        raise SpecError(
            f"the pooling {type(pooling).__name__} cannot be exported: only avg and moments can"
        )

    def scores(self, embeddings: str, weights: NDArray[Any], bias: NDArray[Any]) -> str:
        """Add the linear scores, in float64, as the learner computes them."""
        node, constant = self.builder.node, self.builder.constant
        wide = node("Cast", embeddings, to=TensorProto.DOUBLE)
        products = node("MatMul", wide, constant(np.ascontiguousarray(weights.T)))
        return node("Add", products, constant(bias), output="scores")

    def _moments(self, pooling: Moments, feature_map: str) -> str:
        mean = self._mean(feature_map, keepdims=1)
        blocks = [self._flat(mean)]
        if pooling.r > 1:
            blocks += self._higher_moments(pooling, feature_map, mean)
        return self.builder.node("Concat", *blocks, axis=1)

    def _higher_moments(self, pooling: Moments, feature_map: str, mean: str) -> list[str]:
        node = self.builder.node
        centred = node("Sub", feature_map, mean)
        power = node("Mul", centred, centred)
        deviation = node("Sqrt", self._mean(power))
        floor = node("Mul", self._flat(node("Abs", mean)), self._number(CONSTANT))
        varies = node("Greater", deviation, floor)
        zero, one = self._number(0), self._number(1)
        blocks = [node("Where", varies, deviation, zero)]
        divisor = node("Where", varies, deviation, one)
        for order in range(3, pooling.r + 1):
            power = node("Mul", power, centred)
            moment = self._mean(power)
            if pooling.form == "root":
                form = self._signed_root(moment, order)
            else:
                form = node("Div", moment, node("Pow", divisor, self._number(order)))
            blocks.append(node("Where", varies, form, zero))
        return blocks

    def _signed_root(self, moment: str, order: int) -> str:
        # In float64: a cube root in float32 would differ from numpy's in the last digits.
        node = self.builder.node
        wide = node("Cast", moment, to=TensorProto.DOUBLE)
        size = node("Pow", node("Abs", wide), self.builder.constant(np.array(1 / order)))
        signed = node("Mul", size, node("Sign", wide))
        return node("Cast", signed, to=TensorProto.FLOAT)

    def _mean(self, value: str, keepdims: int = 0) -> str:
        node = self.builder.node
        if self._axes_are_inputs:
            axes = self.builder.constant(np.array(self._axes, np.int64))
            return node("ReduceMean", value, axes, keepdims=keepdims)
        return node("ReduceMean", value, axes=self._axes, keepdims=keepdims)

    def _flat(self, value: str) -> str:
        return self.builder.node("Flatten", value, axis=1)

    def _number(self, value: float) -> str:
        return self.builder.constant(np.array(value, np.float32))
