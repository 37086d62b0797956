"""EfficientNet-Lite0 as an ONNX graph, built from its published weights without PyTorch.

The architecture is EfficientNet-B0 without squeeze-excite and with ReLU6 (Liu, 2020). The graph
takes uint8 RGB pixels (n, 224, 224, 3), normalises them itself, and ends at the last feature map,
before pooling. BatchNorm is folded into the convolutions; padding is TensorFlow's 'same', which
pads more after than before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from robocle.backbones.efficientnet_lite import CHANNELS, INPUT_SIZE, NAME
from robocle.errors import BackboneError

PIXEL_MEAN, PIXEL_SCALE = 127.0, 128.0
BATCH_NORM_EPSILON = 1e-3
OPSET = 17
# What ONNX Runtime of the oldest supported version reads; a newer `onnx` would write its own.
IR_VERSION = 8

# (repeats, kernel, stride of the first, expansion, channels out), Tan & Le 2019, table 1
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM_CHANNELS = 32

Weights = Mapping[str, NDArray[Any]]


def feature_map_model(weights: Weights) -> onnx.ModelProto:
    """The graph from uint8 pixels to the last feature map (n, 1280, 7, 7)."""
    graph = _Graph(weights)
    value = graph.normalised_pixels()
    value = graph.conv_block(value, "_conv_stem", "_bn0", stride=2, relu6=True)
    block = 0
    channels = STEM_CHANNELS
    for repeats, _kernel, first_stride, expansion, out in STAGES:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            skip = stride == 1 and channels == out
            value = graph.inverted_residual(value, f"_blocks.{block}.", expansion, stride, skip)
            channels = out
            block += 1
    value = graph.conv_block(value, "_conv_head", "_bn1", stride=1, relu6=True)
    return graph.model(value)


@dataclass
class _Value:
    """A tensor of the graph: its name and the side of its square map."""

    name: str
    side: int


class _Graph:
    """Collects nodes and folded weights while the network is walked front to back."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._initialisers: list[onnx.TensorProto] = []

    def normalised_pixels(self) -> _Value:
        # Transposed while still uint8: a quarter of the memory traffic.
        name = self._node("Transpose", ["pixels"], perm=[0, 3, 1, 2])
        name = self._node("Cast", [name], to=onnx.TensorProto.FLOAT)
        name = self._node("Sub", [name, self._constant("pixel_mean", np.float32(PIXEL_MEAN))])
        name = self._node("Div", [name, self._constant("pixel_scale", np.float32(PIXEL_SCALE))])
        return _Value(name, INPUT_SIZE)

    def inverted_residual(
        self, value: _Value, prefix: str, expansion: int, stride: int, skip: bool
    ) -> _Value:
        inner = value
        if expansion != 1:
            inner = self.conv_block(inner, f"{prefix}_expand_conv", f"{prefix}_bn0", 1, relu6=True)
        inner = self.conv_block(
            inner, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride, relu6=True
        )
        inner = self.conv_block(inner, f"{prefix}_project_conv", f"{prefix}_bn2", 1, relu6=False)
        if not skip:
            return inner
        return _Value(self._node("Add", [inner.name, value.name]), value.side)

    def conv_block(
        self, value: _Value, conv: str, norm: str, stride: int, *, relu6: bool
    ) -> _Value:
        kernel, bias = self._folded(conv, norm)
        depthwise = kernel.shape[1] == 1
        side = -(-value.side // stride)
        padding = max((side - 1) * stride + kernel.shape[2] - value.side, 0)
        before, after = padding // 2, padding - padding // 2
        name = self._node(
            "Conv",
            [value.name, self._constant(f"{conv}.kernel", kernel), self._constant(conv, bias)],
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=len(kernel) if depthwise else 1,
        )
        if relu6:
            low = self._constant(f"{conv}.low", np.float32(0))
            high = self._constant(f"{conv}.high", np.float32(6))
            name = self._node("Clip", [name, low, high])
        return _Value(name, side)

    def model(self, value: _Value) -> onnx.ModelProto:
        self._nodes[-1].output[0] = "feature_map"
        pixels = helper.make_tensor_value_info(
            "pixels", onnx.TensorProto.UINT8, ["n", INPUT_SIZE, INPUT_SIZE, 3]
        )
        feature_map = helper.make_tensor_value_info(
            "feature_map", onnx.TensorProto.FLOAT, ["n", CHANNELS, value.side, value.side]
        )
        graph = helper.make_graph(
            self._nodes, NAME, [pixels], [feature_map], initializer=self._initialisers
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, producer_name="robocle", opset_imports=[opset])
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model

    def _folded(self, conv: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The convolution's kernel and bias with its BatchNorm folded in, in float64 first."""
        try:
            kernel, gamma, beta, mean, variance = (
                np.asarray(self._weights[name], np.float64)
                for name in (
                    f"{conv}.weight",
                    f"{norm}.weight",
                    f"{norm}.bias",
                    f"{norm}.running_mean",
                    f"{norm}.running_var",
                )
            )
        except KeyError as missing:
            raise BackboneError(
                f"checkpoint does not hold {missing}: not EfficientNet-Lite0"
            ) from None
        gain = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
        folded = kernel * gain[:, None, None, None]
        return folded.astype(np.float32), (beta - mean * gain).astype(np.float32)

    def _node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        output = f"{op.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, value: NDArray[np.float32] | np.float32) -> str:
        self._initialisers.append(numpy_helper.from_array(np.asarray(value), name))
        return name
