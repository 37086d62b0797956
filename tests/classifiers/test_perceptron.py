"""The perceptron against its rule, written out in plain Python."""

import numpy as np
import pytest

from robocle.classifiers import classifier


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def taught_by_rule(stream: list[tuple[list[float], str]]) -> tuple[dict[str, list[float]], int]:
    """The first sample of a class is its weights; later only an error moves two of them."""
    weights: dict[str, list[float]] = {}
    errors = 0
    for vector, label in stream:
        if label not in weights:
            weights[label] = list(vector)
            continue
        answer = max(weights, key=lambda name: dot(weights[name], vector))
        if answer != label:
            errors += 1
            weights[label] = [w + x for w, x in zip(weights[label], vector, strict=True)]
            weights[answer] = [w - x for w, x in zip(weights[answer], vector, strict=True)]
    return weights, errors


@pytest.mark.parametrize("seed", range(6))
def test_weights_move_by_mistakes_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, 150)
    vectors = rng.normal(size=(6, 8))[rows] + rng.normal(size=(150, 8))
    stream = [(vector.tolist(), str(row)) for vector, row in zip(vectors, rows, strict=True)]
    clf = classifier("perceptron")
    for vector, label in stream:
        clf.learn(vector, label)
    weights, errors = taught_by_rule(stream)
    assert 20 < errors < 140  # the stream tries both
    assert clf.labels == tuple(weights)
    np.testing.assert_allclose(clf.state().arrays["weights"], list(weights.values()), atol=1e-12)
    queries = rng.normal(size=(20, 8))
    expected = [[dot(w, query) for w in weights.values()] for query in queries.tolist()]
    np.testing.assert_allclose(clf.scores(queries), expected, rtol=1e-9, atol=1e-9)


def test_a_sample_that_is_recognised_changes_nothing() -> None:
    clf = classifier("perceptron")
    clf.learn([1.0, 0.0], "a")
    clf.learn([0.0, 1.0], "b")
    before = clf.state().arrays["weights"]
    clf.learn([0.9, 0.1], "a")
    np.testing.assert_array_equal(clf.state().arrays["weights"], before)
