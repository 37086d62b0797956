"""Building ONNX graphs: the only module that creates nodes, constants, inputs and outputs.

The fingerprint of an added backbone is a hash of its model's bytes, and a state names the backbone
by that fingerprint. The names that a builder generates are therefore part of the format: changing
them would invalidate every state that was taught with an added backbone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

DEFAULT_DOMAINS = ("", "ai.onnx")


class GraphBuilder:
    """Adds nodes, constants, inputs and outputs to a graph.

    Nodes go to the end of the graph, except inside `at_the_start`. Every tensor is referred to by
    its name.

    Args:
        graph: The graph to extend. A new, empty graph by default.
        prefix: What the generated names of tensors start with.

    Example:
        >>> from onnx import TensorProto
        >>> builder = GraphBuilder(prefix="demo_")
        >>> builder.add_input("pixels", TensorProto.UINT8, 224, 224, 3)
        >>> value = builder.node("Cast", "pixels", to=TensorProto.FLOAT)
        >>> value = builder.node("Div", value, builder.constant(np.float32(255)))
        >>> builder.add_output(value, TensorProto.FLOAT, 224, 224, 3)
        >>> value
        'demo_div_1'
        >>> [node.op_type for node in builder.graph.node]
        ['Cast', 'Div']
    """

    def __init__(self, graph: onnx.GraphProto | None = None, prefix: str = "") -> None:
        self.graph = onnx.GraphProto() if graph is None else graph
        self._prefix = prefix

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node with one output.

        Args:
            operator: The ONNX operator, such as "Conv".
            inputs: The names of the input tensors.
            output: The name of the output tensor. Generated if empty.
            attributes: The attributes of the operator.

        Returns:
            The name of the output tensor.
        """
        output = output or f"{self._prefix}{operator.lower()}_{len(self.graph.node)}"
        self.graph.node.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: NDArray[Any] | np.generic, name: str = "") -> str:
        """Add a constant.

        Args:
            value: An array, or a numpy scalar.
            name: The name of the constant. Generated if empty.

        Returns:
            The name of the constant.
        """
        name = name or f"{self._prefix}constant_{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add_input(self, name: str, element: int, *shape: int) -> None:
        """Declare an input of the graph.

        Args:
            name: The name of the tensor.
            element: The element type, such as `onnx.TensorProto.UINT8`.
            shape: The size of each axis after the batch axis, which is the first and can have any
                size.
        """
        self.graph.input.append(helper.make_tensor_value_info(name, element, ["n", *shape]))

    def add_output(self, name: str, element: int, *shape: int) -> None:
        """Declare a tensor to be an output of the graph; the arguments are those of `add_input`."""
        self.graph.output.append(helper.make_tensor_value_info(name, element, ["n", *shape]))

    @contextmanager
    def at_the_start(self) -> Iterator[None]:
        """Put nodes that are added inside the `with` block before all other nodes of the graph."""
        others = list(self.graph.node)
        del self.graph.node[:]
        try:
            yield
        finally:
            self.graph.node.extend(others)


def opset_version(model: onnx.ModelProto) -> int:
    """Return the version of the standard operator set that a model uses; 0 if it names none."""
    versions = (each.version for each in model.opset_import if each.domain in DEFAULT_DOMAINS)
    return max(versions, default=0)


def remove_unused(graph: onnx.GraphProto) -> None:
    """Remove the nodes and constants that no output depends on, such as those of a classifier.

    A graph with subgraphs is left as it is, because a subgraph can use any tensor.
    """
    nodes = list(graph.node)
    if any(attribute.g.node or attribute.graphs for n in nodes for attribute in n.attribute):
        return
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            needed.update(node.input)
            kept.append(node)
    constants = [constant for constant in graph.initializer if constant.name in needed]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(kept))
    graph.initializer.extend(constants)
