"""EfficientNet-Lite as an ONNX graph, built from its published weights without PyTorch.

The architecture is EfficientNet without squeeze-and-excitation and with ReLU6 (Liu, 2020). The
graph takes uint8 RGB pixels (n, side, side, 3), normalises them, and ends at the last feature map,
before pooling. The checkpoint determines kernels and widths. BatchNorm is folded into the
convolutions. Padding is TensorFlow's "same" padding, which adds the odd row and column at the end.

The weights are a PyTorch checkpoint of the old, non-zip format: five pickles (magic number,
protocol, machine, object tree, storage keys), followed by an int64 element count and the raw
elements of each storage. In the published checkpoints, each tensor has a storage of its own. A
pickle can run code. This reader can only build dictionaries of tensors: any other name in the file
is refused before it is looked up.
"""

import io
import math
import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_graph import GraphBuilder
from robocle.errors import BackboneError

PIXEL_MEAN, PIXEL_SCALE = 127.0, 128.0
RELU6 = 6.0
BATCH_NORM_EPSILON = 1e-3
OPSET = 17
# The IR version that the oldest supported ONNX Runtime reads. By default `onnx` writes its newest.
IR_VERSION = 8

# (stride of the first block, expansion) of each stage, Tan & Le 2019, table 1
STAGES = ((1, 1), (2, 6), (2, 6), (2, 6), (1, 6), (2, 6), (1, 6))
LAST_HALVING = max(number for number, (stride, _) in enumerate(STAGES) if stride == 2)

Weights = Mapping[str, NDArray[Any]]


def feature_map_model(network: "Network", repeats: Sequence[int]) -> onnx.ModelProto:
    """Return the model from uint8 pixels to the last feature map and the earlier one.

    The earlier map is the last one at a sixteenth of the input's side: the expansion in the first
    block of the last stage that halves the map.

    Args:
        network: What adds the layers, with the weights.
        repeats: The number of blocks in each stage.
    """
    value = network.normalised_pixels()
    value = network.conv_block(value, "_conv_stem", "_bn0", stride=2, relu6=True)
    block = 0
    for number, (first_stride, expansion) in enumerate(STAGES):
        for repeat in range(repeats[number]):
            stride = first_stride if repeat == 0 else 1
            expanded = "earlier_map" if number == LAST_HALVING and repeat == 0 else ""
            prefix = f"_blocks.{block}."
            value = network.inverted_residual(value, prefix, expansion, stride, expanded)
            block += 1
    network.conv_block(value, "_conv_head", "_bn1", stride=1, relu6=True)
    return network.model()


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: its name, the side of its square map, and its channels."""

    name: str
    side: int
    channels: int = 3


class Network:
    """Adds the layers of the network to a graph, from input to output.

    Args:
        weights: The tensors of the published checkpoint, by name.
        manifest: The name of the network, and the sizes of its input and its maps.
    """

    def __init__(self, weights: Weights, manifest: Manifest) -> None:
        self.weights = weights
        self._manifest = manifest
        self.builder = GraphBuilder(onnx.GraphProto(name=manifest.name))

    def normalised_pixels(self) -> Value:
        builder, side = self.builder, self._manifest.input_size
        builder.add_input("pixels", TensorProto.UINT8, side, side, 3)
        # Transposed while still uint8, which moves a quarter of the bytes.
        name = builder.node("Transpose", "pixels", perm=[0, 3, 1, 2])
        name = builder.node("Cast", name, to=TensorProto.FLOAT)
        mean = builder.constant(np.float32(PIXEL_MEAN), "pixel_mean")
        name = builder.node("Sub", name, mean)
        scale = builder.constant(np.float32(PIXEL_SCALE), "pixel_scale")
        return Value(builder.node("Div", name, scale), side)

    def inverted_residual(
        self, value: Value, prefix: str, expansion: int, stride: int, expanded: str
    ) -> Value:
        inner = value
        if expansion != 1:
            inner = self.conv_block(
                inner, f"{prefix}_expand_conv", f"{prefix}_bn0", 1, relu6=True, output=expanded
            )
        inner = self.conv_block(
            inner, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride, relu6=True
        )
        inner = self.conv_block(inner, f"{prefix}_project_conv", f"{prefix}_bn2", 1, relu6=False)
        if stride != 1 or inner.channels != value.channels:
            return inner
        return self.added(inner, value)

    def added(self, value: Value, other: Value) -> Value:
        return replace(value, name=self.builder.node("Add", value.name, other.name))

    def conv_block(
        self, value: Value, conv: str, norm: str, stride: int, *, relu6: bool, output: str = ""
    ) -> Value:
        builder = self.builder
        kernel, bias = self.folded(conv, norm)
        constants = builder.constant(kernel, f"{conv}.kernel"), builder.constant(bias, conv)
        convolved = self.convolved(value, constants, kernel.shape, stride)
        if not relu6:
            return convolved
        low = builder.constant(np.float32(0), f"{conv}.low")
        high = builder.constant(np.float32(RELU6), f"{conv}.high")
        name = builder.node("Clip", convolved.name, low, high, output=output)
        return replace(convolved, name=name)

    def convolved(
        self, value: Value, constants: tuple[str, str], shape: tuple[int, ...], stride: int
    ) -> Value:
        """Add a convolution with kernel and bias; `shape` is that of the kernel."""
        side = -(-value.side // stride)
        padding = max((side - 1) * stride + shape[2] - value.side, 0)
        before, after = padding // 2, padding - padding // 2
        name = self.builder.node(
            "Conv",
            value.name,
            *constants,
            kernel_shape=list(shape[2:]),
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=shape[0] if is_depthwise(shape) else 1,
        )
        return Value(name, side, shape[0])

    def model(self) -> onnx.ModelProto:
        graph = self.builder.graph
        graph.node[-1].output[0] = "feature_map"
        manifest = self._manifest
        self._add_output("feature_map", manifest.channels, manifest.positions)
        self._add_output("earlier_map", manifest.earlier_channels, manifest.earlier_positions)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, producer_name="robocle", opset_imports=[opset])
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model

    def _add_output(self, name: str, channels: int, positions: int) -> None:
        side = math.isqrt(positions)
        self.builder.add_output(name, TensorProto.FLOAT, channels, side, side)

    def folded(self, conv: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return kernel and bias of a convolution with its BatchNorm folded in, in float64."""
        kernel, gamma, beta, mean, variance = (
            self.weights[name].astype(np.float64)
            for name in (
                f"{conv}.weight",
                f"{norm}.weight",
                f"{norm}.bias",
                f"{norm}.running_mean",
                f"{norm}.running_var",
            )
        )
        gain = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
        folded = kernel * gain[:, None, None, None]
        return folded.astype(np.float32), (beta - mean * gain).astype(np.float32)


def is_depthwise(shape: tuple[int, ...]) -> bool:
    """Return whether a convolution has a kernel of its own for each channel, by their shape."""
    return shape[1] == 1


class _Tensor(NamedTuple):
    """A tensor whose elements have not been read yet."""

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """How many elements apart the entries along each axis are."""


def _rebuild_tensor(
    storage: tuple[str, np.dtype[Any]],
    _offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *_: object,
) -> _Tensor:
    return _Tensor(*storage, shape, strides)


READABLE: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch", "FloatStorage"): np.dtype("<f4"),
    ("torch", "LongStorage"): np.dtype("<i8"),
}
"""What the names in a checkpoint stand for."""


class _TensorUnpickler(pickle.Unpickler):
    """An unpickler that builds tensors and ordered dictionaries and rejects everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in READABLE:
            raise BackboneError(f"the checkpoint refers to {module}.{name}: only tensors are read")
        return READABLE[module, name]

    def persistent_load(self, pid: Any) -> tuple[str, np.dtype[Any]]:
        _kind, dtype, key, *_ = pid
        return key, dtype


def read_checkpoint(content: bytes) -> dict[str, NDArray[Any]]:
    """Read the tensors of a published checkpoint, without running any code in it.

    Args:
        content: The content of the file. The caller has compared its hash.

    Returns:
        The tensors by name.

    Raises:
        BackboneError: It contains anything but tensors.
    """
    file = io.BytesIO(content)
    _magic, _protocol, _machine, tree, keys = (_TensorUnpickler(file).load() for _ in range(5))
    tensors = {tensor.key: (name, tensor) for name, tensor in tree.items()}
    found = {}
    for name, (_, dtype, shape, strides) in (tensors[key] for key in keys):
        (length,) = struct.unpack("<q", file.read(8))
        elements = file.read(length * dtype.itemsize)
        steps = [stride * dtype.itemsize for stride in strides]
        found[name] = np.ndarray(shape, dtype, elements, strides=steps)
    return found
