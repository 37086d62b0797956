"""CBCL against its rules, implemented in plain Python, and invariants of its centroids."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from base_code import Centroids
from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.cbcl import CentroidConcepts

Floats = NDArray[np.float64]
Point = list[float]
OPTIONS = [
    {"threshold": 17.0, "centroids": 44, "k": 1},
    {"threshold": 3.0, "centroids": 12, "k": 1},
    {"threshold": 3.0, "centroids": 12, "k": 5},
    {"threshold": 0.0, "centroids": 9, "k": 3},
    {"threshold": 2.5, "centroids": 3, "k": 2},  # fewer centroids than classes
    {"threshold": 0.0, "centroids": 1, "k": 100},
]


@dataclass
class Centroid:
    place: Point
    owner: str
    size: int = 1

    def absorb(self, place: Point, size: int) -> None:
        total = self.size + size
        self.place = [
            (self.size * a + size * b) / total for a, b in zip(self.place, place, strict=True)
        ]
        self.size = total


class Rules:
    """The rules of docs/classifiers.md, in plain Python."""

    def __init__(self, threshold: float, centroids: int, k: int) -> None:
        self.threshold, self.limit, self.k = threshold, centroids, k
        self.centroids: list[Centroid] = []
        self.counts: dict[str, int] = {}

    def learn(self, embedding: Point, label: str) -> None:
        self.counts[label] = self.counts.get(label, 0) + 1
        own = [centroid for centroid in self.centroids if centroid.owner == label]
        nearest = min(own, key=lambda centroid: math.dist(centroid.place, embedding), default=None)
        if nearest is not None and math.dist(nearest.place, embedding) < self.threshold:
            nearest.absorb(embedding, 1)
            return
        self.centroids.append(Centroid(embedding, label))
        if len(self.centroids) > self.limit:
            self.merge()

    def merge(self) -> None:
        pairs = [
            (math.dist(one.place, other.place), index, later)
            for index, one in enumerate(self.centroids)
            for later, other in enumerate(self.centroids)
            if index < later and one.owner == other.owner
        ]
        if pairs:
            _, index, later = min(pairs)
            dropped = self.centroids.pop(later)
            self.centroids[index].absorb(dropped.place, dropped.size)

    def scores(self, query: Point) -> list[float]:
        ranked = sorted(self.centroids, key=lambda centroid: math.dist(centroid.place, query))
        votes = dict.fromkeys(self.counts, 0.0)
        for centroid in ranked[: self.k]:
            votes[centroid.owner] += 1 / math.dist(centroid.place, query)
        return [votes[label] / count for label, count in self.counts.items()]


def stream(samples: int, classes: int, width: int, seed: int) -> list[tuple[Point, str]]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, classes, samples)
    embeddings = rng.normal(0, 2, (classes, width))[rows] + rng.normal(size=(samples, width))
    return [(embedding.tolist(), str(row)) for embedding, row in zip(embeddings, rows, strict=True)]


def spec(options: dict[str, float]) -> str:
    return "cbcl:" + ",".join(f"{key}={value}" for key, value in options.items())


def centroids(clf: StreamingClassifier) -> tuple[Floats, list[str], list[int]]:
    assert isinstance(clf, CentroidConcepts)
    clf._make_current()
    owners = [clf.labels[row] for row in clf._owners]
    return clf._places, owners, clf._sizes.astype(int).tolist()


@pytest.mark.parametrize("options", OPTIONS, ids=spec)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_follows_the_rules(options: dict[str, float], seed: int) -> None:
    clf = classifier(spec(options))
    rules = Rules(**options)  # type: ignore[arg-type]
    queries = np.random.default_rng(seed + 9).normal(0, 2, (4, 6))
    for embedding, label in stream(120, 6, 6, seed):
        clf.learn(embedding, label)
        rules.learn(embedding, label)
        places, owners, sizes = centroids(clf)
        assert owners == [centroid.owner for centroid in rules.centroids]
        assert sizes == [centroid.size for centroid in rules.centroids]
        np.testing.assert_allclose(places, [c.place for c in rules.centroids], atol=1e-10)
        expected = [rules.scores(query) for query in queries.tolist()]
        np.testing.assert_allclose(clf.scores(queries), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=spec)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_of_the_published_variant_follows_the_public_code(
    options: dict[str, float], seed: int
) -> None:
    clf = classifier(spec(options) + ",variant=published")
    reference = Centroids(6, options["threshold"], int(options["centroids"]), int(options["k"]))
    queries = np.random.default_rng(seed + 9).normal(0, 2, (4, 6))
    for embedding, label in stream(120, 6, 6, seed):
        clf.learn(embedding, label)
        reference.learn(np.array(embedding), clf.labels.index(label))
        places, owners, sizes = centroids(clf)
        for row, name in enumerate(clf.labels):
            own = [index for index, owner in enumerate(owners) if owner == name]
            assert [sizes[index] for index in own] == reference.sizes[row]
            np.testing.assert_allclose(places[own], reference.places[row], atol=1e-10)
        np.testing.assert_allclose(
            clf.scores(queries), reference.scores(queries), rtol=1e-9, atol=1e-12
        )


def test_a_sample_on_a_centroid_scores_highest_and_stays_finite() -> None:
    clf = classifier("cbcl:threshold=0,centroids=4,k=4")
    clf.learn([1.0, 2.0], "a")
    clf.learn([3.0, 4.0], "b")
    scores = clf.scores([[3.0, 4.0]])
    assert np.isfinite(scores).all()
    assert scores.argmax() == 1
