"""Ridge regression against scikit-learn's, on embeddings and on their random features."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from array_lessons import taught
from robocle.classifiers.shared import rectified_features

Floats = NDArray[np.float64]


def stream(samples: int, width: int, classes: int, seed: int = 0) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, classes, samples)
    embeddings = rng.normal(size=(classes, width))[rows] + rng.normal(size=(samples, width))
    return np.maximum(embeddings, 0), [str(row) for row in rows]


def expected(embeddings: Floats, labels: list[str], queries: Floats, strength: float) -> Floats:
    targets = np.array([[label == name for name in dict.fromkeys(labels)] for label in labels])
    alpha = strength * (embeddings**2).sum() / embeddings.shape[1]
    reference = Ridge(alpha=alpha, fit_intercept=False).fit(embeddings, targets.astype(float))
    return np.asarray(reference.predict(queries))


@pytest.mark.parametrize("features", [0, 30, 400])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("samples", [12, 200])
def test_scores_equal_scikit_learns_ridge(samples: int, strength: float, features: int) -> None:
    embeddings, labels = stream(samples, 48, 5)
    queries = stream(30, 48, 5, seed=1)[0]
    clf = taught(f"ridge:strength={strength},features={features},seed=3", embeddings, labels)
    found = clf.scores(queries)
    if features:
        embeddings, queries = (
            rectified_features(rows, features, 3) for rows in (embeddings, queries)
        )
    wanted = expected(embeddings, labels, queries, strength)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
