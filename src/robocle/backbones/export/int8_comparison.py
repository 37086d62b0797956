"""Two backbones side by side: what a smaller twin gains in speed and loses in accuracy.

Each picture is read once and looked at by both. Few-shot accuracy is that of the default pooling
and classifier, taught five pictures of each label, over several orderings.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone
from robocle.backbones.export.calibration_pictures import FEW_SHOTS, Check
from robocle.classifiers import classifier
from robocle.evaluation.scenarios import Scenario, scenario
from robocle.images import to_pixels
from robocle.learner import DEFAULT_CLASSIFIER, DEFAULT_POOLING
from robocle.pooling import pooling
from robocle.timing import noise, shortest_in_turns
from robocle.types import Embeddings

ORDERINGS = 5
TIMED_ROUNDS = 20
WORTH_IT = 1.0  # points that may be lost
Progress = Callable[[Iterable[Path], str], Iterable[Path]]


@dataclass(frozen=True)
class Comparison:
    """What the twin is beside the original."""

    speed: float
    """How many times faster it is, one picture at a time."""
    size: float
    """Its size as a share of the original's."""
    cosine: float
    """The mean cosine between the pooled vectors of both."""
    map_error: float
    """The difference of the maps, as a share of the maps."""
    accuracies: NDArray[np.float64]
    """Percent of right answers: one row an ordering, original and twin."""
    checked_on: str

    @property
    def lost(self) -> float:
        """Points of accuracy that the twin loses, on average."""
        before, after = self.accuracies.mean(axis=0)
        return float(before - after)

    @property
    def worth_it(self) -> bool:
        """Whether it is faster and loses less than a point."""
        return self.speed > 1 and self.lost < WORTH_IT


def compared(
    original: Backbone, twin: Backbone, sizes: tuple[int, int], check: Check, progress: Progress
) -> Comparison:
    """Measure both backbones on the check's pictures."""
    kind = scenario(FEW_SHOTS)
    streams = [kind.stream(check.examples, seed) for seed in range(ORDERINGS)]
    seen = _Pair(original, twin)
    vectors = {path: seen.look(path) for path in progress(_needed(streams), "comparing")}
    accuracies = [[_accuracy(stream, vectors, which) for which in range(2)] for stream in streams]
    return Comparison(
        speed=_speed_ratio(original, twin),
        size=sizes[1] / sizes[0],
        cosine=float(np.mean([_cosine(*pair) for pair in vectors.values()])),
        map_error=seen.map_error,
        accuracies=100 * np.array(accuracies),
        checked_on=f"{len(vectors)} pictures of {check.described}",
    )


class _Pair:
    """Looks at pictures with both backbones and sums up how far the maps differ."""

    def __init__(self, original: Backbone, twin: Backbone) -> None:
        self._both = (original, twin)
        self._pool = pooling(DEFAULT_POOLING)
        self._difference = self._size = 0.0

    def look(self, path: Path) -> tuple[Embeddings, Embeddings]:
        pixels = to_pixels(path, self._both[0].input_size)[None]
        maps = [network.features(pixels) for network in self._both]
        self._difference += float(np.square(maps[1].grid - maps[0].grid).sum())
        self._size += float(np.square(maps[0].grid).sum())
        first, second = (self._pool(each)[0] for each in maps)
        return first, second

    @property
    def map_error(self) -> float:
        return float(np.sqrt(self._difference / self._size)) if self._size else 0.0


def _needed(streams: Sequence[Scenario]) -> list[Path]:
    taught = (example for stream in streams for step in stream.steps for example in step)
    asked = (e for stream in streams for test in stream.tests.values() for e in test)
    return sorted({example.path for each in (taught, asked) for example in each})


def _accuracy(
    stream: Scenario, vectors: dict[Path, tuple[Embeddings, Embeddings]], which: int
) -> float:
    clf = classifier(DEFAULT_CLASSIFIER, blocks=pooling(DEFAULT_POOLING).blocks)
    for step in stream.steps:
        for example in step:
            clf.learn(vectors[example.path][which], example.label)
    asked = [example for test in stream.tests.values() for example in test]
    best = clf.scores(np.stack([vectors[example.path][which] for example in asked])).argmax(axis=1)
    labels = clf.labels
    return float(np.mean([labels[b] == e.label for b, e in zip(best, asked, strict=True)]))


def _speed_ratio(original: Backbone, twin: Backbone) -> float:
    pixels = noise(1, original.input_size)
    before, after = shortest_in_turns(
        [lambda: original.features(pixels), lambda: twin.features(pixels)], TIMED_ROUNDS
    )
    return before / after


def _cosine(a: Embeddings, b: Embeddings) -> float:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else float(np.array_equal(a, b))
