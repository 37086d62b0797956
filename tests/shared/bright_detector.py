"""A small detector as an ONNX model: it finds the box around everything that is bright."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 64
SCORE = 0.9

CORNERS = ["left", "top", "right", "bottom"]
OUTPUTS: dict[str, list[tuple[str, list[str], tuple[int, ...]]]] = {
    "paddle": [("rows", ["class", "score", *CORNERS], (1, 6))],
    "corners": [("rows", [*CORNERS, "score", "class"], (1, 1, 6))],
    "torchvision": [("boxes", CORNERS, (1, 4)), ("classes", ["whole_class"], (1,)),
                    ("scores", ["score"], (1,))],
}  # fmt: skip


def bright_detector(layout: str = "paddle", side: int | str = SIDE) -> bytes:
    """Return the model, with outputs in one of the layouts."""
    nodes = [
        helper.make_node("ReduceMax", ["image", "channels"], ["brightest"], keepdims=0),
        helper.make_node("Greater", ["brightest", "half"], ["is_bright"]),
        helper.make_node("Cast", ["is_bright"], ["bright"], to=TensorProto.FLOAT),
        *_ends("across", "left", "right"),
        *_ends("down", "top", "bottom"),
        helper.make_node("Cast", ["class"], ["whole_class"], to=TensorProto.INT64),
    ]
    outputs = []
    for name, parts, shape in OUTPUTS[layout]:
        nodes.append(helper.make_node("Concat", parts, [f"{name}_flat"], axis=0))
        constants[f"{name}_shape"] = np.array(shape, np.int64)
        nodes.append(helper.make_node("Reshape", [f"{name}_flat", f"{name}_shape"], [name]))
        kind = TensorProto.INT64 if name == "classes" else TensorProto.FLOAT
        outputs.append(helper.make_tensor_value_info(name, kind, shape))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, side, side))
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "bright", [image], outputs, tensors)
    return _model(graph)


constants: dict[str, np.ndarray] = {
    "channels": np.array([1], np.int64),
    "half": np.array(0.5, np.float32),
    "across": np.array([0, 1], np.int64),  # all axes but the columns
    "down": np.array([0, 2], np.int64),
    "numbers": np.arange(1, SIDE + 1, dtype=np.float32),
    "from_the_end": np.arange(SIDE, 0, -1, dtype=np.float32),
    "zeroth": np.array([0], np.int64),
    "side": np.array([SIDE], np.float32),
    "class": np.array([3], np.float32),
    "score": np.array([SCORE], np.float32),
}


def _ends(axis: str, low: str, high: str) -> list[onnx.NodeProto]:
    """Return nodes that compute where something bright starts and ends along an axis."""
    return [
        helper.make_node("ReduceMax", ["bright", axis], [f"{axis}_any"], keepdims=0),
        helper.make_node("Mul", [f"{axis}_any", "numbers"], [f"{axis}_numbered"]),
        helper.make_node("ReduceMax", [f"{axis}_numbered", "zeroth"], [high], keepdims=1),
        helper.make_node("Mul", [f"{axis}_any", "from_the_end"], [f"{axis}_reversed"]),
        helper.make_node("ReduceMax", [f"{axis}_reversed", "zeroth"], [f"{axis}_first"]),
        helper.make_node("Sub", ["side", f"{axis}_first"], [low]),
    ]


def constant_detector(outputs: Sequence[np.ndarray], image: Sequence[int | str]) -> bytes:
    """Return a model that returns the same outputs for every picture."""
    nodes, found = [], []
    for number, value in enumerate(outputs):
        name = f"output{number}"
        tensor = numpy_helper.from_array(value, f"{name}_value")
        nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        found.append(helper.make_tensor_value_info(name, kind, value.shape))
    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, image)
    return _model(helper.make_graph(nodes, "constant", [given], found))


def _model(graph: onnx.GraphProto) -> bytes:
    opset = helper.make_opsetid("", 18)
    model: bytes = helper.make_model(
        graph, opset_imports=[opset], ir_version=10
    ).SerializeToString()
    return model
