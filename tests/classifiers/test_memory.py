"""Memory does not grow with the number of samples."""

import gc
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, StreamingClassifier, classifier

WIDTH = 64
# Enough for SLDA to be dense and for a class's deviations to have been brought back to the width.
SAMPLES = 4 * (2 * WIDTH + 1)
# Where the default would not be full by then, or is as wide as many more samples.
SPECS = {"icarl": "icarl:buffer=200", "klda": "klda:features=128"}


def teach(clf: StreamingClassifier, vectors: NDArray[np.float64]) -> int:
    """Teach in turns and ask now and then; gives the bytes in use afterwards."""
    for index, vector in enumerate(vectors):
        clf.learn(vector, str(index % 4))
        if index % 50 == 0:
            clf.scores(vector[None])
    clf.scores(vectors[:1])
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("name", CLASSIFIERS.names())
def test_twice_the_samples_take_no_more_memory(name: str) -> None:
    vectors = np.abs(np.random.default_rng(0).normal(size=(2 * SAMPLES, WIDTH)))
    clf = classifier(SPECS.get(name, name))
    clf.learn(vectors[0], "0")  # whatever is imported or drawn once comes before the count
    clf.scores(vectors[:1])
    tracemalloc.start()
    try:
        once = teach(clf, vectors[:SAMPLES])
        twice = teach(clf, vectors[SAMPLES:])
    finally:
        tracemalloc.stop()
    assert twice <= 1.05 * once + 10_000
