"""Running a backbone's ONNX model with ONNX Runtime: the one narrow door to the engine."""

import os

# A camera in someone's home calls nobody: without this, ONNX Runtime reports its use by default.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from robocle.backbones.model_folder import Manifest
from robocle.errors import BackboneError, FeatureError
from robocle.spec import require_between
from robocle.types import FeatureMaps, Pixels


def open_session(model: bytes, name: str, threads: int = 1) -> onnxruntime.InferenceSession:
    """A model ready to run on the CPU.

    One thread by default: two spinning threads collapse when other programs are busy, as on any
    robot. With more, threads sleep instead of spinning while they wait.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised, and said once
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises types of its own for each fault
        raise BackboneError(f"cannot run {name}: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """What an error of another library says, short enough to read."""
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}..."


class OnnxBackbone:
    """A frozen network from uint8 pixels to feature maps, run on the CPU.

    The model's first output is the map, (n, channels, rows, columns) or (n, positions, channels);
    the second, if it has one, the class token (n, channels).
    """

    def __init__(self, manifest: Manifest, model: bytes, threads: int = 1) -> None:
        require_between("threads", threads, 1, 256)
        self.manifest = manifest
        self.threads = threads
        self._session = open_session(model, manifest.name, threads)
        self._input = self._session.get_inputs()[0].name

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    @property
    def input_size(self) -> int:
        return self.manifest.input_size

    @property
    def pixel_unit(self) -> float:
        return self.manifest.pixel_unit

    @property
    def has_token(self) -> bool:
        return self.manifest.has_token

    def features(self, pixels: Pixels) -> FeatureMaps:
        """The feature maps of pictures (n, input_size, input_size, 3)."""
        side = self.input_size
        if pixels.ndim != 4 or pixels.shape[1:] != (side, side, 3) or pixels.dtype != np.uint8:
            raise FeatureError(
                f"{self.name} takes uint8 pixels (n, {side}, {side}, 3), not {pixels.dtype} "
                f"{pixels.shape}: prepare pictures with robocle.images.to_pixels"
            )
        maps, *token = self._session.run(None, {self._input: pixels})
        return FeatureMaps(_positions_first(maps), token[0] if self.has_token else None)


def _positions_first(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, positions, channels), whichever way the model has them."""
    if maps.ndim == 3:
        return maps
    n, channels, rows, columns = maps.shape
    return maps.reshape(n, channels, rows * columns).transpose(0, 2, 1)


def model_of(network: object) -> bytes:
    """The serialised ONNX model of a backbone that gives it out."""
    source = getattr(network, "model_bytes", None)
    if source is None:
        name = getattr(network, "name", type(network).__name__)
        raise BackboneError(f"{name} does not give out its ONNX model")
    model: bytes = source()
    return model
