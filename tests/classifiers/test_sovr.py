"""SOvR against its definition, one class at a time."""

import numpy as np
import pytest

from robocle.classifiers import classifier


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
