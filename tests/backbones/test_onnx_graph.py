"""Graphs with subgraphs, and the versions of operator sets."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from robocle.backbones.onnx_graph import GraphBuilder, opset_version, remove_unused

FLOAT = TensorProto.FLOAT


def doubled() -> GraphBuilder:
    """Return a graph from x (n, 2) to y = 2 x."""
    builder = GraphBuilder()
    builder.add_input("x", FLOAT, 2)
    builder.node("Mul", "x", builder.constant(np.float32(2)), output="y")
    builder.add_output("y", FLOAT, 2)
    return builder


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
