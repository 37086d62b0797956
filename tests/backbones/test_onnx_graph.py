"""The graph builder adds nodes and constants in order, and unused ones are removed."""

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from robocle.backbones.onnx_graph import GraphBuilder, opset_version, remove_unused

FLOAT = TensorProto.FLOAT


def run(graph: onnx.GraphProto, value: NDArray[np.float32]) -> NDArray[np.float32]:
    graph.name = "graph"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: NDArray[np.float32] = session.run(None, {"x": value})[0]
    return found


def doubled() -> GraphBuilder:
    """Return a graph from x (n, 2) to y = 2 x."""
    builder = GraphBuilder()
    builder.add_input("x", FLOAT, 2)
    builder.node("Mul", "x", builder.constant(np.float32(2)), output="y")
    builder.add_output("y", FLOAT, 2)
    return builder


def test_generated_names_have_a_prefix_and_a_number() -> None:
    builder = GraphBuilder(doubled().graph, "more_")
    constant = builder.constant(np.float32(1))
    assert constant == "more_constant_1"
    assert builder.node("Add", "y", constant) == "more_add_1"
    assert builder.node("Relu", "more_add_1") == "more_relu_2"


def test_nodes_can_be_added_before_all_others() -> None:
    builder = doubled()
    builder.graph.node[0].input[0] = "first"
    with builder.at_the_start():
        value = builder.node("Add", "x", builder.constant(np.float32(1)))
        builder.node("Neg", value, output="first")
    assert [node.op_type for node in builder.graph.node] == ["Add", "Neg", "Mul"]
    assert run(builder.graph, np.array([[1, 2]], np.float32)).tolist() == [[-4, -6]]


def test_nodes_and_constants_that_no_output_needs_are_removed() -> None:
    builder = doubled()
    hidden = builder.node("Add", "y", builder.constant(np.float32(1), "one"))
    builder.node("Mul", hidden, builder.constant(np.float32(3), "three"))
    remove_unused(builder.graph)
    assert [node.output[0] for node in builder.graph.node] == ["y"]
    assert [constant.name for constant in builder.graph.initializer] == ["constant_0"]
    assert run(builder.graph, np.array([[1, 2]], np.float32)).tolist() == [[2, 4]]


def test_a_graph_with_a_subgraph_is_not_changed() -> None:
    builder = doubled()
    branch = GraphBuilder(onnx.GraphProto(name="branch"))
    branch.node("Identity", "one", output="z")
    branch.add_output("z", FLOAT)
    builder.constant(np.float32(1), "one")
    always = builder.constant(np.bool_(True))
    builder.node("If", always, then_branch=branch.graph, else_branch=branch.graph)
    remove_unused(builder.graph)
    assert [node.op_type for node in builder.graph.node] == ["Mul", "If"]
    assert "one" in {constant.name for constant in builder.graph.initializer}


def test_the_opset_version_is_that_of_the_standard_operators() -> None:
    domains = {"": 17, "com.microsoft": 30}
    imports = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    graph = doubled().graph
    graph.name = "graph"
    assert opset_version(helper.make_model(graph, opset_imports=imports)) == 17
    assert opset_version(onnx.ModelProto()) == 0
