"""Samples of a state that wait until their sums are needed lead to the same sums, bit by bit."""

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import ClassifierState, classifier
from robocle.classifiers.shared_covariance import SharedCovarianceClassifier
from robocle.classifiers.waiting_samples import MOST_WAITING

WIDTH = 96
SPECS = [
    "slda",
    "slda:scatter=exact,shrinkage=stepped,covariance=blocks,score=cosine,blocks=2+2x16,earlier=auto",
    "slda:scatter=exact,scale=blocks,blocks=3",
]
SPEC = SPECS[1]


def samples(count: int, seed: int = 0) -> NDArray[np.float32]:
    return np.abs(np.random.default_rng(seed).normal(size=(count, WIDTH))).astype(np.float32)


def stored(spec: str) -> ClassifierState:
    """The state of a classifier whose blocks are stored in both forms."""
    clf = classifier(spec)
    for number, sample in enumerate(samples(5)):
        clf.learn(sample, f"object {number % 2}")
    return clf.state()


def restored(spec: str) -> SharedCovarianceClassifier:
    clf = classifier(spec)
    assert isinstance(clf, SharedCovarianceClassifier)
    clf.restore(stored(spec))
    return clf


def assert_equal(found: SharedCovarianceClassifier, expected: SharedCovarianceClassifier) -> None:
    queries = samples(6, seed=2)
    assert found.scores(queries).tobytes() == expected.scores(queries).tobytes()
    arrays, wanted = found.state().arrays, expected.state().arrays
    assert arrays.keys() == wanted.keys()
    for name, array in arrays.items():
        assert array.tobytes() == wanted[name].tobytes(), name


@pytest.mark.parametrize("more", [0, 1, 5, MOST_WAITING, MOST_WAITING + 20])
@pytest.mark.parametrize("spec", SPECS)
def test_samples_that_waited_lead_to_the_same_sums_as_those_that_did_not(
    spec: str, more: int
) -> None:
    waited, summed = restored(spec), restored(spec)
    assert summed._scatters.count > 0  # now they are summed
    for number, sample in enumerate(samples(more, seed=1)):
        for clf in (waited, summed):
            clf.learn(sample, f"object {number % 4}")  # two labels are new
    assert_equal(waited, summed)


def test_a_restored_classifier_learns_a_few_samples_without_their_sums() -> None:
    clf = restored(SPEC)
    for sample in samples(MOST_WAITING, seed=1):
        clf.learn(sample, "object 0")
        assert clf._waiting is not None
    clf.learn(samples(1)[0], "object 0")
    assert clf._waiting is None


def test_copies_of_a_classifier_whose_samples_wait_go_on_by_themselves() -> None:
    clf, alone = restored(SPEC), restored(SPEC)
    first, second = samples(2, seed=1)
    clf.learn(first, "object 0")
    copied = copy.deepcopy(clf)
    copied.learn(second, "object 1")
    clf.learn(second, "new")
    alone.learn(first, "object 0")
    alone.learn(second, "object 1")
    assert_equal(copied, alone)
    assert clf.labels == ("object 0", "object 1", "new")


def test_an_array_that_the_caller_changes_afterwards_was_learned_as_it_was() -> None:
    clf, expected = restored(SPEC), restored(SPEC)
    sample = samples(1, seed=1)[0].astype(np.float64)
    expected.learn(sample.copy(), "object 0")
    clf.learn(sample, "object 0")
    sample[:] = 0
    assert_equal(clf, expected)


def test_a_label_can_be_forgotten_while_samples_wait() -> None:
    clf, expected = restored(SPEC), restored(SPEC)
    assert expected._scatters.count == 4
    for each in (clf, expected):
        each.learn(samples(1, seed=1)[0], "object 1")
        each.forget("object 0")
    assert_equal(clf, expected)
