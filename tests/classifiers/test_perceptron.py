"""The perceptron against its rule, implemented plainly."""

import numpy as np
import pytest

from base_code import Perceptron
from robocle.classifiers import classifier


@pytest.mark.parametrize("seed", range(6))
def test_only_mistakes_change_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, 150)
    embeddings = rng.normal(size=(6, 8))[rows] + rng.normal(size=(150, 8))
    clf, reference = classifier("perceptron"), Perceptron(6, 8)
    changes = 0
    for embedding, row in zip(embeddings, rows, strict=True):
        before = reference.means.copy()
        clf.learn(embedding, str(row))
        reference.learn(embedding, clf.labels.index(str(row)))
        changes += int((reference.means != before).any())
    assert 26 < changes < 146  # the stream has both mistakes and correct predictions
    np.testing.assert_allclose(clf.scores(np.eye(8)), reference.means.T, atol=1e-12)


def test_a_sample_that_is_predicted_correctly_changes_nothing() -> None:
    clf = classifier("perceptron")
    clf.learn([1.0, 0.0], "a")
    clf.learn([0.0, 1.0], "b")
    before = clf.scores(np.eye(2))
    clf.learn([0.9, 0.1], "a")
    np.testing.assert_array_equal(clf.scores(np.eye(2)), before)
