"""NCM, SOvR and the perceptron against scikit-learn and against their definitions."""

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from array_lessons import taught


def test_ncm_predicts_the_same_labels_as_nearest_centroid_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    embeddings, queries = 1e3 + rng.normal(0, 1, (200, 32)), 1e3 + rng.normal(0, 1, (300, 32))
    labels = [str(row) for row in rng.integers(0, 5, 200)]
    clf = taught("ncm", embeddings, labels)
    reference = NearestCentroid().fit(embeddings, labels)
    assert clf.predict(queries) == reference.predict(queries).tolist()
    means = reference.centroids_[np.argsort(np.argsort(clf.labels))]
    expected = -((queries[:, None] - means) ** 2).sum(axis=2)
    alone = np.vstack([clf.scores(query[None]) for query in queries])
    for found in (clf.scores(queries), alone):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_sovr_of_an_embedding_orthogonal_to_all_means_is_one_half() -> None:
    clf = taught("sovr", np.eye(3)[:2], ["a", "b"])
    np.testing.assert_array_equal(clf.scores(np.eye(3)), [[1, 0], [0, 1], [0.5, 0.5]])


def test_sovr_weights_the_mean_of_the_other_classes_by_their_counts() -> None:
    clf = taught("sovr", np.array([[4.0], [1], [1], [1], [5]]), ["a", "b", "b", "b", "c"])
    rest = (3 * 1 + 1 * 5) / 4
    assert clf.scores([[2.0]])[0, 0] == pytest.approx(4 / (4 + rest))


def test_a_perceptron_does_not_learn_from_what_it_predicts_correctly() -> None:
    clf = taught("perceptron", np.eye(2), ["a", "b"])
    before = clf.scores(np.eye(2))
    clf.learn([0.9, 0.1], "a")
    np.testing.assert_array_equal(clf.scores(np.eye(2)), before)
