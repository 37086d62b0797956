"""Inspecting a network before it becomes a backbone: its outputs for noise, its earlier map.

Most networks halve their grid stage by stage, down to a thirty-second of the input's side. Their
earlier map is the one at a sixteenth that is halved last: what goes into the operator that halves
it, and the widest if several do. The grid of a plain transformer never shrinks. Its earlier map is
the tokens after about two thirds of its blocks.

Shapes are inferred without the weights, which takes little time and memory. Where they cannot be
inferred, the network has no earlier map, unless one is named.
"""

import math
import threading
from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, shape_inference

from robocle.backbones.adding.graph_ends import is_map
from robocle.backbones.onnx_backbone import one_line, open_session
from robocle.errors import BackboneError
from robocle.types import Pixels

TOLERANCE = 1e-3
TIME_LIMIT = 120
"""Seconds that a network may take for one or two pictures when it is checked."""

Outputs = dict[str, tuple[NDArray[np.floating], NDArray[np.floating]]]
"""Each output for one picture alone, and for a batch of two."""

NONE = "none"
"""The name that stands for no earlier map."""
SHARE = 16
FEWEST_SUMS = 3  # of a transformer: fewer have no two thirds
LARGEST_CONSTANT = 1024  # larger ones are weights, which determine no shape
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
Shapes = dict[str, tuple[int, ...]]
"""The shape for one picture of each tensor, without the batch axis."""


def outputs_of(model: onnx.ModelProto, name: str, side: int) -> Outputs:
    """Return each output for one picture alone, and for a batch of this and another picture.

    Args:
        model: A network that takes pixels.
        name: Its name, for error messages.
        side: The side of its input.

    Raises:
        BackboneError: It cannot be run, is too slow, or takes one picture at a time.
    """
    session = open_session(serialised(model, name), name)
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    names = [each.name for each in model.graph.output]
    alone = _run(session, name, names, pixels[:1], f"cannot run {name}")
    single = f"{name} takes one picture at a time: export it with a dynamic batch axis"
    batch = _run(session, name, names, pixels, single)
    return dict(zip(names, zip(alone, batch, strict=True), strict=True))


def _run(
    session: onnxruntime.InferenceSession, name: str, outputs: list[str], pixels: Pixels, fault: str
) -> list[NDArray[np.floating]]:
    """Run a network, and stop it after TIME_LIMIT: a loop in it may never end."""
    options = onnxruntime.RunOptions()
    stop = threading.Timer(TIME_LIMIT, lambda: setattr(options, "terminate", True))
    stop.start()
    try:
        found: list[NDArray[np.floating]] = session.run(outputs, {"pixels": pixels}, options)
    except Exception as error:  # ONNX Runtime has an exception type of its own for each fault
        if options.terminate:
            fault = f"{name} was stopped after {TIME_LIMIT} s: it is too slow, or does not end"
        else:
            fault += f" ({one_line(error)})"
        raise BackboneError(fault) from error
    finally:
        stop.cancel()
    return found


def require_independent(
    shown: str, alone: NDArray[np.floating], batch: NDArray[np.floating]
) -> None:
    """Raise if the map of a picture depends on the other pictures of its batch."""
    if not np.isfinite(batch).all():
        raise BackboneError(f"{shown} has values that are not finite: check its weights")
    if batch.shape != (2, *alone.shape[1:]) or difference(batch[:1], alone) > TOLERANCE:
        raise BackboneError(
            f"{shown} mixes the pictures of a batch: export it with a dynamic batch axis"
        )


def difference(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the largest difference between two maps, relative to the largest expected value.

    Example:
        >>> difference(np.array([1.0, 4.0]), np.array([1.0, 5.0]))
        0.2
    """
    largest = float(np.abs(expected).max(initial=0))
    return float(np.abs(found - expected).max(initial=0)) / max(largest, 1e-12)


def serialised(model: onnx.ModelProto, name: str) -> bytes:
    """Return the bytes of a model; the same model always has the same."""
    try:
        content: bytes = model.SerializeToString(deterministic=True)
    except ValueError as error:
        raise BackboneError(
            f"{name} is larger than 2 GB, which is the limit of an ONNX file"
        ) from error
    return content


def earlier_tensor(model: onnx.ModelProto, side: int, prefix: int) -> str:
    """Return the name of the tensor that is the earlier map; "" if there is none.

    Args:
        model: A network from pixels to outputs, the first possible one of which is the last map.
        side: The side of its input.
        prefix: How many tokens precede those of the positions.
    """
    graph = model.graph
    shapes = _inferred_shapes(model)
    outputs = [each.name for each in graph.output if is_map(shapes.get(each.name, ()), prefix)]
    if not outputs:
        return ""
    last = outputs[0]
    nodes = _leading_to(graph, last)
    sides = _rounded(side / SHARE)
    found = ""
    if _side(shapes[last], prefix) < min(sides):
        found = _halved_last(nodes, shapes, sides) or _last_at(nodes, shapes, sides)
    return found or _tokens_before(nodes, shapes, shapes[last], _constants(graph))


def _halved_last(nodes: Sequence[onnx.NodeProto], shapes: Shapes, sides: set[int]) -> str:
    """Return the widest map of these sides that an operator halves; of equally wide ones the last.

    A bottleneck narrows the map before it halves it, beside a shortcut from the whole map.
    """
    halved = [
        name
        for node in nodes
        for name in node.input
        if _side(shapes.get(name, ())) in sides
        and any(_is_halved(shapes[name], shapes.get(output, ())) for output in node.output)
    ]
    return max(reversed(halved), key=lambda name: math.prod(shapes[name]), default="")


def _is_halved(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Return whether rows or columns are half as many: a slice halves them one after another."""
    if len(before) != len(after):
        return False
    side = _side(before)
    halves = _rounded(side / 2) - {1}
    return any(a == side and b in halves for a, b in zip(before, after, strict=True))


def _last_at(nodes: Sequence[onnx.NodeProto], shapes: Shapes, sides: set[int]) -> str:
    """Return the last map of these sides."""
    outputs = (name for node in nodes for name in node.output)
    found = [name for name in outputs if _side(shapes.get(name, ())) in sides]
    return found[-1] if found else ""


def _tokens_before(
    nodes: Sequence[onnx.NodeProto], shapes: Shapes, last: tuple[int, ...], constants: set[str]
) -> str:
    """Return the residual sum after two thirds of those that have the shape of the last map."""
    sums = [
        node.output[0]
        for node in nodes
        if node.op_type == "Add"
        and constants.isdisjoint(node.input)
        and shapes.get(node.output[0]) == last
    ]
    return sums[len(sums) * 2 // 3 - 1] if len(sums) >= FEWEST_SUMS else ""


def _side(shape: tuple[int, ...], prefix: int = 0) -> int:
    """Return the side of a square map; 0 if the shape is that of another tensor."""
    if not is_map(shape, prefix):
        return 0
    return shape[1] if len(shape) == 3 else math.isqrt(shape[0] - prefix)


def _rounded(number: float) -> set[int]:
    return {math.floor(number), math.ceil(number)}


def _leading_to(graph: onnx.GraphProto, tensor: str) -> list[onnx.NodeProto]:
    """Return the nodes that a tensor depends on, in the order of the graph."""
    needed, found = {tensor}, []
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(node.input)
            found.append(node)
    return found[::-1]


def _constants(graph: onnx.GraphProto) -> set[str]:
    made = {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    return made | {constant.name for constant in graph.initializer}


def _inferred_shapes(model: onnx.ModelProto) -> Shapes:
    """Return the shapes of all tensors of floating-point numbers that can be inferred."""
    graph = model.graph
    small = [each for each in graph.initializer if math.prod(each.dims) <= LARGEST_CONSTANT]
    large = [each for each in graph.initializer if math.prod(each.dims) > LARGEST_CONSTANT]
    declared = [helper.make_tensor_value_info(e.name, e.data_type, list(e.dims)) for e in large]
    inputs = [*graph.input, *declared]
    skeleton = helper.make_model(
        helper.make_graph(graph.node, "skeleton", inputs, [], small),
        opset_imports=model.opset_import,
        functions=model.functions,
    )
    try:
        inferred = shape_inference.infer_shapes(skeleton, data_prop=True)
    except Exception:  # the network may have operators that no inference is known for
        return {}
    shapes = {}
    for each in inferred.graph.value_info:
        tensor = each.type.tensor_type
        shape = tuple(dim.dim_value for dim in tensor.shape.dim)[1:]
        if tensor.elem_type in FLOATS and shape and all(shape):
            shapes[each.name] = shape
    return shapes
