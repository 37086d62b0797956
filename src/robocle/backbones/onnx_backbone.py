"""Running the ONNX model of a backbone: the only module that creates ONNX Runtime sessions."""

import os

# A camera in someone's home must not call out: ONNX Runtime reports its usage by default.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from robocle.backbones.model_folder import Manifest
from robocle.errors import BackboneError, FeatureError
from robocle.spec import require_whole
from robocle.types import FeatureMaps, Pixels

LONGEST_REASON = 300


def open_session(model: bytes, name: str, threads: int = 1) -> onnxruntime.InferenceSession:
    """Open a model for inference on the CPU.

    One thread is the default, because two spinning threads are slow when other programs keep the
    CPU busy, as on any robot. With more threads, they sleep instead of spinning while they wait.

    Args:
        model: The serialised ONNX model.
        name: The name of the model, for error messages.
        threads: The number of CPU threads.

    Raises:
        BackboneError: ONNX Runtime does not accept the model.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # every error is raised, so it need not be logged as well
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has an exception type of its own for each fault
        raise BackboneError(f"cannot run {name}: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """Return the message of another library's error as one line of limited length.

    Example:
        >>> one_line(ValueError("no such node:\\n  Magic"))
        'no such node: Magic'
    """
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."


class OnnxBackbone:
    """A backbone that runs an ONNX model on the CPU.

    Args:
        manifest: The description of the model.
        model: The serialised ONNX model. It takes uint8 RGB pixels (n, side, side, 3). Its first
            output is the last map, (n, channels, rows, columns) or (n, positions, channels). Then
            come the class token (n, channels) and the earlier map, in one of the layouts of the
            last, if the manifest says that there are any.
        threads: The number of CPU threads.

    Raises:
        SpecError: The number of threads is out of range.
        BackboneError: ONNX Runtime does not accept the model.
    """

    def __init__(self, manifest: Manifest, model: bytes, threads: int = 1) -> None:
        require_whole("threads", threads, 1, 256)
        self.manifest = manifest
        self.threads = threads
        self._session = open_session(model, manifest.name, threads)
        self._input = self._session.get_inputs()[0].name

    def __repr__(self) -> str:
        kind, start = type(self).__name__, self.fingerprint[:8]
        return f"<{kind} {self.name!r}, fingerprint {start}, input {self.input_size} pixels>"

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

    @property
    def earlier_channels(self) -> int:
        """The number of channels of the earlier map; 0 if there is none."""
        return self.manifest.earlier_channels

    def features(self, pixels: Pixels) -> FeatureMaps:
        """Compute the feature maps of a batch, as `robocle.backbones.Backbone` describes it."""
        side = self.input_size
        if pixels.ndim != 4 or pixels.shape[1:] != (side, side, 3) or pixels.dtype != np.uint8:
            raise FeatureError(
                f"{self.name} takes uint8 pixels (n, {side}, {side}, 3), not {pixels.dtype} "
                f"{pixels.shape}: prepare pictures with robocle.images.to_pixels"
            )
        maps, *others = self._session.run(None, {self._input: pixels})
        token = others.pop(0) if self.has_token else None
        earlier = _positions_first(others[0]) if self.earlier_channels else None
        return FeatureMaps(_positions_first(maps), token, earlier)


def _positions_first(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return maps of either layout as (n, positions, channels)."""
    if maps.ndim == 3:
        return maps
    n, channels, rows, columns = maps.shape
    return maps.reshape(n, channels, rows * columns).transpose(0, 2, 1)


def model_of(network: object) -> bytes:
    """Return the serialised ONNX model of a backbone.

    Raises:
        BackboneError: The backbone has no method `model_bytes`.
    """
    source = getattr(network, "model_bytes", None)
    if source is None:
        name = getattr(network, "name", type(network).__name__)
        raise BackboneError(f"{name} does not provide its ONNX model")
    model: bytes = source()
    return model
