"""Running one trial: teach its stream, evaluate after each step, and compute the metrics."""

import math
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import Any

import numpy as np

from robocle._internal.timing import shortest_times, timed
from robocle.classifiers import StreamingClassifier
from robocle.evaluation.embedding import EmbeddingSetup, corrupted_pixels, loaded_backbone
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.evaluation_set import CHUNK, EvaluationSet, evaluate_open_set
from robocle.evaluation.keys import content_hash, key
from robocle.evaluation.metrics import (
    METRICS,
    Costs,
    Measured,
    Pictures,
    StepAccuracy,
    accuracy,
    class_accuracies,
    stored,
)
from robocle.evaluation.scenarios import Stream
from robocle.evaluation.teach_and_test import Evaluation, evaluate, teach_classifier
from robocle.evaluation.trial import Trial
from robocle.learner.pipeline import Pipeline
from robocle.types import Embeddings, Example

TIMED = 10
# How long two speeds are compared: at most this many rounds, none of them after so many seconds.
ROUNDS, SECONDS = 4, 1.0
# Time spent in this process. Windows counts that in steps that are too coarse.
CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time


def run_trial(trial: Trial, cache: EmbeddingCache, unreadable: frozenset[str]) -> dict[str, Any]:
    """Run one trial.

    Args:
        trial: What to run.
        cache: Holds the embeddings of all pictures of the trial.
        unreadable: The paths of pictures to leave out.

    Returns:
        All metrics of the trial by their names in `METRICS`, and counts, ready for JSON.
    """
    stream = _readable(trial.stream(), unreadable)
    clf = trial.new_classifier()
    world = trial.world(clf)
    if world is not None:
        clf.use_world(world.pictures)
    tests = _evaluation_sets(trial, stream, cache)
    first = next(iter(tests.values()))
    steps: list[StepAccuracy] = []
    seconds = 0.0
    for step in stream.steps:
        before = _accuracy_before(clf, step, first) if steps else {}
        seconds += _teach(clf, step, trial, cache)
        if trial.evaluate_each_step and len(stream.steps) > 1:
            found = first.evaluate(clf)
            overall = accuracy(found.truth, found.predicted)
            steps.append(StepAccuracy(overall, _by_label(found), before))
    open_set = tests if trial.open_set else {}
    measured = Measured(
        tests={name: test.evaluate(clf) for name, test in tests.items()},
        taught_as=f"{next(iter(stream.tests))}/{trial.taught}",
        costs=_costs(trial, clf, stream, seconds, first),
        steps=steps,
        each_step_adds_labels=each_step_adds_labels(stream),
        open_set={name: evaluate_open_set(clf, test, world) for name, test in open_set.items()},
    )
    kept = stored(measured, _pictures(trial, tests, clf.labels))
    return {**metric_values(measured), **_counts(clf, stream), "measured": kept}


def each_step_adds_labels(stream: Stream) -> bool:
    """Return whether every step teaches at least one label that no step before it taught."""
    seen: set[str] = set()
    for step in stream.steps:
        fresh = {example.label for example in step} - seen
        if not fresh:
            return False
        seen |= fresh
    return True


def _readable(stream: Stream, unreadable: frozenset[str]) -> Stream:
    """Return the stream without the pictures that cannot be read."""

    def kept(examples: tuple[Example, ...]) -> tuple[Example, ...]:
        return tuple(example for example in examples if str(example.path) not in unreadable)

    steps = tuple(kept(step) for step in stream.steps)
    tests = {name: kept(test) for name, test in stream.tests.items()}
    return Stream(tuple(step for step in steps if step), tests)


def _evaluation_sets(
    trial: Trial, stream: Stream, cache: EmbeddingCache
) -> dict[str, EvaluationSet]:
    """Return every test set under every corruption, by "test set/corruption"."""
    return {
        f"{name}/{corruption}": EvaluationSet(
            examples, trial.test_setup(corruption), trial.pooling, cache
        )
        for name, examples in stream.tests.items()
        for corruption in trial.tested
    }


def _teach(
    clf: StreamingClassifier, step: tuple[Example, ...], trial: Trial, cache: EmbeddingCache
) -> float:
    """Teach one step and return the seconds that learning took."""
    seconds = 0.0
    for start in range(0, len(step), CHUNK):
        chunk = step[start : start + CHUNK]
        keys = trial.teaching_setup.keys([example.path for example in chunk], trial.pooling)
        labels = [example.label for example in chunk]
        seconds += teach_classifier(clf, zip(cache.read(keys), labels, strict=True))
    return seconds


def _accuracy_before(
    clf: StreamingClassifier, step: tuple[Example, ...], test: EvaluationSet
) -> dict[str, float]:
    """Return the accuracy on the labels that a step will teach first."""
    fresh = {example.label for example in step}.difference(clf.labels)
    return _by_label(evaluate(clf.predict, test.batches(sorted(fresh.intersection(test.labels)))))


def _by_label(found: Evaluation[str]) -> dict[str, float]:
    labels = list(dict.fromkeys(found.truth))
    accuracies = class_accuracies(found.truth, found.predicted, labels).tolist()
    return dict(zip(labels, accuracies, strict=True))


def _pictures(
    trial: Trial, tests: Mapping[str, EvaluationSet], labels: Collection[str]
) -> dict[str, Pictures]:
    """Return the pictures of each test set whose labels were taught."""
    found = {}
    for name, test in tests.items():
        known = [example for example in test.examples if example.label in set(labels)]
        digest = key([(example.label, content_hash(example.path)) for example in known])[:16]
        found[name.partition("/")[0]] = Pictures(digest, trial.places(known))
    return found


def metric_values(measured: Measured) -> dict[str, Any]:
    """Return the metrics that a trial has, by their names."""
    found = {name: metric.compute(measured) for name, metric in METRICS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _costs(
    trial: Trial,
    clf: StreamingClassifier,
    stream: Stream,
    seconds_to_learn: float,
    test: EvaluationSet,
) -> Costs:
    """Measure the whole pipeline; embedding is timed anew, without the cache."""
    embeddings = test.sample(TIMED)
    clf.scores(embeddings[:1])
    return Costs(
        embedding=_seconds_to_embed(trial, trial.test_setup("clean"), stream.steps[0]),
        embedding_taught=_seconds_to_embed(trial, trial.teaching_setup, stream.steps[0]),
        learning=seconds_to_learn,
        predicting=median(timed(partial(clf.scores, each[None])) for each in embeddings),
        taught=len(stream.taught),
        state_bytes=clf.state().nbytes,
        peak_bytes=_peak_bytes(),
        feature_size=embeddings.shape[1] / _channels(trial.backbone),
        relative_speed=_relative_speed(trial, clf, stream.steps[0][0]),
    )


@cache
def _channels(backbone: str) -> int:
    """Return the number of channels of a backbone's feature map."""
    network = loaded_backbone(backbone)
    blank = np.zeros((1, network.input_size, network.input_size, 3), np.uint8)
    return int(network.features(blank).grid.shape[2])


def _peak_bytes() -> float:
    """Return the most memory that this process has used; NaN on Windows, which does not tell."""
    if sys.platform == "win32":
        return math.nan
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS reports bytes, Linux kB


def _seconds_to_embed(trial: Trial, setup: EmbeddingSetup, examples: tuple[Example, ...]) -> float:
    """Return the median time from file to embedding over a few pictures."""
    embed = _embedding_of(trial.backbone, trial.pooling, setup)
    return median(timed(partial(embed, each)) for each in (examples * TIMED)[:TIMED])


def _relative_speed(trial: Trial, clf: StreamingClassifier, example: Example) -> float:
    """Return the FPS of the trial, divided by that of AVG pooling without a classifier.

    The two are timed alternately and in processor time, so that trials can be compared although
    other programs ran beside them.
    """
    setup = trial.test_setup("clean")
    embed = _embedding_of(trial.backbone, trial.pooling, setup)
    plainly = _embedding_of(trial.backbone, "avg", replace(setup, views="plain"))
    own, plain = shortest_times(
        [lambda: clf.scores(embed(example)), lambda: plainly(example)], ROUNDS, SECONDS, CLOCK
    )
    return plain / own


def _embedding_of(
    backbone: str, spec: str, setup: EmbeddingSetup
) -> Callable[[Example], Embeddings]:
    """Return a function from a picture's file to its embedding by a pooling, without the cache."""
    network = loaded_backbone(backbone)
    pipeline = Pipeline.build(network, spec, setup.views)
    return lambda each: pipeline.embed([corrupted_pixels(each.path, network.input_size, setup)])


def _counts(clf: StreamingClassifier, stream: Stream) -> dict[str, Any]:
    return {
        "labels": len(clf.labels),
        "pictures_taught": len(stream.taught),
        "pictures_tested": len(stream.tested),
        "copies_tested": len(stream.copies()),
        "data_sha256": _data_hash(stream),
    }


def _data_hash(stream: Stream) -> str:
    """Return the hash of every picture and label of the stream."""
    everything = [*stream.taught, *stream.tested]
    return key(sorted((example.label, content_hash(example.path)) for example in everything))
