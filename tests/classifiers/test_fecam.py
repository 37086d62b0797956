"""FeCAM against its formulas with full matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray

from array_lessons import taught

Floats = NDArray[np.float64]


def stream(counts: list[int], width: int, seed: int = 0) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    common = rng.normal(size=(len(rows), 1))  # correlates the entries of an embedding
    embeddings = rng.normal(0, 2, (len(counts), width))[rows] + rng.normal(size=(len(rows), width))
    return embeddings + common, [str(row) for row in rows]


def tukey(values: Floats, power: float) -> Floats:
    return np.asarray(np.sign(values) * np.abs(values) ** power)


def shrunk_covariance(own: Floats, shrinkage: float) -> Floats:
    width = own.shape[1]
    if len(own) == 1:
        return np.eye(width)
    covariance = (own - own.mean(axis=0)).T @ (own - own.mean(axis=0)) / len(own)
    off_diagonal = ~np.eye(width, dtype=bool)
    mean_variance = np.diag(covariance).mean()
    mean_covariance = max(covariance[off_diagonal].mean(), 0)
    return np.asarray(
        covariance
        + shrinkage * mean_variance * np.eye(width)
        + shrinkage * mean_covariance * off_diagonal
    )


def distances(
    embeddings: Floats, labels: list[str], queries: Floats, power: float, shrinkage: float
) -> Floats:
    """The Mahalanobis distance by each class's correlation matrix, in the order first taught."""
    embeddings, queries = tukey(embeddings, power), tukey(queries, power)
    own = {name: embeddings[[label == name for label in labels]] for name in dict.fromkeys(labels)}
    columns = []
    for them in own.values():
        covariance = shrunk_covariance(them, shrinkage)
        deviations = np.sqrt(np.diag(covariance))
        inverse = np.linalg.inv(covariance / np.outer(deviations, deviations))
        columns.append([d @ inverse @ d for d in queries - them.mean(axis=0)])
    return np.array(columns).T


@pytest.mark.parametrize(("power", "shrinkage"), [(0.5, 10), (0.5, 0.1), (1.0, 1.0), (0.3, 100)])
@pytest.mark.parametrize(
    "counts",
    [
        [4, 2, 7],
        [5, 1, 3],  # a class with one sample has no covariance of its own
        [60, 20, 45],  # more samples than twice the width: rows replaced by a triangular factor
    ],
)
def test_scores_equal_those_of_full_matrices(
    counts: list[int], power: float, shrinkage: float
) -> None:
    embeddings, labels = stream(counts, 20)
    queries = stream([6, 6], 20, seed=1)[0]
    clf = taught(f"fecam:power={power},shrinkage={shrinkage}", embeddings, labels)
    expected = -distances(embeddings, labels, queries, power, shrinkage)
    found = clf.scores(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()


def test_a_negative_mean_covariance_counts_as_zero() -> None:
    rng = np.random.default_rng(2)
    embeddings = rng.normal(size=(8, 6))
    embeddings -= embeddings.mean(axis=1, keepdims=True)  # makes the entries anticorrelated
    labels = ["a", "b"] * 4
    clf = taught("fecam:power=1,shrinkage=2", embeddings, labels)
    found = clf.scores(embeddings)
    np.testing.assert_allclose(
        found, -distances(embeddings, labels, embeddings, 1.0, 2.0), rtol=1e-8
    )
