"""Every classifier against a plain PyTorch one: `python benchmarks/bench_classifiers.py`.

Like a robot, each learns a sample, then predicts one, and so on. No classifier may be slower than
its plain implementation in float64, which is our precision; float32 is shown for comparison (its
inverses are too coarse to agree). Scores must agree, and all predicted labels must be equal.

References that invert full matrices take seconds per step, and each step takes the same time: they
are timed over the last few samples of the stream, ours over the last hundred. icarl draws at
random: it is compared on as many samples as it replays completely. All run on one thread.
"""

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from bench_slda import Stream, stream
from measuring import alternating, finish, report, seconds, workload
from plain_torch_classifiers import PLAIN, PlainClassifier
from threadpoolctl import threadpool_limits

from robocle.classifiers import StreamingClassifier, classifier

INVERTING = ("slda", "sqda", "fecam", "klda", "ridge")
TOLERANCE = 1e-6  # of the largest score
OUR_STEPS, PLAIN_STEPS = 100, 2
# The number of samples up to which icarl replays everything it has stored and discards nothing.
CERTAIN = {"icarl:buffer=1000": 51, "icarl:per_class=2": 40}


def chunk(samples: Stream, first: int, last: int) -> Stream:
    embeddings, rows, queries = samples
    return embeddings[first:last], rows[first:last], queries


def learned(spec: str, samples: Stream) -> StreamingClassifier:
    ours = classifier(spec)
    for embedding, row in zip(*samples[:2], strict=True):
        ours.learn(embedding, str(row))
    return ours


def plain_learned(spec: str, samples: Stream) -> PlainClassifier:
    embeddings, rows, queries = samples
    plain = PLAIN[spec](embeddings.shape[1], len(queries), torch.float64)
    for embedding, row in zip(
        torch.tensor(embeddings, dtype=torch.float64), rows.tolist(), strict=True
    ):
        plain.learn(embedding, row)
    return plain


def our_steps(samples: Stream, start: Callable[[], StreamingClassifier]) -> Callable[[], None]:
    """Return a function that learns and predicts, sample by sample."""
    embeddings, rows, queries = samples
    labels = [str(row) for row in rows]

    def steps() -> None:
        ours = start()
        for embedding, label in zip(embeddings, labels, strict=True):
            ours.learn(embedding, label)
            ours.scores(queries[:1])

    return steps


def plain_steps(
    samples: Stream, start: Callable[[], PlainClassifier], dtype: torch.dtype
) -> Callable[[], None]:
    embeddings, query = (torch.tensor(array, dtype=dtype) for array in (samples[0], samples[2][:1]))
    rows = samples[1].tolist()

    def steps() -> None:
        plain = start()
        for embedding, row in zip(embeddings, rows, strict=True):
            plain.learn(embedding, row)
            plain.scores(query)

    return steps


def agreed(spec: str, samples: Stream) -> tuple[PlainClassifier, float]:
    """Return the float64 reference after the stream, and the distance of its scores from ours."""
    samples = chunk(samples, 0, CERTAIN.get(spec, len(samples[0])))
    plain = plain_learned(spec, samples)
    expected = plain.scores(torch.tensor(samples[2], dtype=torch.float64)).numpy()
    found = learned(spec, samples).scores(samples[2])
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error <= TOLERANCE, f"{spec}: scores differ by {error:.1e}, allowed {TOLERANCE:.0e}"
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all(), f"{spec}: labels differ"
    return plain, error


def times_of_all_steps(spec: str, samples: Stream, rounds: int) -> list[float]:
    """Return seconds per step over the whole stream: ours, plain in float64 and in float32."""
    embeddings, _, queries = samples
    works: list[Callable[[], object]] = [our_steps(samples, partial(classifier, spec))]
    for dtype in (torch.float64, torch.float32):
        start = partial(PLAIN[spec], embeddings.shape[1], len(queries), dtype)
        works.append(plain_steps(samples, start, dtype))
    return [best / len(embeddings) for best in alternating(works, rounds)]


def times_of_last_steps(spec: str, samples: Stream, plain: PlainClassifier) -> list[float]:
    """Return seconds per step at the end of the stream: ours, and the reference's."""
    count = len(samples[0])
    steps = min(OUR_STEPS, count // 2)
    ours = learned(spec, chunk(samples, 0, count - steps))
    mine = seconds(our_steps(chunk(samples, count - steps, count), lambda: ours)) / steps
    last = chunk(samples, count - PLAIN_STEPS, count)
    theirs = seconds(plain_steps(last, lambda: plain, torch.float64)) / PLAIN_STEPS
    return [mine, theirs, 0]


def learn_then_predict(samples: Stream, rounds: int) -> None:
    count, width = samples[0].shape
    workload(f"learn one, predict one: width {width}, {len(samples[2])} classes, {count} samples")
    for spec in PLAIN:
        plain, error = agreed(spec, samples)
        if spec in INVERTING:
            times = times_of_last_steps(spec, samples, plain)
        else:
            times = times_of_all_steps(spec, samples, rounds)
        mine, double, single = (f"{time * 1e6:,.0f}" if time else "-" for time in times)
        detail = (
            f"us per step: ours {mine}, float64 {double}, float32 {single}; equal to {error:.0e}"
        )
        report(spec, times[1] / times[0], 1, at_least=True, detail=detail)


def first_prediction(samples: Stream) -> None:
    """Time the first prediction after a stream, against one full inverse per class."""
    workload(f"first prediction after {len(samples[0])} samples, {len(samples[2])} inverses")
    plain = plain_learned("sqda", samples)
    query = samples[2][:1]
    tensor = torch.tensor(query, dtype=torch.float64)
    inverting = seconds(lambda: plain.scores(tensor))
    for spec in ("snb", "sqda"):
        first = min(seconds(partial(learned(spec, samples).scores, query)) for _ in range(3))
        detail = f"{first * 1e3:,.2f} ms against {inverting * 1e3:,.0f} ms"
        report(spec, inverting / first, 50, at_least=True, detail=detail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    quick = parser.parse_args().quick
    samples = stream(96, 40, 200) if quick else stream(1280, 40, 1000)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        learn_then_predict(samples, rounds=1 if quick else 8)
        first_prediction(samples)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
