"""The state of a learner: a classifier, its undo history, and the file it is kept in, if any.

Every change is applied in memory and then written to the file. If the write fails, the change is
reverted, so memory and file never differ.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.errors import FeatureError, LabelError, StateError
from robocle.store.history import History
from robocle.store.operations import Operation, Undo, last_taught
from robocle.store.parts import Parts
from robocle.store.snapshot import StoredState
from robocle.store.state_store import StateStore, located

log = logging.getLogger("robocle")


class LearnerState:
    """What a learner has learned, and the operations that change it."""

    def __init__(self, parts: Parts, history: History) -> None:
        self.parts = parts
        self._history = history
        self._store: StateStore | None = None

    @classmethod
    def restore(cls, name: str, stored: StoredState) -> "LearnerState":
        """Return the state of a learner from a stored state.

        Args:
            name: The name of the stored state, for messages.
            stored: The stored state.

        Raises:
            StateError: The stored state is inconsistent.
        """
        state = ClassifierState(stored.labels, stored.arrays)
        try:
            history = History(lambda: _restored(stored.parts, state), stored.history, state)
        except (StateError, LabelError, FeatureError, np.linalg.LinAlgError) as error:
            raise StateError(f"{name} is damaged: {error}") from error
        return cls(stored.parts, history)

    @property
    def classifier(self) -> StreamingClassifier:
        """The classifier as it is now."""
        return self._history.now

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that can be undone, oldest first."""
        return self._history.operations

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None once it is out of the history."""
        return last_taught(self._history.operations, label)

    def do(self, operation: Operation) -> None:
        """Apply an operation. If it raises or cannot be written, nothing changes."""
        self._history.do(operation)
        self._write(operation, otherwise=self._history.undo)
        self._history.advance_base()

    def undo(self) -> Operation:
        """Undo the last operation and return it."""
        last = self._history.undo()
        self._write(Undo(), otherwise=lambda: self._history.do(last))
        return last

    def restart(self, classifier: StreamingClassifier) -> None:
        """Continue from a classifier; what came before cannot be undone."""
        if self._store is not None:
            self._store.compact(self._without_history(classifier))
        self._history.restart(classifier)

    def stored(self) -> StoredState:
        """Return the state to store: the classifier before the history, and the history."""
        base = self._history.base_state
        return StoredState(self.parts, base.labels, base.arrays, self._history.operations)

    def attach(self, store: StateStore) -> None:
        """Write every change from now on to a file."""
        self._store = store

    def write(self, path: Path) -> None:
        """Write the state to a file. The undo history is written to the state's own file only."""
        if self._store is not None and located(path) == self._store.path:
            self._store.compact(self.stored())
            return
        StateStore.replace(path, self._without_history(self.classifier))

    def close(self) -> None:
        """Compact the journal and release the lock."""
        if self._store is None:
            return
        try:
            if not self._store.is_compact:
                self._compact(self._store)
        finally:
            self._store.close()

    def _without_history(self, classifier: StreamingClassifier) -> StoredState:
        state = classifier.state()
        return StoredState(self.parts, state.labels, state.arrays)

    def _write(self, operation: Operation | Undo, otherwise: Callable[[], object]) -> None:
        """Write an operation to the journal. If that fails, call `otherwise`, which reverts it."""
        if self._store is None:
            return
        try:
            self._store.append(operation)
        except BaseException:
            otherwise()
            raise
        if self._store.is_full:
            self._compact(self._store)

    def _compact(self, store: StateStore) -> None:
        """Compact the journal. If that fails, every operation is still in the journal."""
        try:
            store.compact(self.stored())
        except StateError as error:
            log.warning("%s; what was taught is safe in the journal", error)


def _restored(parts: Parts, state: ClassifierState) -> StreamingClassifier:
    classifier = CLASSIFIERS.build(parts.classifier)
    classifier.restore(state)
    return classifier
