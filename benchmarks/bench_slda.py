"""SLDA against the published update and pseudo-inverse: `python benchmarks/bench_slda.py`.

Four workloads: a few shots at the default learner's width (the scatter as rows), a stream across
the switch to a matrix, a long stream, and the same beside the time that BLAS alone needs for the
sums, a ratio that does not depend on the machine. No sample is kept, as in the paper. The time of
the reference over a long stream is extrapolated from its first samples: each of its updates costs
the same. Both sides run on one thread, as on a robot whose other cores are busy.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from measuring import (
    alternating,
    finish,
    peak_megabytes,
    report,
    require_agreement,
    seconds,
    workload,
)
from numpy.typing import NDArray
from scipy.linalg import blas
from slda_reference import TorchSLDA, float64_scores
from threadpoolctl import threadpool_limits

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.scatter import PENDING

PUBLISHED = "slda:scatter=published,shrinkage=1e-4,keep=0"
TIMED_REFERENCE_UPDATES = 60

Stream = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]


def stream(width: int, classes: int, samples: int, seed: int = 0) -> Stream:
    """Return embeddings like a network's (not negative, many zeros), their rows, and queries."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(classes), rng.integers(0, classes, samples - classes)])
    centres = rng.normal(0, 1, (classes, width)).astype(np.float32)
    noise = rng.normal(0, 1, (samples, width)).astype(np.float32)
    embeddings = np.maximum(centres[rows] + noise, 0)
    queries = np.maximum(centres + rng.normal(0, 1, (classes, width)).astype(np.float32), 0)
    return embeddings, rows, queries


def learned(embeddings: NDArray[np.float32], rows: NDArray[np.int64]) -> StreamingClassifier:
    ours = classifier(PUBLISHED)
    for embedding, row in zip(embeddings, rows, strict=True):
        ours.learn(embedding, str(row))
    return ours


def learning_times(embeddings: NDArray[np.float32], rows: NDArray[np.int64]) -> tuple[float, float]:
    """Return the seconds to learn all embeddings: ours, and the reference's, extrapolated."""
    reference = TorchSLDA(embeddings.shape[1], int(rows.max()) + 1)
    timed = min(TIMED_REFERENCE_UPDATES, len(embeddings))
    tensors = torch.from_numpy(embeddings)

    def reference_updates() -> None:
        for index in range(timed):
            reference.learn(tensors[index], int(rows[index]))

    mine, theirs = alternating([lambda: learned(embeddings, rows), reference_updates], rounds=4)
    return mine, theirs * len(embeddings) / timed


def reference_times(
    embeddings: NDArray[np.float32], query: NDArray[np.float32]
) -> tuple[float, float]:
    """Return the seconds of a prediction of the reference, without and with learning a sample."""
    reference = TorchSLDA(embeddings.shape[1], 1)
    deviations = torch.from_numpy(embeddings[: 2 * embeddings.shape[1]])
    reference.covariance = deviations.T @ deviations / len(deviations)
    tensor = torch.from_numpy(query[None])

    def predict() -> None:
        reference.weights = None
        reference.scores(tensor)

    def learn_then_predict() -> None:
        reference.learn(deviations[0], 0)
        reference.scores(tensor)

    first, both = alternating([predict, learn_then_predict], rounds=2)
    return first, both


def first_prediction(
    ours: StreamingClassifier,
    embeddings: NDArray[np.float32],
    rows: NDArray[np.int64],
    query: NDArray[np.float32],
) -> float:
    """Return the seconds of the first prediction after many samples, which solves from scratch."""
    for embedding, row in zip(embeddings[:100], rows[:100], strict=True):
        ours.learn(embedding, str(row))
    return seconds(lambda: ours.scores(query[None]))


def teach_then_predict(
    ours: StreamingClassifier,
    embeddings: NDArray[np.float32],
    rows: NDArray[np.int64],
    query: NDArray[np.float32],
) -> float:
    """Return the mean seconds of learning one sample and predicting once, over many samples.

    The mean and not the minimum, so that every refactorisation is included.
    """

    def run() -> None:
        for embedding, row in zip(embeddings, rows, strict=True):
            ours.learn(embedding, str(row))
            ours.scores(query[None])

    return seconds(run) / len(embeddings)


def few_shots(width: int, classes: int, shots: int) -> None:
    workload(f"few shots: width {width}, {classes} classes x {shots}")
    embeddings, rows, queries = stream(width, classes, classes * shots)
    require_agreement(
        learned(embeddings, rows).scores(queries), float64_scores(embeddings, rows, queries), 1e-5
    )
    ours = learned(embeddings[:-5], rows[:-5])
    ours.scores(queries)
    mine = teach_then_predict(ours, embeddings[-5:], rows[-5:], queries[0])
    _, theirs = reference_times(embeddings, queries[0])
    report("teach-then-predict", theirs / mine, 5000, at_least=True)
    peak = peak_megabytes(lambda: learned(embeddings, rows).scores(queries))
    report("extra memory", peak, 16, at_least=False, unit=" MB")
    print(f"  ours {mine * 1e3:.2f} ms, reference {theirs * 1e3:,.0f} ms")


def across_the_switch(width: int, samples: int) -> None:
    workload(f"across the switch: width {width}, {samples} samples")
    embeddings, rows, queries = stream(width, 40, samples)
    require_agreement(
        learned(embeddings, rows).scores(queries), float64_scores(embeddings, rows, queries), 1e-5
    )
    mine, theirs = learning_times(embeddings, rows)
    report("learning", theirs / mine, 100, at_least=True)
    mine, theirs = mine / samples, theirs / samples
    print(f"  ours {mine * 1e6:.0f} us per sample, reference {theirs * 1e3:.1f} ms")


def long_stream(width: int, samples: int) -> None:
    workload(f"long stream: width {width}, {samples} samples, 40 classes")
    embeddings, rows, queries = stream(width, 40, samples)
    mine, theirs = learning_times(embeddings, rows)
    report("learning", theirs / mine, 150, at_least=True)
    kept = len(embeddings) - 200
    ours = learned(embeddings[:kept], rows[:kept])
    first = min(first_prediction(ours, embeddings, rows, queries[0]) for _ in range(3))
    their_first, their_both = reference_times(embeddings, queries[0])
    report("first prediction after a teach", their_first / first, 15, at_least=True)
    both = teach_then_predict(ours, embeddings[kept:], rows[kept:], queries[0])
    report("teach-then-predict", their_both / both, 100, at_least=True)
    print(f"  ours {mine * 1e6 / samples:.0f} us per sample, first {first * 1e3:.0f} ms, "
          f"then {both * 1e3:.1f} ms; reference {theirs / samples * 1e3:.1f} ms, "
          f"{their_first * 1e3:.0f} ms, {their_both * 1e3:.0f} ms")  # fmt: skip
    require_agreement(
        learned(embeddings, rows).scores(queries), float64_scores(embeddings, rows, queries), 1e-5
    )


def near_the_limit(width: int, samples: int) -> None:
    """Compare learning with the sum of squares alone: the same batches, by BLAS, in CPU time."""
    workload(f"learning: width {width}, {samples} samples")
    embeddings, rows, _ = stream(width, 40, samples)
    batches = np.array_split(embeddings.astype(np.float64), samples // PENDING)
    total = np.zeros((width, width), order="F")

    def sums_alone() -> None:
        for batch in batches:
            blas.dsyrk(1.0, batch.T, beta=1.0, c=total, lower=1, overwrite_c=1)

    works = [lambda: learned(embeddings, rows), sums_alone]
    mine, limit = alternating(works, rounds=4, clock=time.thread_time)
    report("learning against the sums alone", mine / limit, 1.3, at_least=False)
    print(f"  ours {mine * 1e6 / samples:.0f} us per sample, BLAS {limit * 1e6 / samples:.0f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    workloads: list[Callable[[], None]] = [
        lambda: few_shots(3840, 22, 5),
        lambda: across_the_switch(1728, 2000),
        lambda: long_stream(1728, 20_000),
        lambda: near_the_limit(1728, 20_000),
        lambda: near_the_limit(3840, 8000),
    ]
    quick = parser.parse_args().quick
    if quick:
        workloads = [lambda: few_shots(384, 22, 5), lambda: long_stream(256, 2000)]
        workloads.append(lambda: near_the_limit(256, 2000))
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for workload in workloads:
            workload()
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
