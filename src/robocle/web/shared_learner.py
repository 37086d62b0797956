"""A learner that several clients teach and use at once.

Every method is called in a worker thread. What `teach` and the other changes return is on disk.
"""

import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from robocle._internal.wording import plural
from robocle.classifiers.labels import (
    UNKNOWN,
    require_label,
    similar_label,
    spelling_of,
)
from robocle.errors import StateAccessError, StateError
from robocle.images import Picture
from robocle.learner import Learner
from robocle.recognition.readiness import Readiness
from robocle.web import answers
from robocle.web.requests import MAX_LABELS, Lesson, Question, RequestError, Search

REMEMBERED_LESSONS = 5000
SLOW_SECONDS, QUIET_SECONDS = 0.2, 1.5
"""If the readiness takes longer than the first, it waits until nothing changed for the second."""


class SharedLearner:
    """What the server does with its learner.

    Args:
        learner: The learner, open for teaching.
        path: Its file.
        false_accept: The rate of predictions, as in `Learner.predict`.
    """

    def __init__(self, learner: Learner, path: Path, false_accept: float) -> None:
        self.learner = learner
        self.path = path
        self.false_accept = false_accept
        self._changed_at = 0.0
        self._judged: tuple[int, bool] = -1, True
        self._readiness: Readiness | None = None
        self._readiness_seconds = 0.0
        self._answers: OrderedDict[tuple[str, int], answers.Taught] = OrderedDict()

    @property
    def is_judged(self) -> bool:
        """Whether the learner can tell known from unknown, and so whether a label is sure."""
        if self._judged[0] != self.learner.version:
            self._judged = self.learner.version, self.learner.unknown_below() is not None
        return self._judged[1]

    def knowledge(self) -> answers.Knowledge:
        """Return what the learner knows.

        The learner is busy while the readiness is computed.
        """
        version = self.learner.version  # read first: a later change will be sent again
        start = time.monotonic()
        self._readiness = self.learner.readiness()
        self._readiness_seconds = time.monotonic() - start
        return answers.Knowledge.of(self.learner, self._readiness, version)

    def knowledge_in_lesson(self) -> tuple[answers.Knowledge, bool]:
        """Return the same during a lesson, and whether it is complete.

        If the readiness takes long, the result has the last one and is not complete.
        """
        is_quiet = time.monotonic() > self._changed_at + QUIET_SECONDS
        if is_quiet or self._readiness_seconds < SLOW_SECONDS:
            return self.knowledge(), True
        return answers.Knowledge.of(self.learner, self._readiness, self.learner.version), False

    def state(self) -> answers.State:
        """Return what the learner knows, where the state is and what it consists of."""
        return answers.State(
            **dict(self.knowledge()),
            file=self.path.name,
            bytes=self.path.stat().st_size if self.path.is_file() else 0,
            parts=vars(self.learner.parts),
        )

    def teach(self, picture: Picture, lesson: Lesson) -> answers.Taught:
        """Teach one picture, unless the same picture of the same lesson was taught before.

        Raises:
            RobocleError: As `Learner.teach` does, or there are too many labels.
        """
        key = lesson.lesson, lesson.number
        if lesson.lesson and key in self._answers:
            return self._answers[key].model_copy(update={"repeated": True})
        labels = self.learner.labels
        label = _taught_label(lesson.label, labels)
        similar = "" if label in labels else similar_label(label, labels) or ""
        with self.learner.step(token=f"lesson {lesson.lesson}" if lesson.lesson else None) as step:
            found = self.learner.teach(picture, label, poor=lesson.poor, box=lesson.box)
        # Another program may have forgotten it meanwhile.
        counts = {**self.learner.counts, UNKNOWN: self.learner.unknown_taught}
        answer = answers.Taught(
            label=label,
            pictures=counts.get(label, 0),
            complaints=[answers.Complaint.model_validate(each) for each in found],
            similar=similar,
            step=step.id,
            version=self._changed(),
            repeated=False,
        )
        self._answers[key] = answer
        while len(self._answers) > REMEMBERED_LESSONS:
            self._answers.popitem(last=False)
        return answer

    def rate(self, wanted: float | None) -> float:
        """Return the rate that counts: that of the server, if a request has none."""
        return wanted or self.false_accept

    def answer(self, picture: Picture, question: Question) -> answers.Prediction:
        """Recognise a picture, and explain the prediction if that is wanted."""
        use = self.learner.explain if question.explain else self.learner.predict
        found = use(picture, false_accept=self.rate(question.false_accept), box=question.box)
        return answers.Prediction.of(found, question.top)

    def find(self, picture: Picture, search: Search) -> answers.Finds:
        """Find objects in a picture; see `Learner.find`."""
        rate = self.rate(search.false_accept)
        found = self.learner.find(picture, most=search.most, false_accept=rate)
        return answers.Finds(finds=[answers.Find(**each.as_values(search.top)) for each in found])

    def samples(self, label: str) -> answers.Samples:
        """Return the taught pictures of a label, the last one first.

        Raises:
            UnknownLabelError: It was never taught.
        """
        learner = self.learner
        name = learner.taught_label(label)
        found = [each for each in reversed(learner.samples) if each.label == name]
        return answers.Samples(
            label=name, samples=[answers.Sample.model_validate(each) for each in found]
        )

    def remove(self, ids: Sequence[str]) -> answers.Removed:
        """Remove taught pictures."""
        with self.learner.step() as step:
            removed = self.learner.remove(*ids)
        return answers.Removed(removed=removed, step=step.id, version=self._changed())

    def set_badge(self, label: str, badge: str) -> answers.Badges:
        """Choose an emoji or a colour for a label."""
        self.learner.set_badge(label, badge)
        return answers.Badges(label=label, badge=badge, version=self._changed())

    def forget(self, label: str) -> answers.Forgot:
        """Forget a label."""
        with self.learner.step() as step:
            self.learner.forget(label)
        return answers.Forgot(forgot=label, step=step.id, version=self._changed())

    def rename(self, label: str, new_label: str) -> answers.Renamed:
        """Rename a label. If the new name is a label already, the two become one."""
        with self.learner.step() as step:
            self.learner.rename(label, new_label)
        return answers.Renamed(
            renamed=label, new_label=new_label, step=step.id, version=self._changed()
        )

    def revert(self, step: str) -> answers.Undone:
        """Undo a step that others may have followed."""
        undone = self.learner.revert(step)
        return answers.Undone(undone=undone, version=self._changed())

    def undo(self, step: str | None = None) -> answers.Undone:
        """Undo the last step, if it is the one that is expected."""
        undone = self.learner.undo(step)
        return answers.Undone(undone=undone, version=self._changed())

    def redo(self, step: str | None = None) -> answers.Redone:
        """Redo the step that was undone last, if it is the one that is expected."""
        redone = self.learner.redo(step)
        return answers.Redone(redone=redone, version=self._changed())

    def check(self, picture: bytes, label: str, draws: int) -> answers.Check:
        """Test a picture clean and under corruptions; nothing is taught.

        Args:
            picture: A picture that was not taught.
            label: What it shows. If that was not taught, "unknown" is right.
            draws: How often each corruption is drawn.
        """
        # Only this needs scipy.ndimage, which takes longer to import than the server.
        from robocle.evaluation.check_result import CONDITIONS, IN_WORDS, Conditions
        from robocle.evaluation.corruptions import corruption

        learner = self.learner
        name = spelling_of(label, learner.labels)
        tallies = {each: {"right": 0, "unknown": 0, "wrong": 0} for each in CONDITIONS}
        for each in Conditions(draws=draws).apply(picture, learner.backbone):
            found = learner.predict(each.pixels, false_accept=self.false_accept).label
            # None, which is unknown, is right if the label was not taught.
            outcome = "right" if found == name else "wrong" if found else "unknown"
            tallies[each.condition][outcome] += 1
        conditions = [
            answers.Condition(
                name=key, in_words=IN_WORDS[key], advice=corruption(key).advice, **tally
            )
            for key, tally in tallies.items()
        ]
        return answers.Check(label=name or label, taught=name is not None, conditions=conditions)

    def state_to_send(self) -> bytes:
        """Return the state as a file to send, without its history."""
        return self._written(self.learner.save)

    def onnx_model(self) -> bytes:
        """Return the learner as an ONNX model."""
        return self._written(partial(self.learner.export_onnx, false_accept=self.false_accept))

    def _written(self, write: Callable[[Path], None]) -> bytes:
        with self.folder() as folder:
            write(folder / "file")
            return (folder / "file").read_bytes()

    def merge(self, path: Path) -> answers.Merged:
        """Merge a state that was exported elsewhere. The step is empty if nothing in it is new.

        Raises:
            StateError: It is no state, or has other parts.
        """
        try:
            other = Learner.load(path, self.learner.backbone)
        except StateError as error:
            raise StateError(str(error).replace(str(path), "the file")) from error
        size = f"{plural(len(other.labels), 'label')}, "
        size += plural(sum(other.counts.values()), "picture")
        with self.learner.step(f"merging {size}") as step:
            self.learner.merge(other)
        return answers.Merged(merged=size, step=step.id, version=self._changed())

    def _changed(self) -> int:
        """Note that something was changed, and return the version after it."""
        self._changed_at = time.monotonic()
        return self.learner.version

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Lend a folder inside that of the state: nothing is written anywhere else."""
        place = Path(os.path.realpath(self.path))
        try:
            lent = tempfile.TemporaryDirectory(prefix=".robocle-", dir=place.parent)
        except OSError as error:
            raise StateAccessError.of("write a file beside", place, error) from error
        with lent as folder:
            yield Path(folder)


def _taught_label(label: str, labels: Sequence[str]) -> str:
    """Return a label as the learner spells it.

    Raises:
        LabelError: It cannot be used.
        RequestError: It is new, and there are too many.
    """
    known = spelling_of(require_label(label), [*labels, UNKNOWN])
    if known is None and len(labels) >= MAX_LABELS:
        raise RequestError(
            409, f"there are {MAX_LABELS} labels already: forget one, or start another state"
        )
    return known or require_label(label)
