"""How a check builds a part and reports a broken rule, and the stream that classifiers learn.

A broken rule is an AssertionError with a sentence, also under `python -O`.
"""

import copy
from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier
from robocle.errors import RobocleError

Part = TypeVar("Part")
Given: TypeAlias = str | type[Part] | Part
"""A part: its spec, its class, which is called without arguments, or an instance."""
Check: TypeAlias = Callable[..., None]
"""A rule: a function of what is given, which raises AssertionError if it is broken."""
GivenClassifier: TypeAlias = Given[StreamingClassifier]

WIDTH = 24
TOLERANCE = 1e-7  # relative to the largest score
Stream = tuple[NDArray[np.float32], list[str]]


def built(given: Given[Part], build: Callable[[str], Part]) -> Part:
    """Return a part of its own: from a spec, from a class, or as a copy of an instance."""
    if isinstance(given, str):
        return build(given)
    return cast(Part, given() if isinstance(given, type) else copy.deepcopy(given))


def rules_in(module: Mapping[str, Any], *others: Check) -> tuple[Check, ...]:
    """Return the rules of a module: its public functions, in their order, without some others."""
    own = [each for name, each in module.items() if isfunction(each) and not name.startswith("_")]
    return tuple(e for e in own if e.__module__ == module["__name__"] and e not in others)


def require(kept: bool, rule: str) -> None:
    """Raise AssertionError with the rule if it is not kept."""
    if not kept:
        raise AssertionError(rule)


def require_raises(
    error: type[RobocleError], case: str, call: Callable[..., object], *args: object
) -> None:
    """Require that call(*args) raises the given error, with a message of one line."""
    try:
        call(*args)
    except error as raised:
        message = str(raised)
        require(
            bool(message) and message.splitlines() == [message],
            f"{case}: the message must be one line, not {message!r}",
        )
    except Exception as other:
        raise AssertionError(f"{case} must raise {error.__name__}, not {other!r}") from other
    else:
        raise AssertionError(f"{case} must raise {error.__name__}, but nothing was raised")


def stream(samples: int, labels: int = 4, seed: int = 0) -> Stream:
    """Return embeddings like a network's (not negative, many zeros) and their labels."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, labels, samples)
    centres = rng.normal(0, 2, (labels, WIDTH))
    embeddings = np.maximum(centres[rows] + rng.normal(0, 1, (samples, WIDTH)), 0)
    return embeddings.astype(np.float32), [f"object {row}" for row in rows]


def selected(samples: Stream, kept: NDArray[np.bool_]) -> Stream:
    """Return the samples of a stream for which `kept` is true."""
    embeddings, labels = samples
    return embeddings[kept], [labels[index] for index in np.flatnonzero(kept)]


def teach(clf: StreamingClassifier, samples: Stream) -> None:
    """Teach samples in order."""
    for embedding, label in zip(*samples, strict=True):
        clf.learn(embedding, label)


def untaught(given: GivenClassifier) -> StreamingClassifier:
    """Return a new classifier."""
    return built(given, classifier)


def taught(given: GivenClassifier, samples: Stream) -> StreamingClassifier:
    """Return a classifier that has learned the samples in order."""
    clf = untaught(given)
    teach(clf, samples)
    return clf


def require_equal(found: StreamingClassifier, expected: StreamingClassifier, rule: str) -> None:
    """Require that two classifiers have equal counts and scores. Labels may be in any order."""
    require(found.counts == expected.counts, f"{rule}, so not {found.counts}")
    queries, columns = stream(20, seed=7)[0], [found.labels.index(each) for each in expected.labels]
    scores, others = expected.scores(queries), found.scores(queries)
    require(others.shape == scores.shape, f"{rule}, so there is no score of any other label")
    difference = TOLERANCE * np.abs(scores).max()
    assert_allclose(others[:, columns], scores, rtol=0, atol=difference, err_msg=rule)
