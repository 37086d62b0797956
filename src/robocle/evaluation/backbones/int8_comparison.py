"""Comparison of a backbone with its int8 twin: how much speed it gains and accuracy it loses.

Each picture is read once and embedded with both. The few-shot accuracy is that of the default
pooling and classifier, taught five pictures per label, averaged over several orderings.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle._internal.timing import random_pixels, shortest_times
from robocle.backbones import Backbone, earlier_channels
from robocle.classifiers import StreamingClassifier, classifier
from robocle.evaluation.backbones.int8_pictures import FEW_SHOTS, Check
from robocle.evaluation.loop import evaluate, teach_classifier
from robocle.evaluation.metrics import accuracy
from robocle.evaluation.scenarios import Stream, scenario
from robocle.images import to_pixels
from robocle.images.views import Plain
from robocle.learner.pipeline import feature_maps, pooled
from robocle.poolings import block_layout, pooling
from robocle.profiles import DEFAULT
from robocle.types import Embeddings

ORDERINGS = 5
TIMED_ROUNDS = 20
MOST_POINTS_LOST = 1.0

Progress = Callable[[Iterable[Path], str], Iterable[Path]]
EmbeddingPairs = dict[Path, tuple[Embeddings, Embeddings]]
"""The embeddings of each picture: from the original and from the twin."""


@dataclass(frozen=True)
class Comparison:
    """How the twin compares with the original."""

    speed: float
    """How many times faster the twin is, one picture at a time."""
    size: float
    """The size of the twin relative to the original."""
    cosine: float
    """The mean cosine similarity between the embeddings of the two backbones."""
    map_error: float
    """The norm of the difference between the feature maps, relative to that of the original's."""
    accuracies: NDArray[np.float64]
    """Accuracy in percent: one row per ordering, one column each for original and twin."""
    checked_on: str
    """Which pictures the accuracies were measured on."""

    @property
    def lost(self) -> float:
        """The mean loss of accuracy, in percentage points."""
        before, after = self.accuracies.mean(axis=0)
        return float(before - after)

    @property
    def worth_it(self) -> bool:
        """Whether the twin is faster and loses less than one percentage point."""
        return self.speed > 1 and self.lost < MOST_POINTS_LOST


def compared(
    original: Backbone, twin: Backbone, sizes: tuple[int, int], check: Check, progress: Progress
) -> Comparison:
    """Measure both backbones on the pictures of a check.

    Args:
        original: The float backbone.
        twin: Its int8 twin.
        sizes: The sizes of both models in bytes.
        check: The pictures to compare on.
        progress: Wraps the pictures to show progress.
    """
    kind = scenario(FEW_SHOTS)
    streams = [kind.stream(check.examples, seed) for seed in range(ORDERINGS)]
    both = _Pair(original, twin)
    pairs = {path: both.embed(path) for path in progress(_needed(streams), "comparing")}
    classifiers = partial(classifier, DEFAULT.classifier, blocks=both.blocks)
    accuracies = [
        [_accuracy(classifiers(), stream, pairs, which) for which in range(2)] for stream in streams
    ]
    return Comparison(
        speed=_speed_ratio(original, twin),
        size=sizes[1] / sizes[0],
        cosine=float(np.mean([_cosine(*pair) for pair in pairs.values()])),
        map_error=both.map_error,
        accuracies=np.array(accuracies),
        checked_on=f"{len(pairs)} pictures of {check.described}",
    )


class _Pair:
    """Embeds pictures with both backbones and accumulates the difference of their feature maps."""

    def __init__(self, original: Backbone, twin: Backbone) -> None:
        self._both = (original, twin)
        self._pooling = pooling(DEFAULT.pooling)
        self.blocks = block_layout(self._pooling, earlier_channels(original))
        self._difference = self._size = 0.0

    def embed(self, path: Path) -> tuple[Embeddings, Embeddings]:
        pixels = to_pixels(path, self._both[0].input_size)
        maps = [feature_maps(network, Plain(), [pixels]) for network in self._both]
        self._difference += float(np.square(maps[1].grid - maps[0].grid).sum())
        self._size += float(np.square(maps[0].grid).sum())
        first, second = (pooled(self._pooling, each, 1)[0] for each in maps)
        return first, second

    @property
    def map_error(self) -> float:
        return float(np.sqrt(self._difference / self._size)) if self._size else 0.0


def _needed(streams: Sequence[Stream]) -> list[Path]:
    examples = (example for each in streams for example in (*each.taught, *each.tested))
    return sorted({example.path for example in examples})


def _accuracy(clf: StreamingClassifier, stream: Stream, pairs: EmbeddingPairs, which: int) -> float:
    teach_classifier(clf, ((pairs[each.path][which], each.label) for each in stream.taught))
    tested = stream.tested
    embeddings = np.stack([pairs[example.path][which] for example in tested])
    found = evaluate(clf.predict, [(embeddings, [example.label for example in tested])])
    return accuracy(found.truth, found.predicted)


def _speed_ratio(original: Backbone, twin: Backbone) -> float:
    pixels = random_pixels(1, original.input_size)
    before, after = shortest_times(
        [lambda: original.features(pixels), lambda: twin.features(pixels)], TIMED_ROUNDS
    )
    return before / after


def _cosine(a: Embeddings, b: Embeddings) -> float:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else float(np.array_equal(a, b))
