"""The robustness check: how well a learner recognises the user's own objects under corruptions.

A state is tested on all pictures. Without a state, k-fold cross-validation is used: each learner is
taught all folds but one and is tested on the remaining fold. The label of a picture is the name of
its folder. Everything stays in memory: no picture, no embedding and no state is written.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone
from robocle.classifiers.labels import require_label
from robocle.errors import DataError, ImageError, LabelError, NothingTaughtError
from robocle.evaluation.check_result import CheckedPrediction, CheckResult, Conditions
from robocle.evaluation.keys import content_hash
from robocle.evaluation.teach_and_test import teach
from robocle.images import pictures_under
from robocle.images.nothing import pictures_of_nothing
from robocle.learner import Learner
from robocle.recognition import DEFAULT_RATE, NEVER_UNKNOWN
from robocle.types import Example

MAX_FOLDS = 5
FEWEST = 2
"""How many pictures a label must have: one to teach and one to test."""
NOTHING, FIRST_NOTHING = 45, 10_000
"""How many pictures of nothing are tested, and the number of the first: the world has others."""
CROSS_VALIDATED = "a learner that was not taught it"

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
TaughtEmbeddings = dict[Example, NDArray[np.float32]]
LearnerTest = tuple[Learner, Example]
"""A learner and a picture to test it on."""


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
        predictions: list[CheckedPrediction] = []
        unreadable: list[str] = []
        for learner, picture in self.progress(tests, "testing", total):
            is_taught = picture.label in learner.labels
            try:
                seen = list(self.conditions.apply(picture.path, learner.backbone))
            except ImageError as error:
                unreadable.append(str(error))
                continue
            for each in seen:
                found = learner.predict(each.pixels, false_accept=self.false_accept).label
                predictions.append(
                    CheckedPrediction(picture, is_taught, each.condition, each.draw, found)
                )
        return tuple(predictions), unreadable


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
    tests = ((learner, picture) for picture in pictures)
    predictions, unreadable = evaluator.run(tests, len(pictures))
    _require_readable(predictions, unreadable)
    nothing = nothing_called_unknown(learner, evaluator.false_accept)
    return CheckResult(predictions, name, tuple(unreadable), (), nothing)


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
    _require_readable(embeddings, unreadable)
    require_enough(pictures, embeddings, unreadable + copies)
    tests = cross_validation_tests(embeddings, backbone)
    predictions, vanished = evaluator.run(tests, len(embeddings))
    whole = Learner(backbone)
    teach(whole.teach_embedding, ((z, each.label) for each, z in embeddings.items()))
    unreadable += vanished
    _require_readable(predictions, unreadable)
    nothing = nothing_called_unknown(whole, evaluator.false_accept)
    return CheckResult(predictions, CROSS_VALIDATED, tuple(unreadable), tuple(copies), nothing)


def cross_validation_tests(
    embeddings: TaughtEmbeddings, backbone: Backbone
) -> Iterator[LearnerTest]:
    """Yield every picture once, with a learner that was taught all folds except the picture's."""
    for fold in folds(list(embeddings)):
        learner = Learner(backbone)
        held_out = set(fold)
        taught = ((z, each.label) for each, z in embeddings.items() if each not in held_out)
        teach(learner.teach_embedding, taught)
        yield from ((learner, picture) for picture in fold)


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


def _require_readable(found: Collection[Any], unreadable: Sequence[str]) -> None:
    """Raise ImageError if nothing was found because no picture can be read."""
    if not found:
        others = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        raise ImageError(f"no picture can be read: {unreadable[0]}{others}")


def labelled_pictures(paths: Iterable[Path]) -> list[Example]:
    """Return the given files and all pictures in and below the given folders, each once.

    Args:
        paths: Picture files, folders of pictures, or folders of such folders.

    Raises:
        ImageError: A path does not exist, or contains no picture.
        DataError: A folder has several label folders of one name.
        LabelError: The name of a picture's folder cannot be a label.
    """
    found: dict[str, Example] = {}
    for path in paths:
        if not os.path.exists(path):
            raise ImageError(f"cannot read {path}: No such file or directory")
        inside = pictures_under(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}")
        _require_one_folder_each(path, inside)
        for picture in inside:
            found.setdefault(os.path.abspath(picture), Example(picture, _label_of(picture)))
    return list(found.values())


def _require_one_folder_each(given: Path, pictures: Iterable[Path]) -> None:
    """Raise DataError if folders of different kinds are in one, such as those to teach and test."""
    folders: dict[str, Path] = {}
    for folder in dict.fromkeys(picture.parent for picture in pictures):
        first = folders.setdefault(folder.name, folder)
        if first != folder:
            both = f"{given} has two folders {folder.name!r}, {first} and {folder}"
            raise DataError(f"{both}: give the folder of one of them, such as {first.parent}")


def require_enough(
    pictures: Iterable[Example], usable: Collection[Example], why_not: Sequence[str] = ()
) -> None:
    """Check that there are enough pictures to teach some of each label and test the others.

    Args:
        pictures: All given pictures.
        usable: Those that can be read and are no copies.
        why_not: Why the others are not usable, for the message.

    Raises:
        DataError: There is one label only, or a label with fewer than two usable pictures.
    """
    labels = dict.fromkeys(picture.label for picture in pictures)
    if len(labels) < 2:
        raise DataError(
            f"all pictures are of {next(iter(labels))!r}: give pictures of at least two labels, "
            "one folder per label, or a --state that knows other labels"
        )
    counts = Counter(picture.label for picture in usable)
    rare = ", ".join(repr(label) for label in labels if counts[label] < FEWEST)
    if rare:
        because = f" ({why_not[0]})" if why_not else ""
        raise DataError(
            f"there are too few pictures of {rare}{because}: give at least {FEWEST} of each label, "
            "or a --state that was taught other pictures"
        )


def _label_of(picture: Path) -> str:
    folder = os.path.dirname(os.path.abspath(picture))
    try:
        return require_label(os.path.basename(folder))
    except LabelError as error:
        raise LabelError(
            f"the name of the folder of {picture} cannot be a label: {error}"
        ) from error
