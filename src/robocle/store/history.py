"""The undo history: how a classifier results from what is stored, and how the history is bounded.

To undo a step, the operations before it are applied to the stored classifier again. The result is
therefore exact for every classifier. At most 4 * UNDOABLE operations are kept, so a state opens
quickly. The oldest become part of the stored classifier. A step with more than UNDOABLE operations
gets a checkpoint, because its operations are not kept.

That needs a classifier that has learned the oldest operations and no others. So the state of the
learner's own classifier is kept when it has learned just these: see `Mark`.
"""

import copy
from dataclasses import dataclass, replace

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.store.operations import Operation, start_of_last_step
from robocle.store.steps import Step, same_step
from robocle.store.stored_state import Checkpoint, StoredState, kept_checkpoints

UNDOABLE = 50
"""The minimum number of operations before the last step that can be undone."""
MARKED = 2 * UNDOABLE
"""The number of operations after which the state of the classifier is kept."""


def replayed(stored: StoredState) -> StreamingClassifier:
    """Return the classifier of a stored state, after its operations.

    Raises:
        RobocleError: The stored state is inconsistent.
    """
    return _applied(_restored(stored), stored, len(stored.history))


@dataclass(frozen=True, eq=False)
class Mark:
    """The state of a classifier after the first operations of a history, to be stored later."""

    base: ClassifierState
    """What the stored classifier was taught before these operations."""
    history: tuple[Operation, ...]
    state: ClassifierState

    def fits(self, stored: StoredState, most: int) -> bool:
        """Return whether a stored state may continue from here.

        Args:
            stored: A later state, or one after which steps were undone.
            most: How many of its operations may become part of the stored classifier.
        """
        end = len(self.history)
        return (
            end <= most
            and stored.base is self.base
            and stored.history[end - 1] is self.history[-1]
            and (
                stored.continues_checkpoint(end)
                or start_of_last_step(stored.history[: end + 1]) == end
            )
        )


class Replay:
    """Applies operations to the stored classifier again.

    That classifier is kept once it was needed, because to restore it takes time.
    """

    def __init__(self) -> None:
        self._base: StreamingClassifier | None = None
        self._state: ClassifierState | None = None
        self._mark: Mark | None = None

    def remember(self, stored: StoredState, classifier: StreamingClassifier) -> None:
        """Keep the state of a classifier if it is the next one to store.

        Args:
            stored: What was learned.
            classifier: The classifier after the operations of the history.
        """
        if len(stored.history) == MARKED:
            self._mark = Mark(stored.base, stored.history, classifier.state())

    def classifier(self, stored: StoredState) -> StreamingClassifier:
        """Return the classifier of a stored state, after its operations.

        Raises:
            RobocleError: The stored state is inconsistent.
        """
        base = self._base_of(stored)
        return _applied(copy.deepcopy(base), stored, len(stored.history))

    def bounded(self, stored: StoredState) -> StoredState:
        """Return a stored state with at most 4 * UNDOABLE operations. Steps are not divided."""
        if not (_has_large_step(stored) or _surplus(stored)):
            return stored
        # After a crash, the history may have large steps without a checkpoint anywhere in it.
        state = replace(stored, history=())
        for operation in stored.history:
            state = state.appended(operation)
            if _has_large_step(state):
                state = self._with_checkpoint(state)
            elif surplus := _surplus(state):
                state = self._shortened(state, surplus)
        return state

    def _with_checkpoint(self, stored: StoredState) -> StoredState:
        """Return a stored state with a checkpoint before the last step."""
        start = start_of_last_step(stored.history)
        step = stored.history[start].step
        assert step is not None  # without one, it would be a single operation
        base = self._advanced(stored, start)
        return with_bounded_checkpoints(stored, step, base, stored.history[start:])

    def _shortened(self, stored: StoredState, end: int) -> StoredState:
        """Return a stored state whose classifier has learned the first operations.

        Args:
            stored: The state before.
            end: How many operations, or some fewer if there is a mark.
        """
        mark, self._mark = self._mark, None
        if mark is not None and mark.fits(stored, end):
            self._base = None  # the classifier before these operations
            end, base = len(mark.history), mark.state
        else:
            base = self._advanced(stored, end)
        # Steps before these operations can no longer be undone, unless all are of one step.
        checkpoints = stored.checkpoints if stored.continues_checkpoint(end) else ()
        return stored.with_base(base, stored.history[end:], checkpoints)

    def _advanced(self, stored: StoredState, end: int) -> ClassifierState:
        """Apply the first operations to the stored classifier."""
        base = self._base_of(stored)
        self._base = None  # until it is complete: an interrupt may leave it half changed
        state = _applied(base, stored, end).state()
        self._keep(base, state)
        return state

    def _base_of(self, stored: StoredState) -> StreamingClassifier:
        """Return the stored classifier, which the caller must copy or advance."""
        if self._base is None or self._state is not stored.base:
            base = _restored(stored)
            self._keep(base, stored.base)
            return base
        return self._base

    def _keep(self, base: StreamingClassifier, state: ClassifierState) -> None:
        # In this order, an interrupt cannot leave a classifier with the state of another.
        self._base = None
        self._state = state
        self._base = base


def with_bounded_checkpoints(
    stored: StoredState, step: Step, base: ClassifierState, history: tuple[Operation, ...] = ()
) -> StoredState:
    """Return a state with a checkpoint before a step, and older ones as far as they are kept.

    Args:
        stored: The state before.
        step: The step.
        base: The classifier to store from now on.
        history: The operations since.
    """
    state = stored.with_checkpoint(step, base, history)
    kept = kept_checkpoints(state.checkpoints)
    *dropped, first = state.checkpoints[: len(state.checkpoints) - kept + 1]
    if not dropped:
        return state
    whole = _without_divided_step(state, first, dropped[-1].step)
    return replace(state, checkpoints=(whole, *state.checkpoints[len(dropped) + 1 :]))


def _without_divided_step(stored: StoredState, checkpoint: Checkpoint, step: Step) -> Checkpoint:
    """Return a checkpoint without the last operations of a step that can no longer be undone."""
    ours = [same_step(operation.step, step) for operation in checkpoint.history]
    end = ours.index(False) if False in ours else len(ours)
    if end == 0:
        return checkpoint
    learned, history = checkpoint.history[:end], checkpoint.history[end:]
    base = replayed(StoredState(stored.parts, checkpoint.base, learned)).state()
    return replace(checkpoint, base=base, history=history)


def _has_large_step(stored: StoredState) -> bool:
    """Return whether the last step is large and has no checkpoint yet."""
    history = stored.history
    large = len(history) - start_of_last_step(history) > UNDOABLE
    return large and not stored.continues_checkpoint(len(history))


def _surplus(stored: StoredState) -> int:
    """Return how many of the oldest operations are too many.

    It is 0 until there are many: a classifier that learns about 100 samples at once takes the form
    that is best for that, and then copies of it need not be converted at each undo.
    """
    history = stored.history
    start = start_of_last_step(history)
    if stored.continues_checkpoint(len(history)):
        start = len(history)  # the step can be undone without its operations
    if start <= 3 * UNDOABLE:
        return 0
    end = start - UNDOABLE
    return end if stored.continues_checkpoint(end) else start_of_last_step(history[: end + 1])


def _restored(stored: StoredState) -> StreamingClassifier:
    classifier = CLASSIFIERS.build(stored.parts.classifier)
    classifier.restore(stored.base)
    return classifier


def _applied(classifier: StreamingClassifier, stored: StoredState, end: int) -> StreamingClassifier:
    """Apply the first operations to a classifier and return it."""
    for operation in stored.history[:end]:
        operation.apply(classifier)
    return classifier
