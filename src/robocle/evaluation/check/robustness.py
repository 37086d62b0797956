"""The robustness check: which learner is tested on which picture.

A state is tested on all pictures. Without a state, k-fold cross-validation is used: each learner is
taught all folds but one, in memory, and is tested on the remaining fold.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone
from robocle.errors import DataError, ImageError, NothingTaughtError
from robocle.evaluation.check.conditions import Conditions, CorruptedPicture
from robocle.evaluation.check.pictures import require_enough
from robocle.evaluation.check.result import CheckedPrediction, CheckResult
from robocle.evaluation.embedding import content_hash
from robocle.evaluation.loop import evaluate, teach
from robocle.images.nothing import pictures_of_nothing
from robocle.learner import Learner
from robocle.recognition import DEFAULT_RATE, NEVER_UNKNOWN
from robocle.types import Example

MAX_FOLDS = 5
NOTHING, FIRST_NOTHING = 45, 10_000
"""How many pictures of nothing are tested, and the number of the first: the world has others."""
CROSS_VALIDATED = "a learner that was not taught it"

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
TaughtEmbeddings = dict[Example, NDArray[np.float32]]


@dataclass(frozen=True)
class LearnerTest:
    """A learner and a picture to test it on."""

    learner: Learner
    picture: Example


@dataclass(frozen=True)
class Evaluator:
    """Tests learners on pictures in all conditions.

    Attributes:
        conditions: How the pictures are corrupted.
        progress: Called with items, what is done to them, and their number; yields the items.
        false_accept: The rate, see `Learner.predict`.
    """

    conditions: Conditions
    progress: Progress
    false_accept: float = DEFAULT_RATE

    def run(
        self, tests: Iterable[LearnerTest], total: int
    ) -> tuple[tuple[CheckedPrediction, ...], list[str]]:
        """Return all predictions, and one message per picture that cannot be read."""
        unreadable: list[str] = []
        found = evaluate(self._predict, self._batches(tests, total, unreadable))
        return found.predicted, unreadable

    def _batches(
        self, tests: Iterable[LearnerTest], total: int, unreadable: list[str]
    ) -> Iterator[tuple[tuple[LearnerTest, list[CorruptedPicture]], list[str]]]:
        for test in self.progress(tests, "testing", total):
            path, label = test.picture.path, test.picture.label
            try:
                corrupted = list(self.conditions.apply(path, test.learner.backbone))
            except ImageError as error:
                unreadable.append(str(error))
            else:
                yield (test, corrupted), [label] * len(corrupted)

    def _predict(
        self, batch: tuple[LearnerTest, list[CorruptedPicture]]
    ) -> list[CheckedPrediction]:
        test, corrupted = batch
        is_taught = test.picture.label in test.learner.labels
        return [
            CheckedPrediction(
                test.picture,
                is_taught,
                each.condition,
                each.draw,
                test.learner.predict(each.pixels, false_accept=self.false_accept).label,
            )
            for each in corrupted
        ]


def check_state(
    name: str, learner: Learner, pictures: Sequence[Example], evaluator: Evaluator
) -> CheckResult:
    """Test a learner on pictures. Objects with labels that it was not taught are unknown to it.

    Args:
        name: The name of the state, for messages.
        learner: The learner to test; it is not changed.
        pictures: The labelled pictures.
        evaluator: How to test.

    Raises:
        NothingTaughtError: The learner was taught nothing.
        DataError: The learner was taught only one label and has no world.
        ImageError: No picture can be read.
    """
    if not learner.labels:
        raise NothingTaughtError
    if len(learner.labels) == 1 and learner.decision() is None:
        raise DataError(
            f"{name} knows only {learner.labels[0]!r} and would predict it for every picture: "
            "teach it a second label"
        )
    tests = (LearnerTest(learner, picture) for picture in pictures)
    predictions, unreadable = evaluator.run(tests, len(pictures))
    found = _result(predictions, name, unreadable, [])
    return replace(found, nothing=nothing_called_unknown(learner, evaluator.false_accept))


def nothing_called_unknown(learner: Learner, false_accept: float) -> tuple[int, int] | None:
    """Return how many pictures of nothing are called unknown, and how many there are.

    They are others than those of the world. None if the learner calls no picture unknown.
    """
    if learner.decision() is None or false_accept == NEVER_UNKNOWN:
        return None
    pictures = pictures_of_nothing(NOTHING, learner.backbone.input_size, FIRST_NOTHING)
    found = learner.predict_many(pictures, false_accept=false_accept)
    return sum(each.label is None for each in found), NOTHING


def check_by_cross_validation(
    backbone: Backbone, pictures: Sequence[Example], evaluator: Evaluator
) -> CheckResult:
    """Teach learners with the default parts and test each on pictures that it was not taught.

    Args:
        backbone: The default backbone.
        pictures: The labelled pictures: at least two labels with at least two pictures each.
        evaluator: How to test.

    Raises:
        DataError: There are too few pictures or labels.
        ImageError: No picture can be read.
    """
    require_enough(pictures, pictures)
    embeddings, unreadable, copies = _embedded(Learner(backbone), pictures, evaluator.progress)
    if not embeddings:
        raise _nothing_readable(unreadable)
    require_enough(pictures, embeddings, unreadable + copies)
    tests = cross_validation_tests(embeddings, backbone)
    predictions, vanished = evaluator.run(tests, len(embeddings))
    whole = Learner(backbone)
    teach(whole.teach_embedding, ((z, each.label) for each, z in embeddings.items()))
    found = _result(predictions, CROSS_VALIDATED, unreadable + vanished, copies)
    return replace(found, nothing=nothing_called_unknown(whole, evaluator.false_accept))


def cross_validation_tests(
    embeddings: TaughtEmbeddings, backbone: Backbone
) -> Iterator[LearnerTest]:
    """Yield every picture once, with a learner that was taught all folds except the picture's."""
    for fold in folds(list(embeddings)):
        learner = Learner(backbone)
        held_out = set(fold)
        taught = ((z, each.label) for each, z in embeddings.items() if each not in held_out)
        teach(learner.teach_embedding, taught)
        yield from (LearnerTest(learner, picture) for picture in fold)


def folds(pictures: Sequence[Example]) -> list[list[Example]]:
    """Divide the pictures into up to five folds.

    Consecutive pictures of a label go into the same fold, because pictures taken one after another
    look alike. A label with fewer pictures than folds occurs only in the first folds.

    Args:
        pictures: The pictures, at least two per label, in the order they were taken.
    """
    by_label: dict[str, list[Example]] = {}
    for picture in pictures:
        by_label.setdefault(picture.label, []).append(picture)
    found: list[list[Example]] = [[] for _ in range(MAX_FOLDS)]
    for of_label in by_label.values():
        count = min(len(of_label), MAX_FOLDS)
        for place, picture in enumerate(of_label):
            found[place * count // len(of_label)].append(picture)
    return [fold for fold in found if fold]


def _embedded(
    learner: Learner, pictures: Sequence[Example], progress: Progress
) -> tuple[TaughtEmbeddings, list[str], list[str]]:
    """Return embeddings for teaching, and messages about unreadable pictures and duplicates."""
    embeddings: TaughtEmbeddings = {}
    unreadable, copies = [], []
    first_with: dict[str, Example] = {}
    for picture in progress(pictures, "embedding", len(pictures)):
        try:
            content = content_hash(picture.path)
            if content in first_with:
                copies.append(f"{picture.path} is a copy of {first_with[content].path}: left out")
                continue
            embeddings[picture] = learner.embed_for_teaching(picture.path).values
            first_with[content] = picture
        except ImageError as error:
            unreadable.append(str(error))
    return embeddings, unreadable, copies


def _result(
    predictions: tuple[CheckedPrediction, ...],
    tested: str,
    unreadable: list[str],
    copies: list[str],
) -> CheckResult:
    if not predictions:
        raise _nothing_readable(unreadable)
    return CheckResult(predictions, tested, tuple(unreadable), tuple(copies))


def _nothing_readable(unreadable: list[str]) -> ImageError:
    others = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
    return ImageError(f"no picture can be read: {unreadable[0]}{others}")
