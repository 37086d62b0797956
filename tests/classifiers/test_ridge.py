"""Ridge regression against scikit-learn's and against the normal equations."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.random_features import rectified_features

Floats = NDArray[np.float64]


def stream(samples: int, width: int, classes: int, seed: int = 0) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, classes, samples)
    vectors = rng.normal(size=(classes, width))[rows] + rng.normal(size=(samples, width))
    return np.maximum(vectors, 0), [str(row) for row in rows]


def taught(spec: str, vectors: Floats, labels: list[str]) -> StreamingClassifier:
    clf = classifier(spec)
    for vector, label in zip(vectors, labels, strict=True):
        clf.learn(vector, label)
    return clf


def targets(labels: list[str]) -> Floats:
    names = list(dict.fromkeys(labels))
    return np.array([[float(label == name) for name in names] for label in labels])


def normal_equations(
    vectors: Floats, labels: list[str], queries: Floats, strength: float
) -> Floats:
    ridge = strength * (vectors**2).sum() / vectors.shape[1]
    gram = vectors.T @ vectors + ridge * np.eye(vectors.shape[1])
    return np.asarray(queries @ np.linalg.inv(gram) @ vectors.T @ targets(labels))


def form(clf: StreamingClassifier) -> str:
    return "compressed" if "basis" in clf.state().arrays else "dense"


def assert_equal_scores(found: Floats, expected: Floats, tolerance: float) -> None:
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("strength", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize(("samples", "expected_form"), [(12, "compressed"), (200, "dense")])
def test_scores_equal_scikit_learns_ridge(
    samples: int, expected_form: str, strength: float
) -> None:
    vectors, labels = stream(samples, 48, 5)
    queries = stream(30, 48, 5, seed=1)[0]
    clf = taught(f"ridge:strength={strength}", vectors, labels)
    alpha = strength * (vectors**2).sum() / 48
    reference = Ridge(alpha=alpha, fit_intercept=False).fit(vectors, targets(labels))
    assert_equal_scores(clf.scores(queries), reference.predict(queries), 1e-9)
    assert form(clf) == expected_form


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_teaching_and_asking_alternate_across_the_switch(strength: float) -> None:
    vectors, labels = stream(160, 48, 5)
    queries = stream(10, 48, 5, seed=1)[0]
    clf = classifier(f"ridge:strength={strength}")
    forms = []
    for index, (vector, label) in enumerate(zip(vectors, labels, strict=True), start=1):
        clf.learn(vector, label)
        expected = normal_equations(vectors[:index], labels[:index], queries, strength)
        assert_equal_scores(clf.scores(queries), expected, 1e-5)
        forms.append("dense" if hasattr(clf._form, "add_deviations") else "compressed")  # type: ignore[attr-defined]
    assert forms[:20] == ["compressed"] * 20
    assert forms[-20:] == ["dense"] * 20


@pytest.mark.parametrize("features", [30, 400])
def test_with_features_it_is_ridge_on_the_rectified_projections(features: int) -> None:
    vectors, labels = stream(120, 20, 4)
    queries = stream(30, 20, 4, seed=1)[0]
    clf = classifier(f"ridge:features={features},seed=3")
    for index, (vector, label) in enumerate(zip(vectors, labels, strict=True)):
        clf.learn(vector, label)
        if index % 10 == 0:
            clf.scores(queries)
    spread, asked = (rectified_features(rows, features, 3) for rows in (vectors, queries))
    assert_equal_scores(clf.scores(queries), normal_equations(spread, labels, asked, 1.0), 1e-5)


def test_a_forgotten_class_leaves_as_if_it_had_never_been_taught() -> None:
    vectors, labels = stream(60, 24, 4)
    clf = taught("ridge", vectors, labels)
    gone = clf.labels[2]
    assert clf.forgets_exactly
    clf.forget(gone)
    kept = [place for place, label in enumerate(labels) if label != gone]
    left = [labels[place] for place in kept]
    expected = normal_equations(vectors[kept], left, vectors, 1.0)
    order = [list(dict.fromkeys(left)).index(label) for label in clf.labels]
    assert_equal_scores(clf.scores(vectors), expected[:, order], 1e-6)
