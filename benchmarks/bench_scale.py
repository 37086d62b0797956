"""A lesson and a prediction, however much was taught before: `python benchmarks/bench_scale.py`.

Each workload teaches many objects first. Then 50 times one more embedding is taught, and one is
predicted with its confidence. Median and slowest of these are reported, in CPU time of the thread:
other programs on the machine do not count. BLAS runs on one thread. One of them, every 100th, also
keeps a state for the undo history, which is shortened some lessons later: that is reported beside.
In the lessons before, the memory is measured after each: the most counts.

The scores must equal those of a classifier that is restored from the state, which solves anew. The
published method is timed once, for one solution: every lesson makes a new one necessary.

The learner has a world, as the default one has. Its pictures show objects that are not taught.
"""

import argparse
import statistics
import time
import tracemalloc
from dataclasses import dataclass
from functools import cache

import numpy as np
from measuring import alternating, finish, report, seconds, workload
from numpy.typing import NDArray
from stub_network import LAYOUT, STUB, WIDTH
from threadpoolctl import threadpool_limits

from robocle import Learner, Prediction
from robocle.backbones.world import SeenAgain, World
from robocle.classifiers import CLASSIFIERS, StreamingClassifier
from robocle.classifiers.state import size_of
from robocle.learner import DEFAULT_CLASSIFIER, DEFAULT_POOLING
from robocle.store import LearnerState

# Lessons before, in which the memory of a large state is measured: the undo history is shortened.
BEFORE = 250
LESSONS = 50
HISTORY = 60  # further lessons, after which the undo history has been shortened
TOLERANCE = 1e-5
WORLD_OBJECTS, WORLD_PICTURES = 256, 320  # as many as the world of the default backbone has
SMALL_STATE = 20_000_000  # bytes: what a learner needs beside a smaller state does not grow with it


@dataclass(frozen=True)
class Size:
    """How much was taught, and how many milliseconds one more lesson and a prediction may take."""

    labels: int
    shots: int
    median: float
    slowest: float


SIZES = (
    Size(10, 5, 10, 40),
    Size(50, 5, 15, 60),
    Size(50, 30, 10, 40),
    Size(200, 20, 15, 60),
    Size(1000, 5, 40, 150),
    Size(2000, 5, 80, 300),
)
QUICK_SIZES = (Size(10, 5, 10, 40), Size(40, 6, 10, 40))


class Objects:
    """Embeddings like a network's: classes lie near each other, and few directions vary much."""

    def __init__(self, labels: int, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._spread = np.arange(1, WIDTH + 1) ** -0.5
        self._rng.shuffle(self._spread)
        self.centres = 0.5 + 0.08 * self._rng.normal(size=(labels, WIDTH)).astype(np.float32)

    def embedding(self, label: int) -> NDArray[np.float32]:
        noise = self._spread * self._rng.normal(size=WIDTH)
        return np.asarray(np.maximum(self.centres[label] + noise, 0), np.float32)


def taught(objects: Objects, shots: int) -> StreamingClassifier:
    classifier = CLASSIFIERS.build(DEFAULT_CLASSIFIER, blocks=LAYOUT)
    for _ in range(shots):
        for label in range(len(objects.centres)):
            classifier.learn(objects.embedding(label), f"object {label}")
    return classifier


def learner_of(classifier: StreamingClassifier) -> Learner:
    learner = Learner(STUB, DEFAULT_POOLING, DEFAULT_CLASSIFIER)
    learner._state = LearnerState.new(learner.parts, classifier)
    learner._state.world = world()
    return learner


@cache
def world() -> World:
    """Return a world of embeddings like the objects', of which none is taught.

    As the network, it belongs to the process and not to a learner: its memory is not counted.
    """
    others = Objects(WORLD_PICTURES, seed=1)
    pictures = np.array([others.embedding(label) for label in range(WORLD_PICTURES)])
    seen_again = SeenAgain(once=0.4, several=0.5, temperature=0.045)
    return World(STUB.name, STUB.fingerprint, DEFAULT_POOLING, pictures, WORLD_OBJECTS, seen_again,
                 source="random")  # fmt: skip


def most_memory(learner: Learner, objects: Objects, labels: int) -> int:
    """Return the most bytes in use after any of some lessons and predictions."""
    most = 0
    for number in range(BEFORE if state_size(learner) > SMALL_STATE else LESSONS):
        shown, query = objects.embedding(number * 7 % labels), objects.embedding(number % labels)
        learner.teach_embedding(shown, f"object {number * 7 % labels}")
        learner.predict_embedding(query)
        most = max(most, tracemalloc.get_traced_memory()[0])
    return most


def state_size(learner: Learner) -> int:
    """Return the bytes of the classifier's state."""
    with learner._state.classifier() as classifier:
        return size_of(classifier.state().arrays)


def lesson_times(learner: Learner, objects: Objects, labels: int) -> list[float]:
    """Return the milliseconds of each lesson together with a prediction, in CPU time."""
    times = []
    for number in range(LESSONS):
        # Every tenth lesson teaches a new label.
        label = f"new {number}" if number % 10 == 9 else f"object {number * 7 % labels}"
        shown, query = objects.embedding(number * 7 % labels), objects.embedding(number % labels)
        start = time.thread_time()
        learner.teach_embedding(shown, label)
        learner.predict_embedding(query)
        times.append(1e3 * (time.thread_time() - start))
    return times


def history_times(learner: Learner, objects: Objects, labels: int) -> list[float]:
    """Return the milliseconds of each of further lessons, in CPU time."""
    times, before = [], learner.undoable
    for number in range(HISTORY):
        shown = objects.embedding(number % labels)
        start = time.thread_time()
        learner.teach_embedding(shown, f"object {number % labels}")
        times.append(1e3 * (time.thread_time() - start))
    assert learner.undoable < before + HISTORY, "the undo history was not shortened"
    return times


def require_equal_answers(learner: Learner, objects: Objects) -> float:
    """Return the largest difference of scores to a classifier that solves anew."""
    with learner._state.classifier() as followed:
        again = CLASSIFIERS.build(DEFAULT_CLASSIFIER, blocks=LAYOUT)
        again.restore(followed.state())
        again.use_world(world().pictures)
        queries = np.array([objects.embedding(label % len(objects.centres)) for label in range(20)])
        found, expected = followed.scores(queries), again.scores(queries)
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error <= TOLERANCE, f"scores differ by {error:.1e}, allowed {TOLERANCE:.0e}"
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all(), "predicted labels differ"
    return error


def measure(size: Size, *, reference: bool) -> None:
    """Report the times, the memory, and the answers of one workload."""
    workload(f"{size.labels} labels x {size.shots}")
    objects = Objects(size.labels)
    lesson_times(learner_of(taught(Objects(2), 2)), Objects(2), 2)  # imports what it needs
    tracemalloc.start()
    learner = learner_of(taught(objects, size.shots))
    first = 1e3 * seconds(lambda: learner.predict_embedding(objects.embedding(0)))
    in_use = most_memory(learner, objects, size.labels)
    tracemalloc.stop()
    times = lesson_times(learner, objects, size.labels)
    median, slowest = statistics.median(times), max(times)
    history = max(history_times(learner, objects, size.labels))
    lesson_times(learner, objects, size.labels)
    error = require_equal_answers(learner, objects)
    report("median", median, size.median, at_least=False, unit=" ms")
    report("slowest", slowest, size.slowest, at_least=False, unit=" ms",
           detail=f"first prediction {first:.0f} ms; scores equal a new solution's to {error:.0e}",
           )  # fmt: skip
    report("slowest, undo history", history, size.slowest, at_least=False, unit=" ms")
    state = state_size(learner)
    if state > SMALL_STATE:
        report("memory in use", in_use / state, 3, at_least=False, unit="x the state",
               detail=f"{in_use / 1e6:.0f} MB, state {state / 1e6:.0f} MB")  # fmt: skip
    if reference:
        against_the_reference(objects, median)


def against_the_reference(objects: Objects, milliseconds: float) -> None:
    """Compare with one solution of the published method, which every lesson makes necessary."""
    import torch
    from slda_reference import TorchSLDA

    torch.set_num_threads(1)
    theirs = TorchSLDA(WIDTH, len(objects.centres))
    shown = [objects.embedding(row % len(objects.centres)) for row in range(200)]
    deviations = torch.from_numpy(np.array(shown))
    theirs.covariance = deviations.T @ deviations / len(deviations)
    query = torch.from_numpy(objects.embedding(0)[None])
    start = time.thread_time()
    theirs.scores(query)
    solved = time.thread_time() - start
    report("against the published solution", 1e3 * solved / milliseconds, 1000, at_least=True,
           detail=f"the published solution takes {solved:.0f} s")  # fmt: skip


def many_labels(labels: int) -> None:
    """Report the time of a prediction with its confidence, beyond the backbone."""
    workload(f"prediction, {labels} labels x 2")
    objects = Objects(labels)
    learner = learner_of(taught(objects, 2))
    query = objects.embedding(7)
    predicted = learner.predict_embedding(query)
    with learner._state.classifier() as classifier:
        weights, bias = classifier.linear()
        expected = classifier.labels[int((weights @ query + bias).argmax())]
    assert predicted.nearest == expected, "float32 changes the label"
    matrix = weights.astype(np.float32)
    took, alone = alternating(
        [lambda: learner.predict_embedding(query), lambda: matrix @ query], 30, time.thread_time
    )
    reading = min(seconds_to_read(learner.predict_embedding(query)) for _ in range(30))
    report("a prediction", 1e3 * took, 10, at_least=False, unit=" ms")
    report("a prediction against BLAS alone", took / alone, 1.25, at_least=False,
           detail=f"the product of its matrix and vector takes {1e3 * alone:.1f} ms")  # fmt: skip
    report("reading all its scores and confidences", 1e3 * reading, 3, at_least=False, unit=" ms")


def seconds_to_read(predicted: Prediction) -> float:
    """Return the time of building the dicts of a prediction, which are built when first read."""
    start = time.thread_time()
    assert len(predicted.scores) == len(predicted.confidences)
    return time.thread_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    parser.add_argument("--only", type=int, metavar="LABELS", help="only workloads of this size")
    given = parser.parse_args()
    with threadpool_limits(1):
        for size in QUICK_SIZES if given.quick else SIZES:
            if given.only in (None, size.labels):
                measure(size, reference=size.shots == 30)
        labels = 600 if given.quick else 10_000
        if given.only in (None, labels):
            many_labels(labels)
    finish(demanding=not given.quick)


if __name__ == "__main__":
    main()
