"""A model for converters and accelerators: float32 throughout, and no text.

TensorRT, LiteRT and others have no text, and no or only slow float64.
"""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

NARROWED = {TensorProto.DOUBLE: TensorProto.FLOAT, TensorProto.UINT8: TensorProto.FLOAT}


def narrow(model: onnx.ModelProto) -> None:
    """Make a model compute in float32, with its input and outputs.

    Args:
        model: The model. It has no text.
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
