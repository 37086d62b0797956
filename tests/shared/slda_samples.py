"""Seeded samples for tests of SLDA, classifiers that were taught them, and comparisons."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robocle
from robocle.classifiers.samples import Sample
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.slda.answer import Answer

DEFAULT = (
    "slda:scatter=exact,shrinkage=stepped,covariance=blocks,score=cosine,earlier=auto,world=40"
)
World = NDArray[Any] | None
"""The pictures of the world; None for none."""


def samples_of(
    count: int, width: int, labels: int, seed: int = 0, noise: float = 0.7
) -> list[Sample]:
    """Return float32 embeddings without negative values, as from a network; the second is a copy.

    Labels appear one after another, and few directions vary much.
    """
    rng = np.random.default_rng(seed)
    spread = noise * rng.permutation(2 * np.arange(1, width + 1) ** -0.5)
    centres = 0.5 + rng.normal(size=(labels, width))
    rows = [int(rng.integers(min(labels, 1 + number // 2))) for number in range(count)]
    embeddings = np.maximum(centres[rows] + spread * rng.normal(size=(count, width)), 0)
    embeddings[1:2] = embeddings[0]
    return [
        Sample(f"object {row}", embedding, f"{seed}.{number}")
        for number, (row, embedding) in enumerate(
            zip(rows, embeddings.astype(np.float32), strict=True)
        )
    ]


def world_of(width: int, pictures: int = 30) -> NDArray[np.float32]:
    """Return embeddings of pictures of anything."""
    rng = np.random.default_rng(99)
    return np.maximum(0.5 + rng.normal(size=(pictures, width)), 0).astype(np.float32)


def teach(clf: StreamingLDA, samples: Iterable[Sample]) -> None:
    """Teach samples under their ids."""
    for sample in samples:
        clf.learn(sample.embedding, sample.label, id=sample.id)


def taught(spec: str, samples: Iterable[Sample] = (), world: World = None) -> StreamingLDA:
    """Return a classifier that was taught samples, without an answer in between."""
    clf = robocle.classifier(spec)
    assert isinstance(clf, StreamingLDA)
    if world is not None:
        clf.use_world(world)
    teach(clf, samples)
    return clf


def reopened(clf: StreamingLDA, spec: str, world: World = None) -> StreamingLDA:
    """Return a classifier that continues from the state of another one."""
    found = taught(spec, world=world)
    found.restore(clf.state())
    return found


def renamed(samples: Iterable[Sample], old: str, new: str) -> list[Sample]:
    """Return the samples, with one label replaced."""
    return [
        Sample(new if each.label == old else each.label, each.embedding, each.id)
        for each in samples
    ]


def assert_close(found: NDArray[Any], expected: NDArray[Any], tolerance: float = 1e-9) -> None:
    """Check that arrays are equal, relative to the largest value; -inf must be in both."""
    assert found.shape == expected.shape
    finite = np.isfinite(expected)
    assert (found[~finite] == expected[~finite]).all()
    difference = float(np.abs(found[finite] - expected[finite]).max(initial=0))
    assert difference <= tolerance * float(np.abs(expected[finite]).max(initial=0))


def assert_same_scores(found: StreamingLDA, expected: StreamingLDA) -> None:
    """Check counts, scores and familiarity. Labels may be in any order."""
    assert found.counts == expected.counts
    columns = [found.labels.index(label) for label in expected.labels]
    queries = np.random.default_rng(7).normal(0.5, 0.7, (6, expected.width or 0))
    scores, familiarity = found.answer().scores_and_familiarity(queries)
    wanted, familiar = expected.answer().scores_and_familiarity(queries)
    assert_close(scores[:, columns], wanted)
    assert_close(familiarity, familiar)


def assert_same(found: StreamingLDA, expected: StreamingLDA) -> None:
    """Check everything that two classifiers answer. Labels may be in any order."""
    assert_same_scores(found, expected)
    mine, theirs = (_of_left_out(each.answer(), each.labels) for each in (found, expected))
    assert mine.keys() == theirs.keys()
    assert_close(found.answer().maps, expected.answer().maps)
    mine_world, their_world = (each.answer().world_familiarity for each in (found, expected))
    if mine_world is not None and their_world is not None:
        assert_close(mine_world, their_world, 1e-6)  # it follows lessons in float32
    for name in mine:
        assert_close(mine[name], theirs[name])


def _of_left_out(answer: Answer, labels: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return what there is of left-out samples, ordered by ids and labels."""
    left = answer.leave_one_out
    if left is None:
        return {}
    rows, columns = np.argsort(left.ids), np.argsort(labels)
    found = {
        "scores": left.scores[np.ix_(rows, columns)],
        "familiarity": left.familiarity[rows],
        **{f"{id} is left out": np.empty(0) for id in left.ids},
    }
    return found | ({"others": answer.for_others[rows]} if len(answer.for_others) else {})
