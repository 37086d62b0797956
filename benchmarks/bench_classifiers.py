"""Every classifier against a plain PyTorch one: `python benchmarks/bench_classifiers.py`.

The work is a robot's: learn a sample, then recognise a vector, and so on. No method may be slower
than a plain implementation of itself in float64, the precision of ours; float32 is shown beside it
(its inverses are too coarse to agree). Scores must agree, and predicted labels fully.

References that invert full matrices take seconds a step, and each step takes them the same: they
are timed over the last few samples of the stream, ours over the last hundred. icarl draws at
random: it is compared on as many samples as leave nothing to chance. All run on one thread.
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
# The samples up to which icarl replays all it has stored and throws nothing out.
CERTAIN = {"icarl:buffer=1000": 51, "icarl:per_class=2": 40}


def part(samples: Stream, first: int, last: int) -> Stream:
    vectors, rows, queries = samples
    return vectors[first:last], rows[first:last], queries


def learnt(spec: str, samples: Stream) -> StreamingClassifier:
    ours = classifier(spec)
    for vector, row in zip(*samples[:2], strict=True):
        ours.learn(vector, str(row))
    return ours


def plainly_learnt(spec: str, samples: Stream) -> PlainClassifier:
    vectors, rows, queries = samples
    plain = PLAIN[spec](vectors.shape[1], len(queries), torch.float64)
    for vector, row in zip(torch.tensor(vectors, dtype=torch.float64), rows.tolist(), strict=True):
        plain.learn(vector, row)
    return plain


def our_steps(samples: Stream, start: Callable[[], StreamingClassifier]) -> Callable[[], None]:
    """Learn and recognise, sample by sample."""
    vectors, rows, queries = samples
    labels = [str(row) for row in rows]

    def steps() -> None:
        ours = start()
        for vector, label in zip(vectors, labels, strict=True):
            ours.learn(vector, label)
            ours.scores(queries[:1])

    return steps


def plain_steps(
    samples: Stream, start: Callable[[], PlainClassifier], dtype: torch.dtype
) -> Callable[[], None]:
    vectors, query = (torch.tensor(array, dtype=dtype) for array in (samples[0], samples[2][:1]))
    rows = samples[1].tolist()

    def steps() -> None:
        plain = start()
        for vector, row in zip(vectors, rows, strict=True):
            plain.learn(vector, row)
            plain.scores(query)

    return steps


def agreed(spec: str, samples: Stream) -> tuple[PlainClassifier, float]:
    """The float64 reference after the stream, and how far its scores are from ours."""
    samples = part(samples, 0, CERTAIN.get(spec, len(samples[0])))
    plain = plainly_learnt(spec, samples)
    expected = plain.scores(torch.tensor(samples[2], dtype=torch.float64)).numpy()
    found = learnt(spec, samples).scores(samples[2])
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error <= TOLERANCE, f"{spec}: scores differ by {error:.1e}, allowed {TOLERANCE:.0e}"
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all(), f"{spec}: labels differ"
    return plain, error


def times_of_all_steps(spec: str, samples: Stream, rounds: int) -> list[float]:
    """Seconds a step over the whole stream: ours, plain in float64 and in float32."""
    vectors, _, queries = samples
    works: list[Callable[[], object]] = [our_steps(samples, partial(classifier, spec))]
    for dtype in (torch.float64, torch.float32):
        start = partial(PLAIN[spec], vectors.shape[1], len(queries), dtype)
        works.append(plain_steps(samples, start, dtype))
    return [best / len(vectors) for best in alternating(works, rounds)]


def times_of_last_steps(spec: str, samples: Stream, plain: PlainClassifier) -> list[float]:
    """Seconds a step at the end of the stream: ours, and the reference that has learnt it all."""
    count = len(samples[0])
    steps = min(OUR_STEPS, count // 2)
    ours = learnt(spec, part(samples, 0, count - steps))
    mine = seconds(our_steps(part(samples, count - steps, count), lambda: ours)) / steps
    last = part(samples, count - PLAIN_STEPS, count)
    theirs = seconds(plain_steps(last, lambda: plain, torch.float64)) / PLAIN_STEPS
    return [mine, theirs, 0]


def learn_then_recognise(samples: Stream, rounds: int) -> None:
    count, width = samples[0].shape
    workload(f"learn one, recognise one: width {width}, {len(samples[2])} classes, {count} samples")
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
    """The first answer after a stream, against what a full inverse a class takes."""
    workload(f"first prediction after {len(samples[0])} samples, {len(samples[2])} inverses")
    plain = plainly_learnt("sqda", samples)
    query = samples[2][:1]
    tensor = torch.tensor(query, dtype=torch.float64)
    inverting = seconds(lambda: plain.scores(tensor))
    for spec in ("snb", "sqda"):
        first = min(seconds(partial(learnt(spec, samples).scores, query)) for _ in range(3))
        detail = f"{first * 1e3:,.2f} ms against {inverting * 1e3:,.0f} ms"
        report(spec, inverting / first, 50, at_least=True, detail=detail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    quick = parser.parse_args().quick
    samples = stream(96, 40, 200) if quick else stream(1280, 40, 1000)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        learn_then_recognise(samples, rounds=1 if quick else 8)
        first_prediction(samples)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
