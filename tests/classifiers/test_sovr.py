"""SOvR against its definition, one class at a time."""

import numpy as np
import pytest

from base_code import OneVersusRest
from robocle.classifiers import classifier


@pytest.mark.parametrize("seed", range(4))
def test_every_score_of_a_stream_follows_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clf = classifier("sovr")
    reference = OneVersusRest(5, 10)
    queries = np.abs(rng.normal(size=(6, 10)))
    for row in rng.integers(0, 5, 60):
        embedding = np.abs(rng.normal(row, 1, 10))
        clf.learn(embedding, str(row))
        reference.learn(embedding, clf.labels.index(str(row)))
        np.testing.assert_allclose(clf.scores(queries), reference.scores(queries), rtol=1e-9)


def test_an_embedding_orthogonal_to_all_means_scores_one_half() -> None:
    clf = classifier("sovr")
    clf.learn([1.0, 0.0, 0.0], "a")
    clf.learn([0.0, 1.0, 0.0], "b")
    np.testing.assert_array_equal(clf.scores([[0.0, 0.0, 1.0]]), [[0.5, 0.5]])
    np.testing.assert_array_equal(clf.scores([[1.0, 0.0, 0.0]]), [[1.0, 0.0]])


def test_the_mean_of_the_other_classes_is_weighted_by_their_counts() -> None:
    clf = classifier("sovr")
    for embedding, label in (([4.0], "a"), ([1.0], "b"), ([1.0], "b"), ([1.0], "b"), ([5.0], "c")):
        clf.learn(embedding, label)
    rest = (3 * 1 + 1 * 5) / 4
    assert clf.scores([[2.0]])[0, 0] == pytest.approx(4 / (4 + rest))
