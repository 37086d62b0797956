"""Robots: learners without a network, in files and in memory, that are taught random embeddings."""

from pathlib import Path

from robocle import Learner
from stub_backbone import STUB, embedding

WIDTH = 24
QUERY = embedding(10**6, WIDTH)
Scores = dict[str, float]


def opened(path: Path, classifier: str = "ncm") -> Learner:
    """Return a learner that is kept in a file, which is created if there is none."""
    if path.exists():
        return Learner.open(path, STUB)
    return Learner.open(path, STUB, pooling="avg", classifier=classifier)


def loaded(path: Path) -> Learner:
    """Return a learner in memory that has what is in a file."""
    return Learner.load(path, STUB)


def in_memory(classifier: str = "ncm") -> Learner:
    """Return a new learner that is kept in memory."""
    return Learner(STUB, pooling="avg", classifier=classifier)


def teach(learner: Learner, label: str, pictures: int = 1, seed: int = 0) -> None:
    """Teach pictures of a label one after another."""
    for number in range(pictures):
        learner.teach_embedding(embedding([seed, number], WIDTH), label)


def another(label: str, pictures: int = 1, classifier: str = "ncm", seed: int = 99) -> Learner:
    """Return another learner in memory that was taught pictures of a label."""
    learner = in_memory(classifier)
    teach(learner, label, pictures, seed)
    return learner


def visible(learner: Learner) -> dict[str, str]:
    """Return the label of each sample by its id, in the order in which they were taught."""
    return {sample.id: sample.label for sample in learner.samples}


def scores(learner: Learner) -> Scores:
    """Return the scores of one embedding; empty if nothing is taught."""
    return learner.predict_embedding(QUERY).scores if learner.counts else {}


def are_close(one: Scores, other: Scores, tolerance: float = 1e-9) -> bool:
    """Return whether scores differ by at most a share of the largest one."""
    largest = max(map(abs, other.values()), default=0.0)
    return one.keys() == other.keys() and all(
        abs(one[label] - other[label]) <= tolerance * largest for label in one
    )
