"""Static int8 quantisation of a backbone.

The range of every activation is measured once, on calibration pictures. Weights are signed with one
scale per channel; activations are unsigned. The normalisation of the pixels and the first
convolutions stay in float, because rounding does the most harm there and float costs the least
time. Quantise and dequantise nodes (QDQ) are inserted around the operators; ONNX Runtime replaces
them with its int8 kernels.
"""

import platform
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import onnx

from robocle.backbones.added import INT8_SUFFIX, fingerprint_of, is_int8
from robocle.backbones.model_folder import Manifest
from robocle.backbones.names import sized_name
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.types import Pixels

FLOAT_CONVOLUTIONS = 3
# Additions and normalisation layers stay in float: int8 would lose a transformer's residuals.
QUANTISED = ("Conv", "Gemm", "MatMul", "Clip", "Relu", "MaxPool")


def int8_name(name: str) -> str:
    """Return the name of the int8 twin of a backbone.

    Example:
        >>> int8_name("resnet50")
        'resnet50_int8'
        >>> int8_name("efficientnet_lite0:size=288")
        'efficientnet_lite0_288_int8'
    """
    network, sized, size = name.partition(":size=")
    return f"{sized_name(network, int(size)) if sized else name}{INT8_SUFFIX}"


def quantised(
    manifest: Manifest, model: bytes, batches: Iterable[Pixels]
) -> tuple[Manifest, bytes]:
    """Quantise a backbone.

    Args:
        manifest: The description of the original.
        model: The serialised ONNX model of the original.
        batches: Batches of pixels to measure the ranges on. One is in memory at a time.

    Returns:
        The manifest and the serialised model of the int8 twin. The same batches in the same order
        result in the same bytes on processors with the same `int8_sums_saturate`.

    Raises:
        BackboneError: The original is already int8, or cannot be quantised.
    """
    if is_int8(manifest.name) or manifest.name.endswith("numbers=int8"):
        raise BackboneError(f"{manifest.name} is already int8")
    small = _quantised_model(manifest.name, model, batches)
    twin = replace(
        manifest,
        name=int8_name(manifest.name),
        fingerprint=fingerprint_of(manifest, small),
        source=f"{manifest.source}, as int8",
    )
    return twin, small


def int8_sums_saturate() -> bool:
    """Return whether sums of int8 products can saturate on this processor.

    An x86 processor without VNNI adds two products in 16 bits, so weights must be limited to 7
    bits. If this cannot be determined, True is returned.
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
    feeds = ({graph.graph.input[0].name: batch} for batch in batches)
    reader = SimpleNamespace(get_next=lambda: next(feeds, None))  # all that calibration calls
    add_pre_process_metadata(graph)  # avoids a warning about a step that our graphs do not need
    with tempfile.TemporaryDirectory(prefix="robocle-int8-") as folder:
        path = Path(folder) / "int8.onnx"
        try:
            quantize_static(
                graph,
                path,
                reader,
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(QUANTISED),
                per_channel=True,
                reduce_range=int8_sums_saturate(),
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=first,
            )
        except Exception as error:  # it raises many types of exceptions
            raise BackboneError(f"cannot quantise {name}: {one_line(error)}") from error
        found = onnx.load(path)
    del found.metadata_props[:]
    content: bytes = found.SerializeToString(deterministic=True)
    return content


def _named_first_convolutions(model: onnx.ModelProto) -> list[str]:
    """Give every node a name and return the names of the convolutions that stay in float."""
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    convolutions = [node.name for node in model.graph.node if node.op_type == "Conv"]
    return convolutions[:FLOAT_CONVOLUTIONS]
