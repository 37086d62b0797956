"""The learned part of a learner, in memory: a classifier that follows a state.

The state holds everything that was taught, and other programs may change it. So a change is written
to the state first. Before each use, the classifier is taught the rows that have changed since,
whichever program has changed them. A thread that uses the classifier takes it out. If an exception
such as an interrupt ends the use, it is not put back, and is computed again from the state.

What predictions need is computed once after each change, as a snapshot that never changes. While
another thread makes a change, predictions use the snapshot before it.
"""

import logging
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import imported
from robocle.backbones.world import World, used_world
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.labels import UNKNOWN
from robocle.errors import RobocleError, StateError
from robocle.images.sketches import Sketches
from robocle.learner.pipeline import Parts
from robocle.store.change import Change, changing
from robocle.store.folding import built, classifier_of
from robocle.store.records import Row, StepName
from robocle.store.state import Position, State

if TYPE_CHECKING:
    from robocle.recognition.decision import Decision
    from robocle.recognition.meaning import Scored, Snapshot


log = logging.getLogger("robocle")


@dataclass(frozen=True, eq=False)
class Summary:
    """What is in a state, without the embeddings. It never changes."""

    position: Position
    counts: dict[str, int]
    unknown: int
    """How many pictures were taught as unknown."""
    sketches: Sketches
    last: int
    """When the last picture was taught."""


NOTHING = Summary((0, 0), {}, 0, Sketches(), 0)


@dataclass
class OpenStep:
    """A step that is going on."""

    name: StepName
    id: str = ""
    """The id of the step in `Learner.steps`; empty until something is changed in it."""


class StepOfThread(threading.local):
    """The step that each thread is in, if any."""

    now: OpenStep | None = None


class Learned:
    """What was learned. It lends the classifier to one thread at a time.

    Args:
        state: The state.
        parts: The specs of the learner's parts, in the form that this version writes.
        views: The spec of the views of pictures to recognise; empty for those of the state.
    """

    def __init__(self, state: State, parts: Parts, views: str = "") -> None:
        self.state = state
        # An empty classifier, which checks what is taught: to teach, the others need not be read.
        self.empty = built(state.name, parts.classifier)
        seen = parts.backbone, parts.fingerprint, parts.pooling, views or parts.prediction_views
        world = used_world(self.empty, *seen)
        self.world: World | None = world
        self.parts = replace(parts, world=world.identity if world else "")
        self.guard = state.guard
        self._busy = False  # whether a thread is using the classifier, or changing the state
        self._changed = state.position()  # after the last change that was made here
        self._warned = ""
        self._step = StepOfThread()
        self._classifier: StreamingClassifier | None = None
        self._at: Position = (0, 0)  # of what the classifier was taught
        self._summary = NOTHING
        self._now: Snapshot | None = None
        self._decision: tuple[object, Decision | None] | None = None
        _in_use[id(self)] = self

    # Following the state

    def _position(self) -> Position:
        """Return where the state is now, or was when it could last be read."""
        try:
            return self.state.position()
        except StateError as error:
            if self.state.is_open and str(error) != self._warned:
                log.warning("%s; going on with what was taught before", error)
            self._warned = str(error)
            return max(self._at, self._changed, self._summary.position)

    def _may_lag(self, cached: "Summary | Snapshot | None") -> bool:
        """Return whether what was computed before a change may be used while it is being made."""
        return cached is not None and self._busy and cached.position >= self._changed

    @property
    def summary(self) -> Summary:
        """What is in the state now, without waiting for a change that is going on."""
        found = self._summary
        if self._may_lag(found):
            return found
        with self.guard:
            position = self._position()
            if self._summary.position != position:
                self._summary = self._summarised(self._summary, position)
            return self._summary

    def _summarised(self, before: Summary, position: Position) -> Summary:
        """Return the summary at a position, from the rows that have changed if that is enough."""
        is_other_file = before.position[0] != position[0]
        found = [] if is_other_file else self.state.summary("changed > ?", before.position[1])
        appended = all(time > before.last and fold is None for time, *_, fold in found)
        if is_other_file or not appended:
            before, found = NOTHING, self.state.summary()
        counts = {**before.counts, UNKNOWN: before.unknown}
        sketches, labels = [], []
        for _, label, pictures, sketch, _ in found:
            if label is not None:
                counts[label] = counts.get(label, 0) + pictures
            if label is not None and sketch is not None:
                sketches.append(np.frombuffer(sketch, np.int8))
                labels.append(label)
        unknown = counts.pop(UNKNOWN)
        last = max((time for time, *_ in found), default=before.last)
        return Summary(position, counts, unknown, before.sketches.added(sketches, labels), last)

    @contextmanager
    def classifier(self) -> Iterator[StreamingClassifier]:
        """Lend the classifier to one thread at a time. Even a query may change what it caches."""
        with self.guard, self._being_busy():
            classifier = self._taken()
            try:
                yield classifier
            except RobocleError:
                self._classifier = classifier
                raise
            self._classifier = classifier

    @contextmanager
    def _being_busy(self) -> Iterator[None]:
        """Let predictions of other threads go on with what was computed before."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def _taken(self) -> StreamingClassifier:
        """Return the classifier, which is computed again unless it is given back."""
        position = self._position()
        classifier, self._classifier = self._classifier, None
        if classifier is not None and position != self._at:
            classifier = classifier if self._follows(classifier, position) else None
        if classifier is None:
            classifier = classifier_of(self.state)
        self._at = position
        if self.world is not None:
            classifier.use_world(self.world.pictures)
        return classifier

    def _follows(self, classifier: StreamingClassifier, position: Position) -> bool:
        """Teach a classifier the rows that have changed, and return whether that was possible."""
        if position[0] != self._at[0]:  # another file
            return False
        rows = self.state.rows("changed > ?", self._at[1])
        # What its sums contain is not known, so these follow only what was taught since.
        later = classifier.forgets_exactly or all(row.time > self._at[1] for row in rows)
        if not later or any(row.fold is not None for row in rows):
            return False
        with self.state.reading():
            changed = {
                row.id.hex(): None if row.label is None else row.sample()
                for row in sorted(rows, key=Row.order)
            }
        classifier.update(changed)
        return True

    # Changes

    @contextmanager
    def step(self, title: str | None, token: str | None = None) -> Iterator[OpenStep]:
        """Make all changes of this thread one step until the context ends; see `Learner.step`."""
        outer = self._step.now
        self._step.now = outer or OpenStep(StepName.of(title, token))
        try:
            yield self._step.now
        finally:
            self._step.now = outer

    @contextmanager
    def change(self, step: StepName | None = None, merged: int = 0) -> Iterator[Change]:
        """Make one change of the state, as part of the step that this thread is in, if any."""
        with self.guard, self._being_busy():
            now = self._step.now or OpenStep(step or StepName())
            with changing(self.state, now.name, merged) as change:
                yield change
            if change.is_step:
                now.id = now.name.token
            self._changed = self.state.position()

    def close(self) -> None:
        """Close the file."""
        with self.guard:
            if self.state.is_open and self.state.path is not None:
                with suppress(StateError):
                    _ = self.summary
                self.state.close()

    # Queries

    def scored(self, values: NDArray[Any]) -> "Scored":
        """Return the scores of an embedding, and what they mean."""
        now = self._now
        if now is None or not self._may_lag(now):
            with self.classifier() as classifier:
                now = self._snapshot(classifier)
                if now is None:
                    from robocle.recognition.meaning import scored

                    return scored(classifier, values[None], None)[0]
        return now.scored(values)

    def _snapshot(self, classifier: StreamingClassifier) -> "Snapshot | None":
        """Return what predictions need, computed once after each change; None if it can change."""
        if self._now is None:
            imported("robocle.recognition.meaning")  # a fork waits for that
        from robocle.recognition.meaning import Snapshot

        if self._now is None or self._now.position != self._at:
            answer = classifier.answer()
            if answer is None:
                return None
            labels, width = classifier.labels, classifier.width or 0
            decision = self.decision_of(classifier)
            self._now = Snapshot(self._at, labels, width, answer, decision)
        return self._now

    @contextmanager
    def judged(self) -> Iterator[tuple[StreamingClassifier, "Decision | None"]]:
        """Lend the classifier and what decides between known and unknown."""
        with self.classifier() as classifier:
            yield classifier, self.decision_of(classifier)

    def last_embedding(self, label: str | None) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None if no sample of it is kept."""
        last = "label = ? AND fold IS NULL ORDER BY number DESC LIMIT 1"
        with self.guard, self.state.reading():
            found = self.state.rows(last, label)
            return found[0].numbers() if found else None

    def decision_of(self, classifier: StreamingClassifier) -> "Decision | None":
        """Return what decides between known and unknown, which is computed once."""
        from robocle.recognition.decision import Decision

        answer = classifier.answer() if classifier.labels else None
        if answer is None:
            return None
        if self._decision is None or self._decision[0] is not answer:
            self._decision = answer, Decision.of(answer, self.world)
        return self._decision[1]


# What is in use in this process. A fork waits until no thread changes any of it: the fork would
# have locks that no thread will ever release, and half a change.
# It is copied at once by `valuerefs`: to iterate over a WeakSet fails if a thread adds to it.
_in_use: "weakref.WeakValueDictionary[int, Learned]" = weakref.WeakValueDictionary()
_held: list[Learned] = []


def _before_fork() -> None:
    found = [learned for each in _in_use.valuerefs() if (learned := each()) is not None]
    for each in sorted(found, key=id):  # as a merge of two does
        each.guard.acquire()
        _held.append(each)


def _after_fork() -> None:
    while _held:
        _held.pop().guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
