"""How fast backbones are on this machine: alone, and from a camera frame to a label."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from robocle._internal.timing import random_pixels, shortest_times
from robocle.backbones import BACKBONES, Backbone, backbone, require_backbone
from robocle.backbones.added import added_names
from robocle.backbones.onnx_backbone import model_of
from robocle.errors import BackboneError, RobocleError, SpecError
from robocle.evaluation.teach_and_test import teach
from robocle.images import to_pixels
from robocle.learner import Learner
from robocle.learner.pipeline import Pipeline, feature_maps, pooled
from robocle.poolings import POOLINGS
from robocle.spec import parse_spec

BATCHES = (1, 16)
THREADS = (1, 2)
OBJECTS, SHOTS = 20, 2
FRAME = (480, 640, 3)
SECONDS = 2.0  # for each batch size, and for all poolings together
ROUNDS = 40


@dataclass(frozen=True)
class BackboneSpeed:
    """The size and speed of one backbone on this machine."""

    name: str
    megabytes: float
    """The size of its ONNX model; NaN if it does not provide one."""
    milliseconds: dict[str, float]
    """The time for a whole batch, by "pictures x threads"."""
    frames_per_second: dict[str, float]
    """The rate from a 640x480 frame to its label on one thread, by pooling."""


def measure_speed(spec: str) -> BackboneSpeed:
    """Measure a backbone alone, and with each pooling in a learner of 20 objects.

    Args:
        spec: The backbone, without the option `threads`.

    Raises:
        SpecError: The name or an option is unknown, or the spec sets `threads`.
        BackboneError: The backbone cannot be loaded.
    """
    networks = [backbone(_with_threads(spec, threads)) for threads in THREADS]
    return BackboneSpeed(
        name=networks[0].name,
        megabytes=_megabytes(networks[0]),
        milliseconds=_milliseconds(networks),
        frames_per_second=_frames_per_second(networks[0]),
    )


def measurable() -> list[str]:
    """Return the backbones on this machine whose name is a complete spec."""
    named = [name for name in BACKBONES.names() if name not in ("timm", "onnx") and _is_here(name)]
    return list(dict.fromkeys([*named, *added_names()]))


def _is_here(name: str) -> bool:
    try:
        require_backbone(name)
    except BackboneError:  # its weights are not installed
        return False
    return True


def _with_threads(spec: str, threads: int) -> str:
    parsed = parse_spec(spec)
    if "threads" in parsed.options:
        raise SpecError(f"remove threads from {spec}: both 1 and 2 threads are measured")
    return f"{spec}{',' if parsed.first or parsed.options else ':'}threads={threads}"


def _megabytes(network: Backbone) -> float:
    try:
        return len(model_of(network)) / 1e6
    except BackboneError:  # the backbone of a plug-in may not be an ONNX model
        return float("nan")


def _milliseconds(networks: Sequence[Backbone]) -> dict[str, float]:
    found = {}
    for batch in BATCHES:
        pixels = random_pixels(batch, networks[0].input_size)
        functions = [partial(network.features, pixels) for network in networks]
        times = shortest_times(functions, ROUNDS // batch + 1, SECONDS)
        for threads, seconds in zip(THREADS, times, strict=True):
            found[f"{batch} x {threads}"] = seconds * 1e3
    return found


def _frames_per_second(network: Backbone) -> dict[str, float]:
    """Measure each pooling. All share the shortest time to the map, which does not depend on it."""
    frame = np.random.default_rng(0).integers(0, 256, FRAME, np.uint8)
    learners = _taught_learners(network)
    best = {name: np.array([np.inf, np.inf]) for name in learners}
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for name, learner in learners.items():
            np.minimum(best[name], _stages(learner, frame), out=best[name])
        if time.perf_counter() - start > SECONDS:
            break
    to_map = min(stages[0] for stages in best.values())
    return {name: float(1 / (to_map + stages[1])) for name, stages in best.items()}


def _stages(learner: Learner, frame: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the seconds from a frame to its map, and from the map to the prediction.

    The second stage is timed right after the first, because a pooling is slower with the cold
    caches that it finds there than in a loop of its own.
    """
    start = time.perf_counter()
    pipeline = learner.pipeline
    pixels = to_pixels(frame, pipeline.backbone.input_size)
    maps = feature_maps(pipeline.backbone, pipeline.prediction_views, [pixels])
    mapped = time.perf_counter()
    learner.predict_embedding(pooled(pipeline.pooling, maps, 1)[0])
    return mapped - start, time.perf_counter() - mapped


def _taught_learners(network: Backbone) -> dict[str, Learner]:
    """Return a taught learner for each pooling that can take the maps of a backbone."""
    pixels = list(random_pixels(1, network.input_size))
    learners = {}
    for name in POOLINGS.names():
        try:
            embedding = Pipeline.build(network, name).embed(pixels)
        except RobocleError:  # the pooling cls needs a class token
            continue
        learners[name] = _taught(Learner(network, pooling=name), embedding.shape[1])
    return learners


def _taught(learner: Learner, width: int) -> Learner:
    """Teach random embeddings of 20 objects: their values do not affect the time."""
    rng = np.random.default_rng(0)
    embeddings = rng.exponential(1.0, (OBJECTS * SHOTS, width)).astype(np.float32)
    labels = [f"object {number // SHOTS}" for number in range(len(embeddings))]
    teach(learner.teach_embedding, zip(embeddings, labels, strict=True))
    return learner
