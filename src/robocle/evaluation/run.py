"""The one loop: teach a stream, ask after each step, and sum up.

Transfer and forgetting make sense where each step brings a new label; where labels repeat, as in
videos of things seen before, there is the curve over the steps alone.
"""

import hashlib
import resource
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from robocle.classifiers import StreamingClassifier, classifier
from robocle.evaluation import metrics
from robocle.evaluation.embedding import View, content_hash, corrupted_pixels, loaded_backbone
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.evaluation_set import CHUNK, Answers, Questions
from robocle.evaluation.loop import teach_classifier
from robocle.evaluation.open_set import examine
from robocle.evaluation.scenarios import Scenario
from robocle.evaluation.trial import Trial
from robocle.images.views import views
from robocle.pooling import pooling
from robocle.timing import timed
from robocle.types import Example

TIMED = 10


def run_trial(trial: Trial, cache: EmbeddingCache, unreadable: frozenset[str]) -> dict[str, Any]:
    """Teach a trial's stream and ask; gives the result as plain data."""
    stream = _readable(trial.stream(), unreadable)
    clf = classifier(trial.classifier, blocks=pooling(trial.pooling).blocks)
    tests = {
        (name, corruption): Questions(examples, trial.view(corruption), trial.pooling, cache)
        for name, examples in stream.tests.items()
        for corruption in trial.tested
    }
    first = next(iter(tests.values()))
    after_steps: list[Answers] = []
    seconds = 0.0
    for step in stream.steps:
        seconds += _teach(clf, step, trial, cache)
        if trial.each_step and len(stream.steps) > 1:
            after_steps.append(first.ask(clf))
    final = {name: questions.ask(clf) for name, questions in tests.items()}
    asked = tests if trial.examined else {}
    examined = {f"{name}/{seen}": examine(clf, each) for (name, seen), each in asked.items()}
    return {
        **_accuracies(trial, final),
        **_step_metrics(after_steps, clf.labels, by_label=brings_a_label_each_step(stream)),
        **_costs(trial, clf, stream, seconds, first),
        **({"examined": examined} if examined else {}),
        "labels": len(clf.labels),
        "taught": sum(map(len, stream.steps)),
        "asked": sum(len(test) for test in stream.tests.values()),
        "data_sha256": _data_hash(stream),
    }


def brings_a_label_each_step(stream: Scenario) -> bool:
    """Whether every step teaches at least one label that no step before it did."""
    seen: set[str] = set()
    for step in stream.steps:
        fresh = {example.label for example in step} - seen
        if not fresh:
            return False
        seen |= fresh
    return True


def _readable(stream: Scenario, unreadable: frozenset[str]) -> Scenario:
    """The stream without the pictures that cannot be read."""

    def kept(examples: tuple[Example, ...]) -> tuple[Example, ...]:
        return tuple(example for example in examples if str(example.path) not in unreadable)

    steps = tuple(kept(step) for step in stream.steps)
    tests = {name: kept(test) for name, test in stream.tests.items()}
    return Scenario(tuple(step for step in steps if step), tests)


def _teach(
    clf: StreamingClassifier, step: tuple[Example, ...], trial: Trial, cache: EmbeddingCache
) -> float:
    """Teach one step; gives the seconds that learning took."""
    seconds = 0.0
    for at in range(0, len(step), CHUNK):
        chunk = step[at : at + CHUNK]
        keys = trial.lesson_view.keys([example.path for example in chunk], trial.pooling)
        labels = [example.label for example in chunk]
        seconds += teach_classifier(clf, zip(cache.read(keys), labels, strict=True))
    return seconds


def _accuracies(trial: Trial, final: dict[tuple[str, str], Answers]) -> dict[str, Any]:
    """By test set and corruption, and the mean over those that differ from what was taught."""
    micro = {f"{name}/{corruption}": answers.micro for (name, corruption), answers in final.items()}
    macro = {
        f"{name}/{corruption}": float(np.mean(list(answers.by_label().values())))
        for (name, corruption), answers in final.items()
    }
    home = next(iter(final))[0]
    other = [
        answers.micro
        for (name, corruption), answers in final.items()
        if (name, corruption) != (home, trial.taught)
    ]
    return {
        "accuracy": micro,
        "macro_accuracy": macro,
        "average_other_domain": float(np.mean(other)) if other else None,
    }


def _step_metrics(
    after_steps: list[Answers], labels: tuple[str, ...], *, by_label: bool
) -> dict[str, Any]:
    """The curve over the steps; transfer and forgetting only where each step brings a label."""
    if not (after_steps and by_label):
        return {"per_step": [answers.micro for answers in after_steps]} if after_steps else {}
    matrix = np.full((len(after_steps), len(labels)), np.nan)
    for row, answers in enumerate(after_steps):
        for label, accuracy in answers.by_label().items():
            matrix[row, labels.index(label)] = accuracy
    return {
        "per_step": [answers.micro for answers in after_steps],
        "plasticity": metrics.plasticity(matrix),
        "forgetting": metrics.forgetting(matrix),
        "backward_transfer": metrics.backward_transfer(matrix),
        "paper_forg": metrics.paper_forg(matrix),
        "paper_bwt": metrics.paper_bwt(matrix),
    }


def _costs(
    trial: Trial, clf: StreamingClassifier, stream: Scenario, seconds: float, asked: Questions
) -> dict[str, Any]:
    """Times of the whole pipeline: looking at a picture is timed afresh, the cache aside."""
    looking = _seconds_to_look(trial, trial.view("clean"), stream.steps[0])
    looking_at_lesson = _seconds_to_look(trial, trial.lesson_view, stream.steps[0])
    vectors = asked.some(TIMED)
    clf.scores(vectors[:1])
    answering = median(timed(partial(clf.scores, vector[None])) for vector in vectors)
    taught = sum(map(len, stream.steps))
    return {
        "training_minutes": (taught * looking_at_lesson + seconds) / 60,
        "frames_per_second": 1 / (looking + answering),
        "milliseconds_to_look": 1e3 * looking,
        "milliseconds_to_learn": 1e3 * seconds / taught,
        "milliseconds_to_answer": 1e3 * answering,
        "state_bytes": sum(array.nbytes for array in clf.state().arrays.values()),
        "process_peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _seconds_to_look(trial: Trial, view: View, examples: tuple[Example, ...]) -> float:
    """The median time from file to vector over a few pictures."""
    network, pool = loaded_backbone(trial.backbone), pooling(trial.pooling)
    make_views = views(view.views)

    def look(example: Example) -> None:
        pixels = corrupted_pixels(example.path, network.input_size, view)
        pool(network.features(make_views(pixels)))

    return median(timed(partial(look, each)) for each in (examples * TIMED)[:TIMED])


def _data_hash(stream: Scenario) -> str:
    """The hash of every picture and label of the stream."""
    everything = [example for step in stream.steps for example in step]
    everything += [example for test in stream.tests.values() for example in test]
    lines = sorted(f"{example.label} {content_hash(example.path)}" for example in everything)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
