"""The perceptron against its rule, implemented plainly."""

import numpy as np

from robocle.classifiers import classifier


def test_a_sample_that_is_predicted_correctly_changes_nothing() -> None:
    clf = classifier("perceptron")
    clf.learn([1.0, 0.0], "a")
    clf.learn([0.0, 1.0], "b")
    before = clf.scores(np.eye(2))
    clf.learn([0.9, 0.1], "a")
    np.testing.assert_array_equal(clf.scores(np.eye(2)), before)
