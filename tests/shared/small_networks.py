"""Small ONNX networks, built node by node."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[str | int | None]


def node(kind: str, *inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], **attributes)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Shape],
    outputs: Sequence[str],
    constants: dict[str, NDArray[Any]],
    kind: int = TensorProto.FLOAT,
    opset: int = 17,
    given: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """Return a model of these nodes, with outputs of undeclared shape."""
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, given, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def save(made: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(made.SerializeToString())
    return path


def small_network(path: Path, seed: int = 0) -> Path:
    """Write a network from pictures (n, 3, 64, 64) to a map (n, 6, 4, 4)."""
    kernel = np.random.default_rng(seed).normal(0, 0.1, (6, 3, 16, 16)).astype(np.float32)
    nodes = [node("Conv", "image", "kernel", output="map", strides=[16, 16])]
    return save(model(nodes, {"image": ["n", 3, 64, 64]}, ["map"], {"kernel": kernel}), path)
