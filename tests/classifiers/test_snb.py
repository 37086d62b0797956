"""SNB against scikit-learn's Gaussian naive Bayes and the linear formula of the public code."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from robocle.classifiers import StreamingClassifier, classifier

Floats = NDArray[np.float64]
WIDTH = 12


def stream(samples: int, labels: int, seed: int = 0) -> tuple[Floats, list[str]]:
    """Classes that also differ in their variances; the first one has a single sample."""
    rng = np.random.default_rng(seed)
    rows = np.append(0, rng.integers(1, labels, samples - 1))
    centres = rng.normal(0, 1, (labels, WIDTH))
    spreads = rng.uniform(0.2, 2, (labels, WIDTH))
    embeddings = centres[rows] + spreads[rows] * rng.normal(size=(samples, WIDTH))
    return embeddings, [str(row) for row in rows]


def taught(spec: str, embeddings: Floats, labels: list[str]) -> StreamingClassifier:
    clf = classifier(spec)
    for index, (embedding, label) in enumerate(zip(embeddings, labels, strict=True)):
        clf.learn(embedding, label)
        if index % 7 == 0:  # predictions in between must not change anything
            clf.scores(embedding[None])
    return clf


def log_joint(embeddings: Floats, labels: list[str], queries: Floats, shrinkage: float) -> Floats:
    """scikit-learn's log p(x, label) with uniform priors and our smoothing, in order of label."""
    count = len(set(labels))
    reference = GaussianNB(priors=np.full(count, 1 / count), var_smoothing=0).fit(
        embeddings, labels
    )
    reference.var_ = (1 - shrinkage) * reference.var_ + shrinkage
    return np.asarray(reference.predict_joint_log_proba(queries))


@pytest.mark.parametrize("shrinkage", [1e-4, 0.01, 0.5, 1.0])
def test_the_score_is_the_log_likelihood_up_to_a_constant(shrinkage: float) -> None:
    embeddings, labels = stream(300, 5)
    queries = stream(100, 5, seed=1)[0]
    clf = taught(f"snb:shrinkage={shrinkage}", embeddings, labels)
    constant = np.log(5) + WIDTH / 2 * np.log(2 * np.pi)
    expected = log_joint(embeddings, labels, queries, shrinkage) + constant
    found = clf.scores(queries)[:, np.argsort(clf.labels)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("samples", [1, 2, 5])
def test_the_published_variance_divides_by_n_minus_one_and_the_correct_one_by_n(
    samples: int,
) -> None:
    embeddings = np.random.default_rng(samples).normal(size=(samples, WIDTH))
    query = np.ones((1, WIDTH))
    mean = embeddings.mean(axis=0)
    squares = ((embeddings - mean) ** 2).sum(axis=0)
    published, correct = (
        taught(f"snb:variant={variant},shrinkage=0.1", embeddings, ["a"] * samples)
        for variant in ("published", "correct")
    )
    variance = 0.9 * squares / max(samples - 1, 1) + 0.1
    expected = (query @ (mean / variance) - 0.5 * (mean**2 / variance).sum())[0]
    assert published.scores(query)[0, 0] == pytest.approx(expected)
    variance = 0.9 * squares / samples + 0.1
    expected = -0.5 * ((query[0] - mean) ** 2 / variance + np.log(variance)).sum()
    assert correct.scores(query)[0, 0] == pytest.approx(expected)
