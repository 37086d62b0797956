"""Running a backbone's ONNX model with ONNX Runtime: the one narrow door to the engine."""

import logging
import os
from typing import cast

# A camera in someone's home calls nobody: without this, ONNX Runtime reports its use by default.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from robocle.backbones.model_folder import Manifest
from robocle.errors import BackboneError, FeatureError
from robocle.types import FeatureMaps, Pixels

log = logging.getLogger("robocle")


class OnnxBackbone:
    """A frozen network from uint8 pixels to feature maps, run on the CPU.

    One thread by default: two spinning threads collapse when other programs are busy, as on any
    robot. With more, threads sleep instead of spinning while they wait.
    """

    def __init__(self, manifest: Manifest, model: bytes, threads: int = 1) -> None:
        self.manifest = manifest
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime raises types of its own for each fault
            raise BackboneError(f"cannot run {manifest.name}: {error}") from error
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
        maps = cast(NDArray[np.float32], self._session.run(None, {self._input: pixels})[0])
        n, channels, rows, columns = maps.shape
        return FeatureMaps(maps.reshape(n, channels, rows * columns).transpose(0, 2, 1))
