"""Exams: which learner is asked about which picture.

A state is asked about all pictures. Without one, learners are taught in memory, each with all
pictures but those it is asked about. A picture is looked at once as a lesson, and once in each
condition as a question; of the questions nothing is kept but the answers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone
from robocle.errors import DataError, ImageError, NothingTaughtError
from robocle.evaluation.check.conditions import Conditions
from robocle.evaluation.check.pictures import require_enough
from robocle.evaluation.check.result import Answer, CheckResult
from robocle.evaluation.embedding import content_hash
from robocle.learner import Learner
from robocle.recognition.calibration import DEFAULT_UNKNOWN
from robocle.types import Example

MOST_ROUNDS = 5
LEFT_OUT = "a learner that was taught without it"

Exam = tuple[Learner, Example]
Lessons = dict[Example, NDArray[np.float32]]
Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]


@dataclass(frozen=True)
class Asking:
    """How pictures are asked about."""

    conditions: Conditions
    progress: Progress
    unknown: float = DEFAULT_UNKNOWN

    def answers(self, learner: Learner, picture: Example) -> Iterator[Answer]:
        """What a learner says of one picture in each condition."""
        is_taught = picture.label in learner.labels
        for met in self.conditions.meetings(picture.path, learner.backbone):
            said = learner.predict(met.pixels, self.unknown).label
            yield Answer(picture, is_taught, met.condition, met.draw, said)

    def all_answers(self, exams: Iterable[Exam], total: int) -> tuple[list[Answer], list[str]]:
        """The answers of all exams, and what is wrong with pictures that cannot be read."""
        answers: list[Answer] = []
        unreadable: list[str] = []
        for learner, picture in self.progress(exams, "asking", total):
            try:
                answers += self.answers(learner, picture)
            except ImageError as error:
                unreadable.append(str(error))
        return answers, unreadable


def check_state(
    name: str, learner: Learner, pictures: Sequence[Example], asking: Asking
) -> CheckResult:
    """Ask a learner, known by a name; things with labels that it does not know are unknown."""
    if not learner.labels:
        raise NothingTaughtError
    if len(learner.labels) == 1:
        raise DataError(
            f"{name} knows {learner.labels[0]!r} alone, so everything is that to it: "
            "teach it a second label"
        )
    exams = ((learner, picture) for picture in pictures)
    answers, unreadable = asking.all_answers(exams, len(pictures))
    return _result(answers, name, unreadable, [])


def check_by_leaving_out(
    backbone: Backbone, pictures: Sequence[Example], asking: Asking
) -> CheckResult:
    """Teach new learners of the default parts, and ask each about pictures it was not taught."""
    require_enough(pictures, pictures)
    lessons, unreadable, copies = _looked_at(Learner(backbone), pictures, asking.progress)
    if not lessons:
        raise _nothing_readable(unreadable)
    require_enough(pictures, lessons, unreadable + copies)
    exams = left_out_exams(lessons, backbone)
    answers, vanished = asking.all_answers(exams, len(lessons))
    return _result(answers, LEFT_OUT, unreadable + vanished, copies)


def left_out_exams(lessons: Lessons, backbone: Backbone) -> Iterator[Exam]:
    """Every picture once, with a learner that was taught the others."""
    for left_out in rounds(list(lessons)):
        learner = Learner(backbone)
        asked = set(left_out)
        for picture, vector in lessons.items():
            if picture not in asked:
                learner.teach_embedding(vector, picture.label)
        yield from ((learner, picture) for picture in left_out)


def rounds(pictures: Sequence[Example]) -> list[list[Example]]:
    """The pictures in parts that are left out together, each picture in one.

    Of a label, neighbours are left out together: pictures taken one after another look alike. A
    label with fewer pictures than there are rounds is taught whole in the last ones.
    """
    by_label: dict[str, list[Example]] = {}
    for picture in pictures:
        by_label.setdefault(picture.label, []).append(picture)
    parts: list[list[Example]] = [[] for _ in range(MOST_ROUNDS)]
    for alike in by_label.values():
        count = min(len(alike), MOST_ROUNDS)
        for place, picture in enumerate(alike):
            parts[place * count // len(alike)].append(picture)
    return [part for part in parts if part]


def _looked_at(
    learner: Learner, pictures: Sequence[Example], progress: Progress
) -> tuple[Lessons, list[str], list[str]]:
    """The vectors of the pictures; what is wrong with the unreadable; which are copies."""
    lessons: Lessons = {}
    unreadable, copies = [], []
    first_of: dict[str, Example] = {}
    for picture in progress(pictures, "looking", len(pictures)):
        try:
            content = content_hash(picture.path)
            if content in first_of:
                copies.append(f"{picture.path} is a copy of {first_of[content].path}: left out")
                continue
            lessons[picture] = learner.look(picture.path).vector
            first_of[content] = picture
        except ImageError as error:
            unreadable.append(str(error))
    return lessons, unreadable, copies


def _result(
    answers: list[Answer], asked: str, unreadable: list[str], copies: list[str]
) -> CheckResult:
    if not answers:
        raise _nothing_readable(unreadable)
    return CheckResult(tuple(answers), asked, tuple(unreadable), tuple(copies))


def _nothing_readable(unreadable: list[str]) -> ImageError:
    others = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
    return ImageError(f"no picture can be read: {unreadable[0]}{others}")
