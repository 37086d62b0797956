"""A taught learner as one ONNX model: backbone, pooling, linear classifier and labels.

The model takes uint8 RGB pixels (n, side, side, 3), each picture resized to the square input. It
needs ONNX Runtime and nothing else. Its outputs have the names and the meaning of the fields of
`robocle.Prediction`:

    label       (n)          text: the recognised label, or "unknown"
    confidence  (n)          float64: the probability that `nearest` is right
    scores      (n, labels)  float64
    nearest     (n)          text: the label with the best score, even if the object is unknown
    known       (n)          float64: the probability of a taught object
    unknown     (n)          bool: whether the object is unknown
    familiarity (n)          float64: how much the picture looks like something taught
    sure        (n)          bool: whether the label can be relied on

The metadata holds the labels, the parts of the learner, the rate, and the threshold of the
familiarity below which an object is unknown.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from robocle._internal.files import replace_file
from robocle.backbones import earlier_channels
from robocle.backbones.onnx_backbone import model_of
from robocle.backbones.onnx_graph import GraphBuilder, remove_unused
from robocle.classifiers.slda.answer import Familiarity
from robocle.errors import NothingTaughtError, StateAccessError
from robocle.export.pooling_nodes import add_pooling
from robocle.export.recognition_nodes import RecognitionNodes
from robocle.export.view_nodes import add_mean, add_views
from robocle.learner import Learner
from robocle.recognition import DEFAULT_RATE, require_rate

PREFIX = "robocle"


def write_onnx(learner: Learner, path: Path, false_accept: float = DEFAULT_RATE) -> None:
    """Write a learner to a file as an ONNX model. An existing file is replaced atomically.

    Args:
        learner: A learner that was taught at least one label.
        path: The file to write.
        false_accept: The rate, as in `Learner.predict`.

    Raises:
        StateAccessError: The file cannot be written.
        NothingTaughtError, BackboneError, SpecError: As `onnx_model` does.
    """
    content = onnx_model(learner, false_accept).SerializeToString(deterministic=True)
    try:
        replace_file(path, content)
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error


def onnx_model(learner: Learner, false_accept: float = DEFAULT_RATE) -> onnx.ModelProto:
    """Return a learner as an ONNX model.

    Args:
        learner: A learner that was taught at least one label, with pooling avg, moments or focus
            and a linear classifier.
        false_accept: The rate, as in `Learner.predict`.

    Raises:
        NothingTaughtError: The learner has no labels.
        BackboneError: Its backbone does not provide its ONNX model.
        SpecError: Its pooling or classifier cannot be exported, or the rate is out of range.
    """
    require_rate(false_accept)
    if not learner.labels:
        raise NothingTaughtError
    network = learner.backbone
    model = onnx.load_from_string(model_of(network))
    builder = GraphBuilder(model.graph, f"{PREFIX}_")
    views = add_views(builder, learner.pipeline.prediction_views, network.input_size)
    looks = add_pooling(builder, model, learner.pooling, earlier_channels(network) > 0)
    embeddings = add_mean(builder, looks, views)
    del model.graph.output[:]
    scores = _add_scores(builder, embeddings, *learner.linear())
    decision = learner.decision()
    familiar = _add_familiarity(builder, embeddings, scores, learner.familiarity())
    nodes = RecognitionNodes(builder, learner.labels, decision, false_accept)
    nodes.add_outputs(scores, familiar)
    remove_unused(model.graph)
    _describe(model, learner, false_accept)
    onnx.checker.check_model(model)
    return model


def _describe(model: onnx.ModelProto, learner: Learner, false_accept: float) -> None:
    labels = json.dumps(list(learner.labels), ensure_ascii=False)
    metadata = {"labels": labels, "false_accept": repr(false_accept), **vars(learner.parts)}
    threshold = learner.unknown_below(false_accept)
    if threshold is not None:
        metadata["unknown_below"] = repr(threshold)
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
