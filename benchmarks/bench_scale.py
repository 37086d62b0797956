"""A lesson and a prediction, however much was taught before: `python benchmarks/bench_scale.py`.

Each workload teaches many objects first. Then 50 times one more embedding is taught, and one is
predicted with its confidence. Median and slowest of these are reported, in CPU time of the thread:
other programs on the machine do not count, nor does waiting for the disk. BLAS runs on one thread.
Lessons without predictions are reported beside. In the lessons before, the memory is measured after
each: the most counts.

Seldom, a lesson has more to do: the shrinkage of a block moves to its next step, or a factor is
computed again. Lessons with other pictures than before make that happen, and are reported too. So
is the time from a state to its first calibrated prediction, which computes everything from the
samples.

The scores must equal those of a classifier that is restored from the state, which solves anew. The
published method is timed once, for one solution: every lesson makes a new one necessary.

The learner has a world, as the default one has. Its pictures show objects that are not taught.
"""

import argparse
import statistics
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from measuring import alternating, finish, report, seconds, workload
from numpy.typing import NDArray
from stub_network import LAYOUT, STUB, WIDTH
from threadpoolctl import threadpool_limits

from robocle import Learner, Prediction
from robocle.backbones.world import World
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.slda import StreamingLDA
from robocle.profiles import DEFAULT

# The largest workload has more pictures than are kept by default. Folding is not measured here.
SPEC = f"{DEFAULT.classifier},keep=20000,blocks={LAYOUT}"
BEFORE = 250  # lessons before, in which the memory of a large state is measured
LESSONS = 50
MOST_RARE = 130  # lessons in which blocks are factorised: at least one renewal each
HISTORY = 60  # further lessons without predictions
FOLDER = tempfile.TemporaryDirectory()
TOLERANCE = 1e-5
WORLD_OBJECTS, WORLD_PICTURES = 256, 320  # as many as the world of the default backbone has
SQUARES = 8 * (3 * 1280**2 + 2 * 672**2)  # bytes of one square array per block
SMALL_STATE = 20_000_000  # bytes: what a learner needs beside a smaller state does not grow with it


@dataclass(frozen=True)
class Size:
    """How much was taught, and how many milliseconds one more lesson and a prediction may take."""

    labels: int
    shots: int
    median: float
    slowest: float
    opening: float | None = None


SIZES = (
    Size(10, 5, 6, 40),
    Size(50, 5, 15, 60),
    Size(50, 30, 10, 40, 250),
    Size(200, 20, 15, 60),
    Size(1000, 5, 40, 150),
    Size(2000, 5, 80, 300, 2500),
)
QUICK_SIZES = (Size(10, 5, 6, 40), Size(40, 6, 10, 40))


class Objects:
    """Embeddings like a network's: classes lie near each other, and few directions vary much."""

    def __init__(self, labels: int, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._spread = np.arange(1, WIDTH + 1) ** -0.5
        self._rng.shuffle(self._spread)
        self.centres = 0.5 + 0.08 * self._rng.normal(size=(labels, WIDTH)).astype(np.float32)

    def embedding(self, label: int, spread: float = 1.0) -> NDArray[np.float32]:
        noise = spread * self._spread * self._rng.normal(size=WIDTH)
        return np.asarray(np.maximum(self.centres[label] + noise, 0), np.float32)


def taught(objects: Objects, shots: int) -> Learner:
    """Return a learner, open in a file, that was taught so many pictures of each object."""
    path = Path(tempfile.mkdtemp(dir=FOLDER.name)) / "home.robocle"
    learner = opened(path)
    labels = range(len(objects.centres))
    for _ in range(shots):
        learner.teach_embeddings(
            [objects.embedding(label) for label in labels], [f"object {label}" for label in labels]
        )
    return learner


def opened(path: Path) -> Learner:
    learner = Learner.open(path, STUB, pooling=DEFAULT.pooling, classifier=SPEC)
    learner._learned.world = world()
    return learner


@cache
def world() -> World:
    """Return a world of embeddings like the objects', of which none is taught.

    As the network, it belongs to the process and not to a learner: its memory is not counted.
    """
    others = Objects(WORLD_PICTURES, seed=1)
    pictures = np.array([others.embedding(label) for label in range(WORLD_PICTURES)])
    return World(STUB.name, STUB.fingerprint, DEFAULT.pooling, "plain", pictures, WORLD_OBJECTS,
                 temperature=0.045, gain=1.0, source="random")  # fmt: skip


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
    with learner._learned.classifier() as classifier:
        return classifier.state().nbytes


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


def rare_times(learner: Learner, objects: Objects, labels: int) -> tuple[list[float], int, int]:
    """Return the milliseconds of the lessons that factorise a block, and why they did.

    Returns:
        The times, and how often the shrinkage moved to another step, or a factor was renewed.
    """
    times, steps, renewals, before = [], 0, 0, factors(learner)
    for number in range(MOST_RARE):
        shown = objects.embedding(number * 7 % labels, spread=1 + 3 * number / MOST_RARE)
        query = objects.embedding(number % labels)
        start = time.thread_time()
        learner.teach_embedding(shown, f"object {number * 7 % labels}")
        learner.predict_embedding(query)
        took, now = 1e3 * (time.thread_time() - start), factors(learner)
        stepped = sum(old[1] != new[1] for old, new in zip(before, now, strict=True))
        renewed = sum(old[0] != new[0] for old, new in zip(before, now, strict=True)) - stepped
        if stepped or renewed:
            times.append(took)
        steps, renewals, before = steps + stepped, renewals + renewed, now
    return times, steps, renewals


def factors(learner: Learner) -> list[tuple[int, float]]:
    """Return the identity and the ridge of the inverse in each block."""
    with learner._learned.classifier() as classifier:
        assert isinstance(classifier, StreamingLDA)
        following = classifier._following
        assert following is not None
        assert following._solution is not None
        return [(id(each), each.ridge) for each, _ in following._solution._built.values()]


def opening_time(learner: Learner, objects: Objects) -> float:
    """Return the milliseconds from a state file to its first calibrated prediction."""
    path, query, times = learner._learned.state.path, objects.embedding(0), []
    assert path is not None
    for _ in range(3):
        start = time.thread_time()
        with opened(path) as again:
            again.predict_embedding(query)
        times.append(1e3 * (time.thread_time() - start))
    return min(times)


def history_times(learner: Learner, objects: Objects, labels: int) -> list[float]:
    """Return the milliseconds of each of further lessons, in CPU time. Each can be undone."""
    times, before = [], learner.undoable
    for number in range(HISTORY):
        shown = objects.embedding(number % labels)
        start = time.thread_time()
        learner.teach_embedding(shown, f"object {number % labels}")
        times.append(1e3 * (time.thread_time() - start))
    assert learner.undoable == before + HISTORY, "a lesson cannot be undone"
    return times


def require_equal_answers(learner: Learner, objects: Objects) -> float:
    """Return the largest difference of scores to a classifier that solves anew."""
    with learner._learned.classifier() as followed:
        again = CLASSIFIERS.build(SPEC)
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
    lesson_times(taught(Objects(2), 2), Objects(2), 2)  # imports what it needs
    opening = opening_time(taught(objects, size.shots), objects) if size.opening else 0.0
    objects = Objects(size.labels)
    tracemalloc.start()
    learner = taught(objects, size.shots)
    first = 1e3 * seconds(lambda: learner.predict_embedding(objects.embedding(0)))
    in_use = most_memory(learner, objects, size.labels)
    tracemalloc.stop()
    times = lesson_times(learner, objects, size.labels)
    median, slowest = statistics.median(times), max(times)
    history = max(history_times(learner, objects, size.labels))
    lesson_times(learner, objects, size.labels)
    error = require_equal_answers(learner, objects)
    rare, steps, renewals = rare_times(learner, objects, size.labels)
    report("median", median, size.median, at_least=False, unit=" ms")
    report("slowest", slowest, size.slowest, at_least=False, unit=" ms",
           detail=f"first prediction {first:.0f} ms; scores equal a new solution's to {error:.0e}",
           )  # fmt: skip
    report("slowest without prediction", history, size.slowest, at_least=False, unit=" ms")
    report("slowest that factorises", max(rare), size.slowest, at_least=False, unit=" ms",
           detail=f"{steps} steps of the shrinkage, {renewals} renewed factors; "
           f"median of these {statistics.median(rare):.0f} ms")  # fmt: skip
    if size.opening:
        report("from a state to a prediction", opening, size.opening, at_least=False, unit=" ms")
    state = state_size(learner)
    most = 3 * state + SQUARES
    report("memory in use", in_use / most, 1, at_least=False, unit="x the limit",
           detail=f"{in_use / 1e6:.0f} MB; three times the samples' {state / 1e6:.0f} MB and one "
           f"square per block, {SQUARES / 1e6:.0f} MB")  # fmt: skip
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
    learner = taught(objects, 2)
    query = objects.embedding(7)
    predicted = learner.predict_embedding(query)
    with learner._learned.classifier() as classifier:
        weights, bias = classifier.linear()
        expected = classifier.labels[int((weights @ query + bias).argmax())]
    assert predicted.nearest == expected, "float32 changes the label"
    matrix = weights.astype(np.float32)
    took, alone = alternating(
        [lambda: learner.predict_embedding(query), lambda: matrix @ query], 30, time.thread_time
    )
    reading = min(seconds_to_read(learner.predict_embedding(query)) for _ in range(30))
    report("a prediction", 1e3 * took, 10, at_least=False, unit=" ms")
    report("a prediction against BLAS alone", took / alone, 1.1, at_least=False,
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
