"""How fast backbones are on this machine: alone, and as the whole way from a frame to a label."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import BACKBONES, Backbone, backbone
from robocle.backbones.added import added_names
from robocle.backbones.onnx_backbone import model_of
from robocle.errors import BackboneError, RobocleError, SpecError
from robocle.images import to_pixels
from robocle.learner import Learner
from robocle.pooling import POOLINGS, pooling
from robocle.spec import parse_spec
from robocle.timing import noise, shortest_in_turns

BATCHES = (1, 16)
THREADS = (1, 2)
OBJECTS, SHOTS = 20, 2
FRAME = (480, 640, 3)
SECONDS = 2.0  # for each batch size, and for all poolings together
ROUNDS = 40


@dataclass(frozen=True)
class BackboneSpeed:
    """What one backbone takes on this machine."""

    name: str
    megabytes: float
    milliseconds: dict[str, float]
    """By "batch x threads", for the whole batch."""
    frames_a_second: dict[str, float]
    """By pooling: a 640x480 frame to its label, one thread."""


def measured(spec: str) -> BackboneSpeed:
    """Measure a backbone alone, and with each pooling in a learner of 20 objects."""
    networks = [backbone(_with_threads(spec, threads)) for threads in THREADS]
    return BackboneSpeed(
        name=networks[0].name,
        megabytes=_megabytes(networks[0]),
        milliseconds=_milliseconds(networks),
        frames_a_second=_frames_a_second(networks[0]),
    )


def measurable() -> list[str]:
    """The backbones on this machine that need no further word."""
    named = [name for name in BACKBONES.names() if name not in ("timm", "onnx")]
    return list(dict.fromkeys([*named, *added_names()]))


def _with_threads(spec: str, threads: int) -> str:
    parsed = parse_spec(spec)
    if "threads" in parsed.options:
        raise SpecError(f"leave threads out of {spec}: 1 and 2 are both measured")
    return f"{spec}{',' if parsed.first or parsed.options else ':'}threads={threads}"


def _megabytes(network: Backbone) -> float:
    try:
        return len(model_of(network)) / 1e6
    except BackboneError:  # a plug-in's own, maybe no ONNX model at all
        return float("nan")


def _milliseconds(networks: Sequence[Backbone]) -> dict[str, float]:
    found = {}
    for batch in BATCHES:
        pixels = noise(batch, networks[0].input_size)
        works = [partial(network.features, pixels) for network in networks]
        times = shortest_in_turns(works, ROUNDS // batch + 1, SECONDS)
        for threads, seconds in zip(THREADS, times, strict=True):
            found[f"{batch} x {threads}"] = seconds * 1e3
    return found


def _frames_a_second(network: Backbone) -> dict[str, float]:
    """Pixels and network are timed once for all, pooling and answer where they run, after them."""
    frame = np.random.default_rng(0).integers(0, 256, FRAME, np.uint8)
    learners = {name: _taught(network, name) for name in POOLINGS.names() if _fits(network, name)}
    best = {name: np.array([np.inf, np.inf]) for name in learners}
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for name, learner in learners.items():
            np.minimum(best[name], _stages(learner, frame), out=best[name])
        if time.perf_counter() - start > SECONDS:
            break
    shared = min(stages[0] for stages in best.values())
    return {name: float(1 / (shared + stages[1])) for name, stages in best.items()}


def _stages(learner: Learner, frame: NDArray[np.uint8]) -> tuple[float, float]:
    """Seconds to the map, and from there to the answer."""
    start = time.perf_counter()
    maps = learner.backbone.features(to_pixels(frame, learner.backbone.input_size)[None])
    seen = time.perf_counter()
    learner.predict_embedding(learner.pooling(maps)[0])
    return seen - start, time.perf_counter() - seen


def _taught(network: Backbone, name: str) -> Learner:
    """A learner of 20 objects; what they look like does not matter for the time."""
    learner = Learner(network, name)
    width = pooling(name)(network.features(noise(1, network.input_size))).shape[1]
    rng = np.random.default_rng(0)
    for shown in range(OBJECTS * SHOTS):
        vector = rng.exponential(1.0, (1, width)).astype(np.float32)
        learner.teach_embedding(vector[0], f"object {shown // SHOTS}")
    return learner


def _fits(network: Backbone, name: str) -> bool:
    """Whether a pooling takes this backbone's maps: cls needs a class token."""
    try:
        pooling(name)(network.features(noise(1, network.input_size)))
    except RobocleError:
        return False
    return True
