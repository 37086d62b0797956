"""The oracle for undo, forget, rename, merge and crashes: learning again from scratch."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from robocle import Learner
from robocle.classifiers import CLASSIFIERS
from stub_backbone import embedding

Lesson = tuple[NDArray[Any], str]
"""An embedding and its label."""


def equals_learning_from_scratch(learner: Learner, lessons: Sequence[Lesson]) -> bool:
    """Return whether a learner has the counts and the scores of one taught only these lessons."""
    fresh = CLASSIFIERS.build(learner.parts.classifier)
    for taught, label in lessons:
        fresh.learn(taught, label)
    if learner.counts != fresh.counts:
        return False
    if not lessons:
        return True
    query = embedding(10**6, len(lessons[0][0]))
    expected = dict(zip(fresh.labels, fresh.scores(query[None])[0].tolist(), strict=True))
    largest = max(abs(score) for score in expected.values())
    found = learner.predict_embedding(query).scores
    return all(abs(found[label] - expected[label]) <= 1e-6 * largest for label in expected)
