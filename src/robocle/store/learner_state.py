"""The state of a learner: a classifier, its undo history, and the file it is kept in, if any.

Every change is applied in memory and then written to the file. If the write fails, the change is
reverted, so memory and file never differ.
"""

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier
from robocle.classifiers.labels import spelling_of
from robocle.errors import FeatureError, LabelError, StateError
from robocle.images.sketches import Sketches
from robocle.store.history import Replay, replayed, with_checkpoint
from robocle.store.operations import Operation, Undo, last_taught
from robocle.store.parts import Parts
from robocle.store.state_store import StateStore, located
from robocle.store.steps import Step
from robocle.store.stored_state import StoredState, new_source

log = logging.getLogger("robocle")


class LearnerState:
    """What a learner has learned, and the operations that change it."""

    def __init__(self, stored: StoredState, classifier: StreamingClassifier) -> None:
        """Create the state of a learner.

        Args:
            stored: The classifier before the operations of the history, and these operations.
            classifier: The classifier after these operations.
        """
        self.classifier = classifier
        self._stored = stored
        self._replay = Replay()
        self._step: Step | None = None
        self._store: StateStore | None = None

    @classmethod
    def new(cls, parts: Parts, classifier: StreamingClassifier) -> "LearnerState":
        """Return the state of a learner without history."""
        state = classifier.state()
        sources = (new_source(),)
        return cls(StoredState(parts, state.labels, state.arrays, sources=sources), classifier)

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

    @property
    def parts(self) -> Parts:
        """The specs of the learner's parts."""
        return self._stored.parts

    @parts.setter
    def parts(self, parts: Parts) -> None:
        self._stored = replace(self._stored, parts=parts)

    @property
    def steps(self) -> list[str]:
        """What can be undone, the last step first."""
        return self._stored.steps

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None once it is out of the history."""
        return last_taught(self._stored.history, label)

    @property
    def sketches(self) -> Sketches:
        """The pictures that were taught, as far as they are known."""
        return self._stored.all_sketches

    @contextmanager
    def step(self, description: str | None) -> Iterator[None]:
        """Make all operations one step until the context ends. A step within a step is part of it.

        Args:
            description: What the step does; None if its operations say it.
        """
        outer = self._step
        self._step = outer or Step.of(description)
        try:
            yield
        finally:
            self._step = outer

    def do(self, operation: Operation) -> None:
        """Apply an operation. If it raises or cannot be written, nothing changes."""
        operation = replace(operation, step=self._step)
        before, classifier = self._stored, self.classifier
        after = before.appended(operation)
        try:
            operation.apply(classifier)
        except (LabelError, FeatureError):
            raise
        except BaseException:
            self.classifier = self._replay.classifier(before)
            raise
        self._change(operation, after, classifier)

    def undo(self) -> str:
        """Undo the last step and return what it did."""
        before = self._stored
        after = before.without_last_step()
        with _damaged("the undo history"):
            classifier = self._replay.classifier(after)
        description = before.last_step
        self._change(Undo(), after, classifier)
        return description

    def overlaps(self, other: "LearnerState") -> bool:
        """Return whether another state has pictures in common with this one, as far as known."""
        known = bool(self.classifier.labels and other.classifier.labels)
        return known and not set(self._stored.sources).isdisjoint(other._stored.sources)

    def merge(self, other: "LearnerState", description: str) -> None:
        """Merge another state into this one. This can be undone.

        Args:
            other: The state of the other learner.
            description: What is merged.

        Raises:
            InexactError: Classifiers of this kind cannot be merged.
            StateError: The merged state could not be read back, or it cannot be written.
        """
        merged = copy.deepcopy(self.classifier)
        merged.merge(_spelled_as(merged.labels, other.classifier))
        step = self._step or Step.of(description)
        after = with_checkpoint(self._stored, step, merged.state())
        with _damaged("what would be merged"):
            replayed(after)  # what cannot be read back must not be written
        self._restart(after.with_sources(other._stored.sources), merged)

    def purge(self) -> None:
        """Continue without history; what came before cannot be undone."""
        self._restart(self._without_history(), self.classifier)

    def stored(self) -> StoredState:
        """Return the state to store: the classifier before the history, and the history."""
        return self._stored

    def attach(self, store: StateStore) -> None:
        """Write every change from now on to a file."""
        self._store = store

    def write(self, path: Path) -> None:
        """Write the state to a file.

        The undo history and the sketches are written to the state's own file only.
        """
        if self._store is not None and located(path) == self._store.path:
            self._store.compact(self._stored)
            return
        StateStore.replace(path, self._without_history().without_sketches())

    def close(self) -> None:
        """Compact the journal and release the lock."""
        if self._store is None:
            return
        try:
            if not self._store.is_compact:
                self._compact(self._store)
        finally:
            self._store.close()

    def _change(
        self, change: Operation | Undo, after: StoredState, classifier: StreamingClassifier
    ) -> None:
        """Write a change to the journal and continue from what it leads to."""
        before = self._stored
        written = self._store.position if self._store else 0
        try:
            if self._store is not None:
                self._store.append(change)
            self._stored, self.classifier = after, classifier
        except BaseException:
            # An interrupt may arrive after the change was written.
            if self._store is not None and self._store.position != written:
                self._stored, self.classifier = after, classifier
            else:
                self._stored, self.classifier = before, self._replay.classifier(before)
            raise
        self._stored = self._replay.bounded(self._stored)
        if self._store is not None and self._store.is_full:
            self._compact(self._store)

    def _restart(self, after: StoredState, classifier: StreamingClassifier) -> None:
        """Write a snapshot and continue from it."""
        if self._store is not None:
            identity = self._store.identity
            try:
                self._store.compact(after)
            except BaseException:
                if self._store.identity != identity:
                    self._stored, self.classifier = after, classifier
                raise
        self._stored, self.classifier = after, classifier

    def _without_history(self) -> StoredState:
        return self._stored.with_base(self.classifier.state())

    def _compact(self, store: StateStore) -> None:
        """Compact the journal. If that fails, every operation is still in the journal."""
        try:
            store.compact(self._stored)
        except StateError as error:
            log.warning("%s; what was taught is safe in the journal", error)


def _spelled_as(labels: tuple[str, ...], other: StreamingClassifier) -> StreamingClassifier:
    """Return another classifier; those of its labels that look like these are spelled like them."""
    spellings = {each: spelling_of(each, labels) for each in other.labels if each not in labels}
    changes = {old: new for old, new in spellings.items() if new and new not in other.labels}
    renamed = copy.deepcopy(other) if changes else other
    for old, new in changes.items():
        renamed.rename(old, new)
    return renamed


@contextmanager
def _damaged(name: str) -> Iterator[None]:
    """Turn an error of a stored classifier or its operations into one that says what is damaged."""
    try:
        yield
    except (StateError, LabelError, FeatureError, np.linalg.LinAlgError) as error:
        raise StateError(f"{name} is damaged: {error}") from error
