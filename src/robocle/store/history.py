"""Undo for every classifier: the state some operations ago, and the operations since.

Taking an operation back is doing the others again, so the result is what it would have been
without it, whatever the classifier. The base follows in strides: it is at least UNDOABLE
operations behind, and at most twice as many.
"""

import copy
from collections.abc import Callable

from robocle.classifiers import StreamingClassifier
from robocle.errors import NothingToUndoError
from robocle.store.operations import Operation

UNDOABLE = 50


class History:
    """A classifier with the operations that can be taken back."""

    def __init__(
        self, make: Callable[[], StreamingClassifier], operations: tuple[Operation, ...] = ()
    ) -> None:
        """`make` gives the classifier before the operations, a new one at each call."""
        # The base is not made before it has to move: to open a state is to make one classifier.
        self._make = make
        self._base: StreamingClassifier | None = None
        self._operations = list(operations)
        self.now = self._replayed()

    @property
    def base(self) -> StreamingClassifier:
        """The classifier before the operations."""
        if self._base is None:
            self._base = self._make()
            self._make = _spent
        return self._base

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What can be taken back, the oldest first."""
        return tuple(self._operations)

    def do(self, operation: Operation) -> None:
        """Apply an operation; one that is refused changes nothing."""
        operation.apply(self.now)
        self._operations.append(operation)

    def settle(self) -> None:
        """Let the base follow, once the last operation is safe."""
        self._fold()

    def undo(self) -> Operation:
        """Take back the last operation."""
        if not self._operations:
            raise NothingToUndoError
        last = self._operations.pop()
        self.now = self._replayed()
        return last

    def start_anew(self, classifier: StreamingClassifier) -> None:
        """Go on from a classifier; nothing before can be taken back."""
        self.now, self._base, self._make = classifier, copy.deepcopy(classifier), _spent
        self._operations.clear()

    def _replayed(self) -> StreamingClassifier:
        classifier = copy.deepcopy(self._base) if self._base else self._make()
        for operation in self._operations:
            operation.apply(classifier)
        return classifier

    def _fold(self) -> None:
        if len(self._operations) > 2 * UNDOABLE:
            for operation in self._operations[:-UNDOABLE]:
                operation.apply(self.base)
            del self._operations[:-UNDOABLE]


def _spent() -> StreamingClassifier:
    raise AssertionError("the base has been made")
