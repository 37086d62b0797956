"""The perceptron against its rule, implemented in plain Python."""

import numpy as np
import pytest

from robocle.classifiers import classifier


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def taught_by_rule(stream: list[tuple[list[float], str]]) -> tuple[dict[str, list[float]], int]:
    """The first sample of a class becomes its weights; later only mistakes change weights."""
    weights: dict[str, list[float]] = {}
    errors = 0
    for embedding, label in stream:
        if label not in weights:
            weights[label] = list(embedding)
            continue
        predicted = max(weights, key=lambda name: dot(weights[name], embedding))
        if predicted != label:
            errors += 1
            weights[label] = [w + x for w, x in zip(weights[label], embedding, strict=True)]
            weights[predicted] = [w - x for w, x in zip(weights[predicted], embedding, strict=True)]
    return weights, errors


@pytest.mark.parametrize("seed", range(6))
def test_only_mistakes_change_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, 150)
    embeddings = rng.normal(size=(6, 8))[rows] + rng.normal(size=(150, 8))
    stream = [
        (embedding.tolist(), str(row)) for embedding, row in zip(embeddings, rows, strict=True)
    ]
    clf = classifier("perceptron")
    for embedding, label in stream:
        clf.learn(embedding, label)
    weights, errors = taught_by_rule(stream)
    assert 20 < errors < 140  # the stream has both mistakes and correct predictions
    assert clf.labels == tuple(weights)
    np.testing.assert_allclose(clf.state().arrays["weights"], list(weights.values()), atol=1e-12)
    queries = rng.normal(size=(20, 8))
    expected = [[dot(w, query) for w in weights.values()] for query in queries.tolist()]
    np.testing.assert_allclose(clf.scores(queries), expected, rtol=1e-9, atol=1e-9)


def test_a_sample_that_is_predicted_correctly_changes_nothing() -> None:
    clf = classifier("perceptron")
    clf.learn([1.0, 0.0], "a")
    clf.learn([0.0, 1.0], "b")
    before = clf.state().arrays["weights"]
    clf.learn([0.9, 0.1], "a")
    np.testing.assert_array_equal(clf.state().arrays["weights"], before)
