"""Our classifiers beside the paper's base code: both learn one seeded stream, sample by sample.

`CLASSIFIER_CASES` is what the tests check and what the table in docs/paper-and-code.md shows. The
pooling and the metrics follow: the base code does not have them, and the paper is their reference.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import paper_formulas
from base_code import (
    Centroids,
    Floats,
    NaiveBayes,
    NearestMean,
    OneVersusRest,
    Perceptron,
    Reference,
    Replay,
    Softmax,
    Stored,
    StreamingLda,
    StreamingQda,
)
from robocle._internal.randomness import keyed_rng
from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.finetune import SoftmaxLayer
from robocle.classifiers.icarl import OnlineICaRL
from robocle.evaluation import metrics
from robocle.poolings import pooling
from robocle.types import FeatureMaps

CLASSES, WIDTH, SHOTS, MORE = 12, 40, 5, 90
Batch = tuple[Floats, list[int]]


@dataclass(frozen=True)
class ClassifierCase:
    """A method, our spec of it, its reference, and where the two differ."""

    method: str
    spec: str
    reference: Callable[[], Reference]
    deviations: str = ""
    default: str = ""
    """The default form of the method, where that is another one."""


@dataclass(frozen=True)
class Agreement:
    """The largest difference, relative to the largest score, and how many predictions agree."""

    difference: float
    equal: int
    compared: int


def initial_weights() -> Floats:
    """Our initial weights of all classes: a reference must start from the same ones."""
    rows = [keyed_rng(0, "softmax row", row).normal(0, 0.01, WIDTH) for row in range(CLASSES)]
    return np.array(rows)


CLASSIFIER_CASES = (
    ClassifierCase("NCM", "ncm", lambda: NearestMean(CLASSES, WIDTH)),
    ClassifierCase("perceptron", "perceptron", lambda: Perceptron(CLASSES, WIDTH)),
    ClassifierCase(
        "SOvR",
        "sovr",
        lambda: OneVersusRest(CLASSES, WIDTH),
        "0.5 where p + q is 0, in place of NaN",
    ),
    ClassifierCase(
        "SLDA",
        "slda:scatter=published,shrinkage=1e-4",
        lambda: StreamingLda(CLASSES, WIDTH),
        "the code computes in float32, this reference in float64",
        "slda",
    ),
    ClassifierCase(
        "SQDA",
        "sqda:shared=0.5,shrinkage=1e-4",
        lambda: StreamingQda(CLASSES, WIDTH),
        "not in the base code: the reference is our reading of the paper, by full covariances",
    ),
    ClassifierCase(
        "SNB",
        "snb:variant=published",
        lambda: NaiveBayes(CLASSES, WIDTH),
        default="snb",
    ),
    ClassifierCase(
        "CBCL",
        "cbcl:variant=published,threshold=4,centroids=30",
        lambda: Centroids(CLASSES, threshold=4, limit=30, k=1),
        "with more classes than centroids the code fails, and ours keeps one centroid per class",
        "cbcl:threshold=4,centroids=30",
    ),
    ClassifierCase(
        "fine-tuning",
        f"finetune:classes={CLASSES}",
        lambda: Softmax(initial_weights()),
        "given the same initial weights",
        "finetune",
    ),
    ClassifierCase(
        "iCaRL",
        f"icarl:buffer=60,classes={CLASSES},variant=published",
        lambda: Replay(initial_weights(), limit=60),
        "given the same initial weights and the same random draws from the buffer",
    ),
    ClassifierCase(
        "iCaRL (2pc)",
        f"icarl:per_class=2,classes={CLASSES},variant=published",
        lambda: Replay(initial_weights(), limit=2 * CLASSES),
        "as above: a buffer of 2 samples times the number of classes, not 2 of each class",
    ),
)


def labelled_stream(seed: int = 0) -> tuple[Floats, list[int], Floats]:
    """Samples like a network's, their classes, and queries: class by class, then in any order."""
    rng = np.random.default_rng(seed)
    rows = [*np.repeat(np.arange(CLASSES), SHOTS), *rng.integers(0, CLASSES, MORE)]
    centres = rng.normal(0, 1, (CLASSES, WIDTH))
    samples = np.maximum(centres[rows] + 0.8 * rng.normal(size=(len(rows), WIDTH)), 0)
    queries = np.maximum(centres + 0.8 * rng.normal(size=centres.shape), 0)
    return samples, [int(row) for row in rows], queries


def agreement(case: ClassifierCase, seed: int = 0, spec: str = "") -> Agreement:
    """Teach the stream to both, and compare all scores and predictions after every sample."""
    samples, rows, queries = labelled_stream(seed)
    clf, reference = classifier(spec or case.spec), case.reference()
    difference, equal, compared = 0.0, 0, 0
    with recorded_batches() as batches:
        for sample, row in zip(samples, rows, strict=True):
            clf.learn(sample, str(row))
            found = clf.scores(queries)
            if isinstance(reference, Replay):
                reference.replay(*batches[-1], stored_samples(clf))
            else:
                reference.learn(sample, row)
            expected = reference.scores(queries)
            difference = max(difference, np.abs(found - expected).max() / np.abs(expected).max())
            equal += int((found.argmax(axis=1) == expected.argmax(axis=1)).sum())
            compared += len(queries)
    return Agreement(difference, equal, compared)


@contextmanager
def recorded_batches() -> Iterator[list[Batch]]:
    """Record every batch that a softmax layer learns from, in order."""
    batches: list[Batch] = []
    step = SoftmaxLayer.step

    def recorded(layer: SoftmaxLayer, batch: Floats, rows: NDArray[np.int64]) -> None:
        batches.append((batch[:, :-1].copy(), rows.tolist()))
        step(layer, batch, rows)

    with patch.object(SoftmaxLayer, "step", recorded):
        yield batches


def stored_samples(clf: StreamingClassifier) -> list[Stored]:
    """The samples that a classifier with exemplar replay has stored, with their classes."""
    assert isinstance(clf, OnlineICaRL)
    clf._make_current()
    return [(s[:-1].tobytes(), row) for s, row in zip(clf._stored, clf._owners, strict=True)]


def moments_difference(form: str) -> float:
    """The largest difference of our moments from eq. 1, relative to the largest of each block."""
    rng = np.random.default_rng(0)
    grids = rng.gamma(1.5, 1.0, (8, 49, 64)).astype(np.float32)
    found = pooling(f"moments:r=3,form={form}")(FeatureMaps(grids)).reshape(8, 3, 64)
    wide = grids.astype(np.float64)
    expected = np.array([paper_formulas.moments(grid, 3, form) for grid in wide]).reshape(8, 3, 64)
    return float((np.abs(found - expected) / np.abs(expected).max(axis=2, keepdims=True)).max())


def metric_differences() -> dict[str, float]:
    """The largest difference of each metric from plain loops, in points, by its function."""
    rng = np.random.default_rng(0)
    found: dict[str, float] = defaultdict(float)

    def compare(name: str, ours: float, expected: float) -> None:
        found[name] = max(found[name], abs(ours - expected))

    for _ in range(20):
        history = np.where(np.tri(9, dtype=bool), rng.uniform(0, 100, (9, 9)), np.nan)
        for name, expected in paper_formulas.step_metrics(history.tolist()).items():
            compare(name, getattr(metrics, name)(history), expected)
        whole = rng.uniform(0, 100, (9, 9))
        expected = paper_formulas.forward_transfer(whole.tolist())
        compare("forward_transfer", metrics.forward_transfer(np.diagonal(whole, 1)), expected)
        one, two = rng.uniform(0, 90, (2, 9)).tolist()
        expected = paper_formulas.mean_step_gain(one, two)
        compare("mean_step_gain", metrics.mean_step_gain(one, two), expected)
        expected = paper_formulas.room_aware_gain(one[0], two[0])
        compare("room_aware_gain", metrics.room_aware_gain(one[0], two[0]), expected)
        row = rng.uniform(0, 100, 5).tolist()
        expected = paper_formulas.avg_other_domain(row, 2)
        compare("avg_other_domain", metrics.avg_other_domain(row, 2), expected)
        truth, predicted = (rng.choice(["mug", "pan", "pen"], 50).tolist() for _ in range(2))
        expected = paper_formulas.accuracy(truth, predicted)
        compare("accuracy", metrics.accuracy(truth, predicted), expected)
    return dict(found)
