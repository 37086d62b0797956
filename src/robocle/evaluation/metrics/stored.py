"""What a trial measured, as JSON: every metric can be computed from it again.

Predictions are stored as numbers of labels, picture by picture, and accuracies after each step as
counts of right predictions. Arrays are little-endian, compressed with zlib, in base64. The pictures
of a test are sorted by label and path, so two trials with the same `pictures` tested the same
pictures in the same order.
"""

import math
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.evaluation.metrics.recognition import OpenSetPredictions
from robocle.evaluation.metrics.table import Costs, Measured, StepAccuracy
from robocle.evaluation.teach_and_test import Evaluation

NOT_TESTED = -1
"""Stands for the number of right predictions of a label that was not tested after a step."""
FLAGS = ("is_known", "rejected", "correct")


@dataclass(frozen=True)
class Pictures:
    """The pictures of a test set that were predicted, in order."""

    digest: str
    """The key of their labels and contents."""
    places: NDArray[np.int64]
    """The place of each in the listing of the data set."""


def load_pictures(found: Mapping[str, Any], name: str) -> Pictures:
    """Return the pictures of a test set, in the order of its predictions, from `stored`."""
    pictures = found["pictures"][name]
    steps = _unpacked(pictures["places"], "<i4")
    return Pictures(pictures["digest"], np.cumsum(steps, dtype=np.int64))


def right_predictions(found: Mapping[str, Any], name: str) -> NDArray[np.bool_]:
    """Return whether each picture of a test was predicted right, from `stored`."""
    test = found["tests"][name]
    numbers, times = np.array(test["truth"], np.int64).reshape(-1, 2).T
    predicted = _unpacked(test["predicted"], _smallest(len(found["labels"])))
    right: NDArray[np.bool_] = predicted == np.repeat(numbers, times)
    return right


def stored(measured: Measured, pictures: Mapping[str, Pictures]) -> dict[str, Any]:
    """Return what a trial measured, ready for JSON. `load_measured` reads it again.

    Args:
        measured: What was measured.
        pictures: The pictures of each test set, in the order of the predictions.
    """
    labels = _labels(measured)
    return {
        "labels": labels,
        "tests": {name: _stored_test(test, labels) for name, test in measured.tests.items()},
        "pictures": {
            name: {"digest": each.digest, "places": _packed(np.diff(each.places, prepend=0), "<i4")}
            for name, each in pictures.items()
        },
        "taught_as": measured.taught_as,
        "costs": asdict(measured.costs),
        "right": _packed(_counts(measured, labels, "by_label"), "<i4"),
        "right_before": _packed(_counts(measured, labels, "before"), "<i4"),
        "each_step_adds_labels": measured.each_step_adds_labels,
        "open_set": {name: _stored_open_set(each) for name, each in measured.open_set.items()},
    }


def load_measured(found: Mapping[str, Any]) -> Measured:
    """Return what a trial measured from `stored`: `record["result"]["measured"]` of a result.

    Example:
        >>> from robocle.evaluation.metrics import METRICS
        >>> tests = {"test/clean": Evaluation(("mug", "pen"), ("mug", "mug"), 0.0)}
        >>> costs = Costs(0.1, 0.1, 1.0, 0.1, 2, 100, 100.0, 1.0, 1.0)
        >>> again = load_measured(stored(Measured(tests, "test/clean", costs), {}))
        >>> METRICS["accuracy"].compute(again)
        {'test/clean': 50.0}
    """
    labels = found["labels"]
    tests = {name: _load_test(test, labels) for name, test in found["tests"].items()}
    costs: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in found["costs"].items()
    }
    return Measured(
        tests,
        found["taught_as"],
        Costs(**costs),
        list(_steps(found, labels, Counter(next(iter(tests.values())).truth))),
        found["each_step_adds_labels"],
        {name: _load_open_set(each) for name, each in found["open_set"].items()},
    )


def _labels(measured: Measured) -> list[str]:
    """Return all labels that were taught and tested or predicted, sorted."""
    seen = (each for test in measured.tests.values() for each in (*test.truth, *test.predicted))
    return sorted({*seen})


def _stored_test(test: Evaluation[str], labels: Sequence[str]) -> dict[str, Any]:
    number = {label: place for place, label in enumerate(labels)}
    runs = _runs([number[label] for label in test.truth])
    predicted = [number[label] for label in test.predicted]
    return {"truth": runs, "predicted": _packed(predicted, _smallest(len(labels)))}


def _load_test(found: Mapping[str, Any], labels: Sequence[str]) -> Evaluation[str]:
    truth = [labels[number] for number, times in found["truth"] for _ in range(times)]
    predicted = _unpacked(found["predicted"], _smallest(len(labels)))
    return Evaluation(tuple(truth), tuple(labels[number] for number in predicted), 0.0)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return each number with how often it comes in a row: pictures are sorted by label.

    >>> _runs([4, 4, 4, 7])
    [(4, 3), (7, 1)]
    """
    return [(number, len(list(same))) for number, same in groupby(numbers)]


def _counts(measured: Measured, labels: Sequence[str], field: str) -> NDArray[np.int32]:
    """Return the number of right predictions after or before each step, per label."""
    total = Counter(next(iter(measured.tests.values())).truth)
    accuracies: Iterable[Mapping[str, float]] = (getattr(each, field) for each in measured.steps)
    rows = [
        [round(step[name] * total[name] / 100) if name in step else NOT_TESTED for name in labels]
        for step in accuracies
    ]
    return np.array(rows, np.int32)


def _steps(
    found: Mapping[str, Any], labels: Sequence[str], total: Counter[str]
) -> Iterator[StepAccuracy]:
    after, before = (
        _unpacked(found[name], "<i4").reshape(-1, max(len(labels), 1)).tolist()
        for name in ("right", "right_before")
    )
    for right, right_before in zip(after, before, strict=True):
        pictures = sum(total[each] for each, n in zip(labels, right, strict=True) if n >= 0)
        yield StepAccuracy(
            100 * sum(n for n in right if n >= 0) / pictures if pictures else math.nan,
            _accuracies(labels, right, total),
            _accuracies(labels, right_before, total),
        )


def _accuracies(
    labels: Sequence[str], right: Sequence[int], total: Counter[str]
) -> dict[str, float]:
    pairs = zip(labels, right, strict=True)
    return {label: 100 * n / total[label] for label, n in pairs if n != NOT_TESTED}


def _stored_open_set(found: OpenSetPredictions) -> dict[str, str]:
    flags = sum(getattr(found, name).astype(np.uint8) << bit for bit, name in enumerate(FLAGS))
    return {
        "score": _packed(found.score, "<f4"),
        "confidence": _packed(found.confidence, "<f4"),
        "flags": _packed(flags, "<u1"),
    }


def _load_open_set(found: Mapping[str, str]) -> OpenSetPredictions:
    flags = _unpacked(found["flags"], "<u1")
    values: dict[str, Any] = {
        name: _unpacked(found[name], "<f4").astype(np.float64) for name in ("score", "confidence")
    }
    values |= {name: (flags >> bit) & 1 == 1 for bit, name in enumerate(FLAGS)}
    return OpenSetPredictions(**values)


def _smallest(count: int) -> str:
    """Return the smallest type that numbers below a count fit into."""
    return "<u1" if count <= 2**8 else "<u2" if count <= 2**16 else "<u4"


def _packed(values: ArrayLike, kind: str) -> str:
    array = np.asarray(values).astype(kind)
    return b64encode(zlib.compress(array.tobytes(), 9)).decode()


def _unpacked(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(zlib.decompress(b64decode(text)), kind)
