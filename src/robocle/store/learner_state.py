"""LearnerState: a classifier, what can be taken back, and the file it lives in, if it has one.

Every change is first done, then written down; what cannot be written down is taken back, so memory
and file never differ.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.errors import FeatureError, LabelError, StateError
from robocle.store.history import History
from robocle.store.operations import Operation, Undo
from robocle.store.snapshot import Parts, StoredState
from robocle.store.state_store import StateStore

log = logging.getLogger("robocle")


class LearnerState:
    """What a learner has learnt, and everything that can be done to it."""

    def __init__(self, parts: Parts, history: History) -> None:
        self.parts = parts
        self._history = history
        self._store: StateStore | None = None

    @classmethod
    def of(cls, name: str, stored: StoredState) -> "LearnerState":
        """The memory in a stored state."""
        try:
            history = History(lambda: _restored(stored), stored.history)
        except (StateError, LabelError, FeatureError, np.linalg.LinAlgError) as error:
            raise StateError(f"{name} is damaged: {error}") from error
        return cls(stored.parts, history)

    @property
    def classifier(self) -> StreamingClassifier:
        """The classifier as it is now."""
        return self._history.now

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What can be taken back, the oldest first."""
        return self._history.operations

    def do(self, operation: Operation) -> None:
        """Do an operation; if it is refused or cannot be written down, nothing has changed."""
        self._history.do(operation)
        self._keep(operation, self._history.undo)
        self._history.settle()

    def undo(self) -> Operation:
        """Take back the last operation."""
        last = self._history.undo()
        self._keep(Undo(), lambda: self._history.do(last))
        return last

    def start_anew(self, classifier: StreamingClassifier) -> None:
        """Go on from a classifier; nothing before can be taken back."""
        if self._store is not None:
            self._store.compact(self._bare(classifier))
        self._history.start_anew(classifier)

    def stored(self) -> StoredState:
        """All of it, to be written."""
        base = self._history.base.state()
        return StoredState(self.parts, base.labels, base.arrays, self._history.operations)

    def live_in(self, store: StateStore) -> None:
        """Keep every change in a file from now on."""
        self._store = store

    def write(self, path: Path) -> None:
        """Write it to a file; to another than its own without what can be taken back."""
        if self._store is not None and os.path.abspath(path) == os.path.abspath(self._store.path):
            self._store.compact(self.stored())
            return
        with StateStore.locked(path) as store:
            store.compact(self._bare(self.classifier))

    def close(self) -> None:
        """Put all in one file and let others write it."""
        if self._store is None:
            return
        try:
            if not self._store.at_rest:
                self._compact(self._store)
        finally:
            self._store.close()

    def _bare(self, classifier: StreamingClassifier) -> StoredState:
        state = classifier.state()
        return StoredState(self.parts, state.labels, state.arrays)

    def _keep(self, operation: Operation | Undo, otherwise: Callable[[], object]) -> None:
        """Write an operation down, or take it back."""
        if self._store is None:
            return
        try:
            self._store.append(operation)
        except BaseException:
            otherwise()
            raise
        if self._store.full:
            self._compact(self._store)

    def _compact(self, store: StateStore) -> None:
        """Put all in the snapshot; if that fails, all is in the journal still."""
        try:
            store.compact(self.stored())
        except StateError as error:
            log.warning("%s; what was taught is safe in the journal", error)


def _restored(stored: StoredState) -> StreamingClassifier:
    classifier = CLASSIFIERS.build(stored.parts.classifier)
    classifier.restore(ClassifierState(stored.labels, stored.arrays))
    return classifier
