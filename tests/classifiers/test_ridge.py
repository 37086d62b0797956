"""Ridge regression against scikit-learn's and against the normal equations."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.shared import rectified_features

Floats = NDArray[np.float64]


def stream(samples: int, width: int, classes: int, seed: int = 0) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, classes, samples)
    embeddings = rng.normal(size=(classes, width))[rows] + rng.normal(size=(samples, width))
    return np.maximum(embeddings, 0), [str(row) for row in rows]


def taught(spec: str, embeddings: Floats, labels: list[str]) -> StreamingClassifier:
    clf = classifier(spec)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    return clf


def targets(labels: list[str]) -> Floats:
    names = list(dict.fromkeys(labels))
    return np.array([[float(label == name) for name in names] for label in labels])


def normal_equations(
    embeddings: Floats, labels: list[str], queries: Floats, strength: float
) -> Floats:
    ridge = strength * (embeddings**2).sum() / embeddings.shape[1]
    gram = embeddings.T @ embeddings + ridge * np.eye(embeddings.shape[1])
    return np.asarray(queries @ np.linalg.inv(gram) @ embeddings.T @ targets(labels))


def assert_equal_scores(found: Floats, expected: Floats, tolerance: float) -> None:
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("strength", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("samples", [12, 200])
def test_scores_equal_scikit_learns_ridge(samples: int, strength: float) -> None:
    embeddings, labels = stream(samples, 48, 5)
    queries = stream(30, 48, 5, seed=1)[0]
    clf = taught(f"ridge:strength={strength}", embeddings, labels)
    alpha = strength * (embeddings**2).sum() / 48
    reference = Ridge(alpha=alpha, fit_intercept=False).fit(embeddings, targets(labels))
    assert_equal_scores(clf.scores(queries), reference.predict(queries), 1e-9)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_teaching_and_predicting_may_alternate(strength: float) -> None:
    embeddings, labels = stream(160, 48, 5)
    queries = stream(10, 48, 5, seed=1)[0]
    clf = classifier(f"ridge:strength={strength}")
    for index, (embedding, label) in enumerate(zip(embeddings, labels, strict=True), start=1):
        clf.learn(embedding, label)
        expected = normal_equations(embeddings[:index], labels[:index], queries, strength)
        assert_equal_scores(clf.scores(queries), expected, 1e-9)


@pytest.mark.parametrize("features", [30, 400])
def test_with_features_it_is_ridge_on_the_rectified_projections(features: int) -> None:
    embeddings, labels = stream(120, 20, 4)
    queries = stream(30, 20, 4, seed=1)[0]
    clf = classifier(f"ridge:features={features},seed=3")
    for index, (embedding, label) in enumerate(zip(embeddings, labels, strict=True)):
        clf.learn(embedding, label)
        if index % 10 == 0:
            clf.scores(queries)
    projected, projected_queries = (
        rectified_features(rows, features, 3) for rows in (embeddings, queries)
    )
    assert_equal_scores(
        clf.scores(queries), normal_equations(projected, labels, projected_queries, 1.0), 1e-9
    )
