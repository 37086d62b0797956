"""Memory does not grow with the number of samples."""

import copy
import gc
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, StreamingClassifier, classifier

WIDTH = 64
# Enough samples for SLDA to use the dense form, and for class factors to be made triangular.
SAMPLES = 4 * (2 * WIDTH + 1)
# Options for classifiers whose defaults are too large to reach their limits with these samples.
SPECS = {"icarl": "icarl:buffer=200", "klda": "klda:features=128"}


def teach(clf: StreamingClassifier, embeddings: NDArray[np.float64]) -> int:
    """Teach the classes in turn with occasional predictions; return the bytes in use afterwards."""
    for index, embedding in enumerate(embeddings):
        clf.learn(embedding, str(index % 4))
        if index % 50 == 0:
            clf.scores(embedding[None])
    clf.scores(embeddings[:1])
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS.names())
def test_twice_the_samples_take_no_more_memory(name: str) -> None:
    embeddings = np.abs(np.random.default_rng(0).normal(size=(2 * SAMPLES, WIDTH)))
    clf = classifier(SPECS.get(name, name))
    clf.learn(embeddings[0], "0")  # not measured: some memory is allocated only once
    clf.scores(embeddings[:1])
    tracemalloc.start()
    try:
        once = teach(clf, embeddings[:SAMPLES])
        twice = teach(clf, embeddings[SAMPLES:])
    finally:
        tracemalloc.stop()
    assert twice <= 1.05 * once + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS.names())
def test_a_classifier_that_is_no_longer_used_frees_its_memory_at_once(name: str) -> None:
    """Undo replaces a classifier; waiting for Python to look for cycles took gigabytes."""
    embeddings = np.abs(np.random.default_rng(0).normal(size=(SAMPLES, WIDTH)))
    clf = classifier(SPECS.get(name, name))
    for number, embedding in enumerate(embeddings):
        clf.learn(embedding, str(number % 4))
    clf.scores(embeddings[:1])
    clf.learn(embeddings[0], "0")
    clf.scores(embeddings[:1])
    clf.leave_one_out()
    gc.collect()
    gc.disable()
    try:
        del clf
        assert gc.collect() == 0
    finally:
        gc.enable()


def many_samples() -> StreamingClassifier:
    """Return a classifier that keeps a subsample of its class factors."""
    embeddings = np.abs(np.random.default_rng(0).normal(size=(400, WIDTH)))
    clf = classifier("slda:kept=100")
    for number, embedding in enumerate(embeddings):
        clf.learn(embedding, str(number % 4))
    return clf


def test_states_of_a_classifier_share_the_subsample_of_its_factors() -> None:
    clf = many_samples()
    before = clf.state().arrays
    clf.learn(np.ones(WIDTH), "0")
    after = clf.state().arrays
    again = classifier("slda:kept=100")
    again.restore(clf.state())
    assert before["0.sample_rows"] is after["0.sample_rows"]
    assert again.state().arrays["0.sample_rows"] is after["0.sample_rows"]
    assert not after["0.sample_rows"].flags.writeable


def test_a_copy_goes_on_without_changing_the_subsample_that_it_shares() -> None:
    clf = many_samples()
    before = {name: array.copy() for name, array in clf.state().arrays.items()}
    copied = copy.deepcopy(clf)
    copied.forget("1")
    copied.learn(np.ones(WIDTH), "new")
    for name, array in clf.state().arrays.items():
        np.testing.assert_array_equal(array, before[name])
    assert len(copied.state().arrays["0.sample_rows"]) < len(before["0.sample_rows"])
