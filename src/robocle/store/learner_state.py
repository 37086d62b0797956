"""The state of a learner: a classifier, its undo history, and the file it is kept in, if any.

A change is written to the file before it counts as learned: see `robocle.store.learned`. An
interrupt may leave the file with or without the change. The store then counts as unsettled, and the
next change first writes a new snapshot. So memory and file agree before anything else is
acknowledged.

Changes are made one after another. Queries need not wait for them: see
`robocle.embedding_predictor`.
"""

import copy
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from robocle.classifiers import StreamingClassifier
from robocle.classifiers.labels import new_spellings
from robocle.errors import (
    FeatureError,
    InexactError,
    LabelError,
    StateError,
    UnknownSampleError,
)
from robocle.store.history import replayed, with_bounded_checkpoints
from robocle.store.learned import Learned
from robocle.store.operations import Operation, Undo
from robocle.store.parts import Parts
from robocle.store.reading import located
from robocle.store.state_store import StateStore
from robocle.store.steps import Step
from robocle.store.stored_state import StoredState, new_source

log = logging.getLogger("robocle")


class LearnerState(Learned):
    """What a learner has learned, and the operations that change it."""

    def __init__(self, stored: StoredState, classifier: StreamingClassifier) -> None:
        """Create the state of a learner; see `Learned`."""
        super().__init__(stored, classifier)
        self._steps = threading.local()  # the step that each thread is in, if any
        self._store: StateStore | None = None

    @classmethod
    def new(cls, parts: Parts, classifier: StreamingClassifier) -> "LearnerState":
        """Return the state of a learner without history."""
        return cls(StoredState(parts, classifier.state(), sources=(new_source(),)), classifier)

    @classmethod
    def restore(cls, name: str, stored: StoredState) -> "LearnerState":
        """Return the state of a learner from a stored state.

        Args:
            name: The name of the stored state, for messages.
            stored: The stored state.

        Raises:
            StateError: The stored state is inconsistent.
        """
        with _damaged(name):
            classifier = replayed(stored)
        if not (stored.sources and (classifier.labels or stored.history or stored.checkpoints)):
            # Copies of an empty state have nothing in common.
            stored = replace(stored, sources=(new_source(),))
        return cls(stored, classifier)

    def after_fork(self) -> None:
        """Make the state usable in a process that was forked, in no step; see `Learned`."""
        super().after_fork()
        self._steps = threading.local()

    @contextmanager
    def step(self, description: str | None, token: str | None = None) -> Iterator[None]:
        """Make all operations of this thread one step until the context ends.

        A step within a step is part of it.

        Args:
            description: What the step does; None if its operations say it.
            token: Steps with the same token that follow each other are one step.
        """
        outer = self._step
        self._steps.now = outer or Step.of(description, token)
        try:
            yield
        finally:
            self._steps.now = outer

    @property
    def _step(self) -> Step | None:
        """The step that this thread is in."""
        step: Step | None = getattr(self._steps, "now", None)
        return step

    def do(self, operation: Operation) -> None:
        """Apply an operation. If it raises or cannot be written, nothing changes."""
        with self._guard:
            operation = replace(operation, step=self._step)
            after = self._stored.appended(operation)
            classifier = self._taken()
            try:
                operation.apply(classifier)
            except (LabelError, FeatureError, InexactError, UnknownSampleError):
                self._classifier = classifier
                raise
            self._change(operation, after, classifier)

    def undo(self) -> str:
        """Undo the last step and return what it did."""
        with self._guard:
            after = self._stored.without_last_step()
            with _damaged("the undo history"):
                classifier = self._replay.classifier(after)
            description = self._stored.last_step
            self._change(Undo(), after, classifier)
            return description

    def merge(self, other: "LearnerState", description: str) -> None:
        """Merge another state into this one. This can be undone.

        Args:
            other: The state of the other learner.
            description: What is merged.

        Raises:
            InexactError: Classifiers of this kind cannot be merged.
            StateError: The merged state could not be read back, or it cannot be written.
        """
        with other.classifier() as lent:  # copied first: two learners may merge each other
            added, sources = copy.deepcopy(lent), other._stored.sources
        with self._guard:
            with self.classifier() as ours:
                merged = copy.deepcopy(ours)
            for old, new in new_spellings(added.labels, merged.labels).items():
                added.rename(old, new)
            try:
                merged.merge(added)
            except StateError as error:
                raise StateError(f"what would be merged is damaged: {error}") from error
            step = self._step or Step.of(description)
            after = with_bounded_checkpoints(self._stored, step, merged.state())
            with _damaged("what would be merged"):
                replayed(after)  # what cannot be read back must not be written
            self._restart(after.with_sources(sources), merged)

    def purge(self) -> None:
        """Continue without history; what came before cannot be undone."""
        with self._guard:
            after = self._without_history()
            self._restart(after, self._taken())

    def attach(self, store: StateStore) -> None:
        """Write every change from now on to a file."""
        self._store = store

    def write(self, path: Path) -> None:
        """Write the state to a file.

        The undo history is written to the state's own file only.
        """
        with self._guard:
            if self._store is None or located(path) != self._store.path:
                StateStore.replace(path, self._without_history())
                return
            self._rewrite(self._store)

    def close(self) -> None:
        """Compact the journal and release the lock."""
        with self._guard:
            if self._store is None:
                return
            try:
                if self._store.is_open and not self._store.is_compact:
                    self._compact(self._store)
            finally:
                self._store.close()

    def _change(
        self, change: Operation | Undo, after: StoredState, classifier: StreamingClassifier
    ) -> None:
        """Write a change to the journal and continue from what it leads to."""
        self._classifier = None  # an interrupt must not leave it with another stored state
        if self._store is None:
            self._stored = after
        else:
            self._settle(self._store)
            with self._store.changing():
                self._store.append(change)
                self._stored = after
        self._replay.remember(after, classifier)
        self._classifier = classifier
        self._stored = self._replay.bounded(self._stored)
        if self._store is not None and self._store.is_full:
            self._compact(self._store)

    def _restart(self, after: StoredState, classifier: StreamingClassifier) -> None:
        """Write a snapshot and continue from it."""
        self._classifier = None  # an interrupt must not leave it with another stored state
        if self._store is None:
            self._stored = after
        else:
            with self._store.changing():
                self._store.compact(after)
                self._stored = after
        self._classifier = classifier

    def _settle(self, store: StateStore) -> None:
        """Make the file agree with memory, if an interrupt or a cleaner has left it uncertain.

        Raises:
            StateError: The file cannot be written.
        """
        if not store.is_settled:
            self._rewrite(store)

    def _compact(self, store: StateStore) -> None:
        """Compact the journal. If that fails, every operation is still in the journal."""
        try:
            self._rewrite(store)
        except StateError as error:
            log.warning("%s; what was taught is safe in the journal", error)

    def _rewrite(self, store: StateStore) -> None:
        """Replace the snapshot and the journal with a snapshot of what was learned."""
        with store.changing():
            store.compact(self._stored)


@contextmanager
def _damaged(name: str) -> Iterator[None]:
    """Turn an error of a stored classifier or its operations into one that says what is damaged."""
    try:
        yield
    except (StateError, LabelError, FeatureError, UnknownSampleError) as error:
        raise StateError(f"{name} is damaged: {error}") from error
