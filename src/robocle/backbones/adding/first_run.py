"""Running a network once, on noise: what its outputs are, and whether pictures stay apart."""

import threading

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from robocle.backbones.onnx_backbone import one_line, open_session
from robocle.errors import BackboneError
from robocle.types import Pixels

TOLERANCE = 1e-3
TIME_LIMIT = 120
"""Seconds that a network may take for one or two pictures when it is checked."""

Outputs = dict[str, tuple[NDArray[np.floating], NDArray[np.floating]]]
"""Each output for one picture alone, and for a batch of two."""


def outputs_of(model: onnx.ModelProto, name: str, side: int) -> Outputs:
    """Return each output for one picture alone, and for a batch of this and another picture.

    Args:
        model: A network that takes pixels.
        name: Its name, for error messages.
        side: The side of its input.

    Raises:
        BackboneError: It cannot be run, is too slow, or takes one picture at a time.
    """
    session = open_session(serialised(model, name), name)
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    names = [each.name for each in model.graph.output]
    try:
        alone = _run(session, name, names, pixels[:1])
    except BackboneError:
        raise
    except Exception as error:  # ONNX Runtime has an exception type of its own for each fault
        raise BackboneError(f"cannot run {name}: {one_line(error)}") from error
    try:
        batch = _run(session, name, names, pixels)
    except BackboneError:
        raise
    except Exception as error:
        raise BackboneError(
            f"{name} takes one picture at a time: export it with a dynamic batch axis"
        ) from error
    return dict(zip(names, zip(alone, batch, strict=True), strict=True))


def _run(
    session: onnxruntime.InferenceSession, name: str, outputs: list[str], pixels: Pixels
) -> list[NDArray[np.floating]]:
    """Run a network, and stop it after TIME_LIMIT: a loop in it may never end."""
    options = onnxruntime.RunOptions()
    stop = threading.Timer(TIME_LIMIT, lambda: setattr(options, "terminate", True))
    stop.start()
    try:
        found: list[NDArray[np.floating]] = session.run(outputs, {"pixels": pixels}, options)
    except Exception as error:
        if options.terminate:
            raise BackboneError(
                f"{name} was stopped after {TIME_LIMIT} s: it is too slow, or does not end"
            ) from error
        raise
    finally:
        stop.cancel()
    return found


def require_independent(
    shown: str, alone: NDArray[np.floating], batch: NDArray[np.floating]
) -> None:
    """Raise if the map of a picture depends on the other pictures of its batch."""
    if not np.isfinite(batch).all():
        raise BackboneError(f"{shown} has values that are not finite: check its weights")
    if batch.shape != (2, *alone.shape[1:]) or difference(batch[:1], alone) > TOLERANCE:
        raise BackboneError(
            f"{shown} mixes the pictures of a batch: export it with a dynamic batch axis"
        )


def difference(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the largest difference between two maps, relative to the largest expected value.

    Example:
        >>> difference(np.array([1.0, 4.0]), np.array([1.0, 5.0]))
        0.2
    """
    largest = float(np.abs(expected).max(initial=0))
    return float(np.abs(found - expected).max(initial=0)) / max(largest, 1e-12)


def serialised(model: onnx.ModelProto, name: str) -> bytes:
    """Return the bytes of a model; the same model always has the same."""
    try:
        content: bytes = model.SerializeToString(deterministic=True)
    except ValueError as error:
        raise BackboneError(
            f"{name} is larger than 2 GB, which is the limit of an ONNX file"
        ) from error
    return content
