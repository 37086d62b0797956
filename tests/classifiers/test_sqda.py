"""SQDA against full matrices, against SLDA where they coincide, and against scikit-learn's QDA."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from array_lessons import taught
from base_code import StreamingQda

Floats = NDArray[np.float64]
OPTIONS = [(0.5, 1e-4), (0.5, 1e-6), (0.0, 1e-3), (1e-7, 1e-3), (0.2, 0.3), (1.0, 1e-4), (0.7, 1.0)]


def stream(counts: list[int], width: int, seed: int = 0) -> tuple[Floats, list[str]]:
    """`counts` samples per class, in random order; classes differ in mean, size and shape."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    centres = rng.normal(0, 1, (len(counts), width))
    shapes = rng.normal(0, 1 / np.sqrt(width), (len(counts), width, width))
    embeddings = [centres[row] + shapes[row] @ rng.normal(0, 1 + row, width) for row in rows]
    return np.array(embeddings), [str(row) for row in rows]


def gaussian_scores(
    embeddings: Floats, labels: list[str], queries: Floats, shared: float, shrinkage: float
) -> Floats:
    """-1/2 (d^T C^-1 d + log det C) by full covariances; classes in the order first taught."""
    names = list(dict.fromkeys(labels))
    reference = StreamingQda(len(names), embeddings.shape[1], shared, shrinkage)
    for embedding, label in zip(embeddings, labels, strict=True):
        reference.learn(embedding, names.index(label))
    return reference.scores(queries)


def assert_equal_scores(found: Floats, expected: Floats, tolerance: float = 1e-8) -> None:
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize(("shared", "shrinkage"), OPTIONS)
@pytest.mark.parametrize(
    "counts",
    [
        [1, 1, 1],  # no deviation at all
        [3, 1, 6, 2],  # fewer deviations than the width
        [9, 9, 9],  # as many as the width: 24
        [9, 9, 10],  # one more
        [40, 5, 1],  # more samples of one class than the width
        [70, 30, 50],  # over twice the width: rows have been replaced by their triangular factor
    ],
)
def test_scores_equal_those_of_full_covariances(
    counts: list[int], shared: float, shrinkage: float
) -> None:
    embeddings, labels = stream(counts, 24)
    queries = stream([5, 5], 24, seed=1)[0]
    clf = taught(f"sqda:shared={shared},shrinkage={shrinkage}", embeddings, labels)
    for rows in (queries, embeddings):
        expected = gaussian_scores(embeddings, labels, rows, shared, shrinkage)
        assert_equal_scores(clf.scores(rows), expected)


@pytest.mark.parametrize("samples", [6, 60])
@pytest.mark.parametrize("shrinkage", [1e-4, 0.1, 1.0])
def test_a_fully_shared_covariance_ranks_labels_as_slda_does(
    samples: int, shrinkage: float
) -> None:
    embeddings, labels = stream([samples] * 4, 24)
    queries = stream([20], 24, seed=2)[0]
    found = taught(f"sqda:shared=1,shrinkage={shrinkage}", embeddings, labels).scores(queries)
    linear = taught(f"slda:scatter=exact,shrinkage={shrinkage}", embeddings, labels).scores(queries)
    found, linear = found - found[:, :1], linear - linear[:, :1]
    assert np.abs(found - linear).max() <= 1e-7 * np.abs(linear).max()
    assert (found.argmax(axis=1) == linear.argmax(axis=1)).all()


@pytest.mark.parametrize("shrinkage", [1e-3, 0.2])
def test_without_sharing_score_differences_equal_those_of_qda_in_scikit_learn(
    shrinkage: float,
) -> None:
    embeddings, labels = stream([40, 25, 60, 30], 6)
    queries = stream([50], 6, seed=3)[0]
    reference = QuadraticDiscriminantAnalysis(priors=[0.25] * 4).fit(embeddings, labels)
    # Variances divided by n and shrunk like ours, because some scikit-learn releases use n - 1.
    reference.scalings_ = [
        (1 - shrinkage) * (embeddings[[label == name for label in labels]] @ axes).var(axis=0)
        + shrinkage
        for name, axes in zip(reference.classes_, reference.rotations_, strict=True)
    ]
    clf = taught(f"sqda:shared=0,shrinkage={shrinkage}", embeddings, labels)
    found = clf.scores(queries)[:, np.argsort(clf.labels)]
    expected = reference.decision_function(queries)
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-8)


@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_scores_stay_finite_for_samples_on_one_line_at_any_scale(shared: float) -> None:
    line = np.arange(1, 31)[:, None] * np.ones(8)
    for scale in (1e-20, 1.0, 1e8, 1e20):
        clf = taught(f"sqda:shared={shared},shrinkage=1e-9", scale * line, ["a", "b", "b"] * 10)
        assert np.isfinite(clf.scores(scale * line)).all()
