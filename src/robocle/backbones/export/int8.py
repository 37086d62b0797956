"""int8: a backbone whose weights and maps are bytes, from the fp32 one and some pictures.

Static: the range of every map is measured once, on pictures. Weights are signed, with a scale a
channel; maps are unsigned. The pixels' normalisation and the first convolutions stay in float,
where rounding costs most and time least. The graph keeps its operators and gets pairs of quantise
and dequantise nodes, which ONNX Runtime turns into its int8 kernels.
"""

import platform
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import onnx

from robocle.backbones.added import fingerprint
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.types import Pixels

SUFFIX = "_int8"
FLOAT_CONVOLUTIONS = 3
# Sums and norms stay in float: in bytes a transformer's residuals are lost.
QUANTISED = ("Conv", "Gemm", "MatMul", "Clip", "Relu", "MaxPool")


def int8_name(name: str) -> str:
    """What the int8 twin of a backbone is called."""
    return f"{name}{SUFFIX}"


def quantised(
    manifest: Manifest, model: bytes, batches: Iterable[Pixels]
) -> tuple[Manifest, bytes]:
    """The int8 twin of a backbone, its ranges measured on batches of pixels.

    The same pictures in the same order give the same bytes, on processors that multiply bytes alike
    (see `sums_of_bytes_saturate`). One batch is in memory at a time.
    """
    if manifest.name.endswith(SUFFIX):
        raise BackboneError(f"{manifest.name} is int8 already")
    small = _quantised_model(manifest.name, model, batches)
    twin = replace(
        manifest,
        name=int8_name(manifest.name),
        fingerprint=fingerprint(small, manifest.input_size, manifest.has_token),
        source=f"{manifest.source}, as int8",
    )
    return twin, small


def sums_of_bytes_saturate() -> bool:
    """Whether this processor's products of bytes may overflow, so that weights get 7 bits only.

    x86 without VNNI adds two products in 16 bits. Where it cannot be told, we are careful.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return False
    try:
        return "vnni" not in Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return True


def _quantised_model(name: str, model: bytes, batches: Iterable[Pixels]) -> bytes:
    # Slow to import, and only needed here.
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    graph = onnx.load_from_string(model)
    first = _named_first_convolutions(graph)
    add_pre_process_metadata(graph)  # else it asks for a step that our graphs do not need
    with tempfile.TemporaryDirectory(prefix="robocle-int8-") as folder:
        path = Path(folder) / "int8.onnx"
        try:
            quantize_static(
                graph,
                path,
                _Reader(graph.graph.input[0].name, batches),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(QUANTISED),
                per_channel=True,
                reduce_range=sums_of_bytes_saturate(),
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=first,
            )
        except Exception as error:  # it raises types of many kinds, for graphs of any kind
            raise BackboneError(f"cannot quantise {name}: {one_line(error)}") from error
        found = onnx.load(path)
    del found.metadata_props[:]
    content: bytes = found.SerializeToString(deterministic=True)
    return content


def _named_first_convolutions(model: onnx.ModelProto) -> list[str]:
    """Give every node a name, for they are left out by name; gives those that stay in float."""
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    convolutions = [node.name for node in model.graph.node if node.op_type == "Conv"]
    return convolutions[:FLOAT_CONVOLUTIONS]


class _Reader:
    """Batches of pixels, as the calibration asks for them."""

    def __init__(self, name: str, batches: Iterable[Pixels]) -> None:
        self._name = name
        self._batches = iter(batches)

    def get_next(self) -> dict[str, Pixels] | None:
        batch = next(self._batches, None)
        return None if batch is None else {self._name: batch}
