"""Export: a taught learner as one ONNX model, with backbone, pooling, classifier and labels.

The model takes uint8 RGB pixels (n, side, side, 3), each picture resized to the square input. It
needs ONNX Runtime and nothing else. Its outputs have the names and the meaning of the fields of
`robocle.Prediction`:

    label              (n)          text: the recognised label, or "unknown"
    confidence         (n)          float64: the probability that `nearest` is right
    scores             (n, labels)  float64
    nearest            (n)          text: the label with the best score, even if it is unknown
    known_probability  (n)          float64: the probability of a taught object
    is_unknown         (n)          bool: whether the object is unknown
    familiarity        (n)          float64: how much the picture looks like something taught
    sure               (n)          bool: whether the label can be relied on

With `numbers="float32"`, the pixels and all numbers are float32, and `label` and `nearest` are
int32, the position of the label in the metadata; `label` is -1 for an unknown object.

The metadata holds the labels, the parts of the learner, the rate, and the threshold of the
familiarity below which an object is unknown.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from robocle._internal.files import replace_file
from robocle.backbones import Backbone, earlier_channels
from robocle.backbones.onnx_backbone import model_of
from robocle.backbones.onnx_graph import GraphBuilder, remove_unused
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.labels import UNKNOWN
from robocle.classifiers.slda.answer import Familiarity
from robocle.errors import NothingTaughtError, StateAccessError
from robocle.export.embedding_nodes import add_mean, add_pooling, add_views
from robocle.images.views import Views
from robocle.poolings import Pooling
from robocle.recognition import require_rate
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import known_without_decision
from robocle.spec import require_choice
from robocle.types import SURE

PREFIX = "robocle"
Numbers = Literal["float64", "float32"]
NARROWED = {TensorProto.DOUBLE: TensorProto.FLOAT, TensorProto.UINT8: TensorProto.FLOAT}


@dataclass(frozen=True, eq=False)
class OnnxExport:
    """What of a learner goes into an ONNX model."""

    backbone: Backbone
    pooling: Pooling
    views: Views
    """The views of a picture to recognise."""
    classifier: StreamingClassifier
    decision: Decision | None
    parts: Mapping[str, str]
    """The specs of all parts, for the metadata."""
    numbers: Numbers = "float64"

    def write(self, path: Path, false_accept: float, replace: bool) -> None:
        """Write the model to a file, atomically; see `Learner.export_onnx`.

        Raises:
            StateAccessError: The file exists and is not to be replaced, or cannot be written.
        """
        if os.path.lexists(path) and not replace:
            reason = "it exists; pass replace=True, or choose another name"
            raise StateAccessError("write", path, reason)
        content = self.model(false_accept).SerializeToString(deterministic=True)
        try:
            replace_file(path, content)
        except OSError as error:
            raise StateAccessError.of("write", path, error) from error

    def model(self, false_accept: float) -> onnx.ModelProto:
        """Return the model.

        Raises:
            NothingTaughtError: There are no labels.
            BackboneError: The backbone does not provide its ONNX model.
            SpecError: The pooling or the views cannot be exported, or the rate is out of range.
            InexactError: The classifier has no linear scores.
        """
        require_rate(false_accept)
        require_choice("numbers", self.numbers, get_args(Numbers))
        if not self.classifier.labels:
            raise NothingTaughtError
        network, answer = self.backbone, self.classifier.answer()
        model = onnx.load_from_string(model_of(network))
        builder = GraphBuilder(model.graph, f"{PREFIX}_")
        views = add_views(builder, self.views, network.input_size)
        looks = add_pooling(builder, model, self.pooling, earlier_channels(network) > 0)
        embeddings = add_mean(builder, looks, views)
        del model.graph.output[:]
        scores = _add_scores(builder, embeddings, *self.classifier.linear())
        familiarity = answer.familiarity() if answer is not None else None
        familiar = _add_familiarity(builder, embeddings, scores, familiarity)
        settled = self.classifier.labels, self.decision, false_accept
        _RecognitionNodes(builder, *settled, self.numbers).add_outputs(scores, familiar)
        remove_unused(model.graph)
        if self.numbers == "float32":
            narrow(model)
        self._describe(model, false_accept)
        onnx.checker.check_model(model)
        return model

    def _describe(self, model: onnx.ModelProto, false_accept: float) -> None:
        labels = json.dumps(list(self.classifier.labels), ensure_ascii=False)
        metadata = {"labels": labels, "false_accept": repr(false_accept), **self.parts}
        if self.decision is not None:
            metadata["unknown_below"] = repr(self.decision.threshold(false_accept))
        for key, value in metadata.items():
            entry = model.metadata_props.add()
            entry.key, entry.value = f"{PREFIX}.{key}", value


def _add_scores(
    builder: GraphBuilder, embeddings: str, weights: NDArray[Any], bias: NDArray[Any]
) -> str:
    """Add the linear scores, in float64, as the learner computes them."""
    node, constant = builder.node, builder.constant
    wide = node("Cast", embeddings, to=TensorProto.DOUBLE)
    products = node("MatMul", wide, constant(np.ascontiguousarray(weights.T)))
    return node("Add", products, constant(bias), output="scores")


def _add_familiarity(
    builder: GraphBuilder, embeddings: str, scores: str, familiarity: Familiarity | None
) -> str:
    """Add what `Familiarity` computes per label, whose best is the familiarity; or the scores."""
    if familiarity is None:
        return scores
    node, constant = builder.node, builder.constant
    wide = node("Cast", embeddings, to=TensorProto.DOUBLE)
    along = node("MatMul", wide, constant(familiarity.direction[:, None]))
    sloped = node("Mul", along, constant(familiarity.slopes))
    gained = node("Mul", scores, constant(familiarity.gains))
    return node("Add", node("Add", sloped, gained), constant(familiarity.offsets))


@dataclass(frozen=True)
class _RecognitionNodes:
    """Adds the outputs that interpret scores: what `robocle.recognition.meaning` computes."""

    builder: GraphBuilder
    labels: tuple[str, ...]
    decision: Decision | None
    false_accept: float
    """The rate, as in `Learner.predict`."""
    numbers: Numbers

    def add_outputs(self, scores: str, familiar: str) -> None:
        """Add all outputs.

        Args:
            scores: The tensor with the scores, (n, labels), in float64.
            familiar: A tensor whose best entries are the familiarity, (n, labels), in float64.
        """
        node, decision = self.builder.node, self.decision
        familiarity = self._entries(familiar, self._best(familiar), output="familiarity")
        column = self._best(scores)
        threshold = self._number(decision.threshold(self.false_accept) if decision else -math.inf)
        unknown = node("Less", familiarity, threshold, output="is_unknown")
        self._add_labels(self._flat(column), unknown)
        known = self._known(familiarity)
        temperature = self._number(decision.temperature if decision else 1.0)
        shares = node("Softmax", node("Div", scores, temperature), axis=1)
        confidence = node("Mul", known, self._entries(shares, column), output="confidence")
        # Without a decision, nothing is sure.
        reliable = node("GreaterOrEqual", confidence, self._number(SURE if decision else math.inf))
        node("And", reliable, node("Not", unknown), output="sure")
        self._declare()

    def _declare(self) -> None:
        """Declare the outputs in the order of the fields of `Prediction`."""
        label = TensorProto.STRING if self.numbers == "float64" else TensorProto.INT32
        self.builder.add_output("label", label)
        self.builder.add_output("confidence", TensorProto.DOUBLE)
        self.builder.add_output("scores", TensorProto.DOUBLE, len(self.labels))
        self.builder.add_output("nearest", label)
        self.builder.add_output("known_probability", TensorProto.DOUBLE)
        self.builder.add_output("is_unknown", TensorProto.BOOL)
        self.builder.add_output("familiarity", TensorProto.DOUBLE)
        self.builder.add_output("sure", TensorProto.BOOL)

    def _add_labels(self, best: str, unknown: str) -> None:
        node = self.builder.node
        if self.numbers == "float32":
            nearest = node("Cast", best, output="nearest", to=TensorProto.INT32)
            none = self.builder.constant(np.array(-1, np.int32))
            node("Where", unknown, none, nearest, output="label")
            return
        texts = self.builder.constant(np.array([*self.labels, UNKNOWN], dtype=object))
        last = self.builder.constant(np.array(len(self.labels), np.int64))
        node("Gather", texts, best, output="nearest", axis=0)
        row = node("Where", unknown, last, best)
        node("Gather", texts, row, output="label", axis=0)

    def _known(self, familiarity: str) -> str:
        """Add the probability of a known object."""
        node = self.builder.node
        if self.decision is None:
            known = self._number(known_without_decision(len(self.labels)))
            return node("Expand", known, node("Shape", familiarity), output="known_probability")
        above = node("Sub", familiarity, self._number(self.decision.even))
        spreads = node("Div", above, self._number(self.decision.spread))
        return node("Sigmoid", spreads, output="known_probability")

    def _best(self, values: str) -> str:
        """Return the column of the largest entry of each row: (n, 1)."""
        return self.builder.node("ArgMax", values, axis=1, keepdims=1)

    def _entries(self, values: str, column: str, output: str = "") -> str:
        """Return one entry of each row of values (n, labels): (n)."""
        return self._flat(self.builder.node("GatherElements", values, column, axis=1), output)

    def _flat(self, column: str, output: str = "") -> str:
        shape = self.builder.constant(np.array([-1], np.int64))
        return self.builder.node("Reshape", column, shape, output=output)

    def _number(self, value: float) -> str:
        return self.builder.constant(np.array(value, np.float64))


def narrow(model: onnx.ModelProto) -> None:
    """Make a model compute in float32, with its input and outputs.

    TensorRT, LiteRT and others have no or only slow float64.

    Args:
        model: The model. It has no text, which they do not have either.
    """
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        found = value.type.tensor_type
        found.elem_type = NARROWED.get(found.elem_type, found.elem_type)
    for constant in graph.initializer:
        if constant.data_type == TensorProto.DOUBLE:
            numbers = numpy_helper.to_array(constant).astype(np.float32)
            constant.CopyFrom(numpy_helper.from_array(numbers, constant.name))
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to":
                attribute.i = NARROWED.get(attribute.i, attribute.i)
