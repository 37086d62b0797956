"""The int8 twin of a backbone: how much speed it gains and accuracy it loses.

Some pictures of a folder calibrate the quantisation, others test the result. Each picture is read
once and embedded with both backbones, as the default learner embeds a picture to recognise. The
few-shot accuracy is that of its classifier, taught five pictures per label, averaged over several
orderings.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle._internal.timing import random_pixels, shortest_times
from robocle._internal.wording import plural
from robocle.backbones import Backbone, earlier_channels
from robocle.backbones.adding.int8 import quantised
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.classifiers import StreamingClassifier, classifier
from robocle.errors import BackboneError, DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.metrics import accuracy
from robocle.evaluation.scenarios import Stream, scenario
from robocle.evaluation.teach_and_test import evaluate, teach_classifier
from robocle.images import to_pixels
from robocle.images.folders import pictures_under
from robocle.images.views import views
from robocle.learner.pipeline import feature_maps, pooled
from robocle.poolings import block_layout, pooling
from robocle.profiles import DEFAULT
from robocle.types import Embeddings, Example, Pixels

FEWEST, MOST = 16, 200
DIVISOR = 3  # a third of the pictures in a small folder calibrates, so that the others can test
BATCH = 4
FEW_SHOTS = "class_iid:shots=5,few=skip"
# Enough pictures to detect a difference of half a point, and few enough to test in a minute.
CHECKED, PER_LABEL = 1000, 25
ORDERINGS = 5
TIMED_ROUNDS = 20
MOST_POINTS_LOST = 1.0

Progress = Callable[[Iterable[Any], str], Iterable[Any]]
"""Wraps an iterable to show progress; its second argument says what is done."""
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


@dataclass(frozen=True)
class Int8Twin:
    """An int8 backbone that is not stored yet, and how it compares with the original."""

    manifest: Manifest
    model: bytes
    calibrated_on: int
    """The number of calibration pictures."""
    comparison: Comparison


def int8_twin(network: Backbone, folder: Path, progress: Progress) -> Int8Twin:
    """Quantise a backbone on the pictures of a folder and compare the two.

    Args:
        network: The original.
        folder: Pictures like those that the camera will take.
        progress: Wraps an iterable to show progress; its second argument says what is done.

    Raises:
        BackboneError: The backbone cannot be quantised.
        DataError: The folder has too few pictures.
    """
    if not isinstance(network, OnnxBackbone):
        raise BackboneError(f"cannot quantise {network.name}: it is not an ONNX model")
    if network.name.startswith("onnx:"):
        raise BackboneError(
            f"{network.name} needs a name: run robocle backbones add {network.name} --name NAME"
        )
    original = model_of(network)
    pictures = calibration_pictures(folder)
    batches = progress(pixel_batches(pictures, network.input_size), "calibrating")
    manifest, model = quantised(network.manifest, original, batches)
    twin = OnnxBackbone(manifest, model)
    sizes = (len(original), len(model))
    check = check_pictures(folder, pictures)
    return Int8Twin(manifest, model, len(pictures), compared(network, twin, sizes, check, progress))


@dataclass(frozen=True)
class Check:
    """Labelled pictures to test a backbone with."""

    examples: tuple[Example, ...]
    described: str
    """Which pictures these are, for the report."""


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
        self._views = views(DEFAULT.prediction_views)
        self.blocks = block_layout(self._pooling, earlier_channels(original))
        self._difference = self._size = 0.0

    def embed(self, path: Path) -> tuple[Embeddings, Embeddings]:
        pixels = to_pixels(path, self._both[0].input_size)
        maps = [feature_maps(network, self._views, [pixels]) for network in self._both]
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


def calibration_pictures(folder: Path) -> list[Path]:
    """Draw pictures from a folder and its subfolders, always the same ones.

    Raises:
        DataError: The folder has too few pictures.
        ImageError: The folder cannot be read.
    """
    found = sorted(pictures_under(folder))
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} has {plural(len(found), 'picture')}, but calibration needs {FEWEST}: give "
            "a folder with pictures like those that the camera will take"
        )
    wanted = min(MOST, max(FEWEST, len(found) // DIVISOR))
    order = keyed_rng(0, "calibration").permutation(len(found))[:wanted]
    return [found[index] for index in sorted(order)]


def pixel_batches(pictures: Sequence[Path], side: int) -> Iterator[Pixels]:
    """Yield the pixels of pictures in small batches (n, side, side, 3)."""
    for start in range(0, len(pictures), BATCH):
        yield np.stack([to_pixels(path, side) for path in pictures[start : start + BATCH]])


def check_pictures(folder: Path, calibrated: Sequence[Path]) -> Check:
    """Return labelled pictures that were not used for calibration.

    Args:
        folder: The folder that the calibration pictures are from.
        calibrated: The calibration pictures.

    Returns:
        The other pictures of the folder if it is sorted by label and has enough of them. Otherwise
        those of the rendered home that comes with robocle.
    """
    used = set(calibrated)
    with suppress(DataError):  # not sorted by label, or too few pictures to teach and test
        own = [each for each in dataset("folder").examples(folder) if each.path not in used]
        if len(scenario(FEW_SHOTS).stream(own, seed=0).steps) > 1:
            return Check(_some_of_each(own), f"{folder}, without the calibration pictures")
    return Check(_some_of_each(dataset("home").examples()), "the rendered home")


def _some_of_each(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Draw the same number of pictures for each label and split at random."""
    wanted = max(PER_LABEL, CHECKED // len({example.label for example in examples}))
    kept: Counter[tuple[str, str]] = Counter()
    chosen = []
    for index in keyed_rng(0, "check").permutation(len(examples)):
        example = examples[index]
        group = (example.label, example.split)
        kept[group] += 1
        if kept[group] <= wanted:
            chosen.append(example)
    return tuple(sorted(chosen, key=lambda example: str(example.path)))
