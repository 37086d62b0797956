"""NCM against scikit-learn and against its own definition."""

import numpy as np
from sklearn.neighbors import NearestCentroid

from robocle.classifiers import classifier


def test_ncm_predicts_the_same_labels_as_nearest_centroid_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    embeddings = rng.normal(0, 1, (200, 32))
    labels = [str(row) for row in rng.integers(0, 5, 200)]
    clf = classifier("ncm")
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    queries = rng.normal(0, 1, (300, 32))
    ours = np.array(clf.labels)[clf.scores(queries).argmax(axis=1)]
    assert (ours == NearestCentroid().fit(embeddings, labels).predict(queries)).all()


def test_the_score_is_minus_the_squared_distance_to_the_mean() -> None:
    clf = classifier("ncm")
    clf.learn([0.0, 0.0], "a")
    clf.learn([2.0, 0.0], "a")
    np.testing.assert_allclose(clf.scores([[1.0, 3.0]]), [[-9.0]])


def test_a_batch_of_many_embeddings_is_scored_like_single_embeddings() -> None:
    rng = np.random.default_rng(1)
    clf = classifier("ncm")
    for row in range(5):
        clf.learn(1e3 + rng.normal(0, 1, 64), str(row))
    queries = 1e3 + rng.normal(0, 1, (100, 64))
    alone = np.vstack([clf.scores(query[None]) for query in queries])
    np.testing.assert_allclose(clf.scores(queries), alone, rtol=1e-9)
