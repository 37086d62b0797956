"""Undo for every classifier: a base state and the operations applied since.

To undo the last operation, all others are applied to the base again. The result is therefore exact
for every classifier. The base is between UNDOABLE and 2 * UNDOABLE operations old.
"""

import copy
from collections.abc import Callable

from robocle.classifiers import ClassifierState, StreamingClassifier
from robocle.errors import NothingToUndoError
from robocle.store.operations import Operation

UNDOABLE = 50
"""The minimum number of operations that can be undone."""


class History:
    """A classifier together with the operations that can be undone."""

    def __init__(
        self,
        make: Callable[[], StreamingClassifier],
        operations: tuple[Operation, ...] = (),
        base_state: ClassifierState | None = None,
    ) -> None:
        """Create a history.

        Args:
            make: Returns the classifier before the operations, as a new object.
            operations: The operations since then, oldest first.
            base_state: The state of that classifier, if it is already known.
        """
        # The base is built only when it has to change, so opening a state builds one classifier.
        self._make = make
        self._base: StreamingClassifier | None = None
        self._base_state = base_state
        self._operations = list(operations)
        self.now = self._replayed()

    @property
    def base_state(self) -> ClassifierState:
        """The state of the classifier before the operations."""
        if self._base is None and self._base_state is not None:
            return self._base_state
        return self._made_base().state()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that can be undone, oldest first."""
        return tuple(self._operations)

    def do(self, operation: Operation) -> None:
        """Apply an operation. If it raises, nothing changes."""
        operation.apply(self.now)
        self._operations.append(operation)

    def undo(self) -> Operation:
        """Undo the last operation and return it.

        Raises:
            NothingToUndoError: No operation can be undone.
        """
        if not self._operations:
            raise NothingToUndoError
        last = self._operations.pop()
        self.now = self._replayed()
        return last

    def advance_base(self) -> None:
        """Apply the oldest operations to the base once there are more than 2 * UNDOABLE."""
        if len(self._operations) > 2 * UNDOABLE:
            for operation in self._operations[:-UNDOABLE]:
                operation.apply(self._made_base())
            del self._operations[:-UNDOABLE]

    def restart(self, classifier: StreamingClassifier) -> None:
        """Continue from a classifier; what came before cannot be undone."""
        self.now, self._base, self._make = classifier, copy.deepcopy(classifier), _already_made
        self._operations.clear()

    def _made_base(self) -> StreamingClassifier:
        if self._base is None:
            self._base = self._make()
            self._make = _already_made
        return self._base

    def _replayed(self) -> StreamingClassifier:
        classifier = copy.deepcopy(self._base) if self._base else self._make()
        for operation in self._operations:
            operation.apply(classifier)
        return classifier


def _already_made() -> StreamingClassifier:
    raise AssertionError("the base has already been built")
