"""The undo history: how a classifier results from what is stored, and how the history is bounded.

To undo a step, the operations before it are applied to the stored classifier again. The result is
therefore exact for every classifier. At most 3 * UNDOABLE operations are kept, so a state opens
quickly. The oldest become part of the stored classifier. A step with more than UNDOABLE operations
gets a checkpoint, because its operations are not kept.
"""

from dataclasses import replace

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.store.operations import Operation, start_of_last_step
from robocle.store.stored_state import StoredState

UNDOABLE = 50
"""The minimum number of operations before the last step that can be undone."""


def replayed(stored: StoredState) -> StreamingClassifier:
    """Return the classifier of a stored state, after its operations.

    Raises:
        RobocleError: The stored state is inconsistent.
    """
    return _applied(stored, stored.history)


def bounded(stored: StoredState) -> StoredState:
    """Return a stored state with at most 3 * UNDOABLE operations. Steps are not divided."""
    if not (_has_large_step(stored) or _surplus(stored)):
        return stored
    # After a crash, the history may have large steps without a checkpoint anywhere in it.
    state = replace(stored, history=())
    for operation in stored.history:
        state = state.appended(operation)
        if _has_large_step(state):
            state = _with_checkpoint(state)
        elif surplus := _surplus(state):
            state = _shortened(state, surplus)
    return state


def _has_large_step(stored: StoredState) -> bool:
    """Return whether the last step is large and has no checkpoint yet."""
    history = stored.history
    large = len(history) - start_of_last_step(history) > UNDOABLE
    return large and not stored.continues_checkpoint(len(history))


def _with_checkpoint(stored: StoredState) -> StoredState:
    """Return a stored state with a checkpoint before the last step."""
    start = start_of_last_step(stored.history)
    step = stored.history[start].step
    assert step is not None  # without one, it would be a single operation
    return stored.with_checkpoint(step, _state(stored, start), stored.history[start:])


def _surplus(stored: StoredState) -> int:
    """Return how many of the oldest operations are too many; 0 until there are UNDOABLE of them."""
    history = stored.history
    start = start_of_last_step(history)
    if stored.continues_checkpoint(len(history)):
        start = len(history)  # the step can be undone without its operations
    if start <= 2 * UNDOABLE:
        return 0
    end = start - UNDOABLE
    return end if stored.continues_checkpoint(end) else start_of_last_step(history[: end + 1])


def _shortened(stored: StoredState, end: int) -> StoredState:
    """Return a stored state whose classifier has learned the first operations."""
    base, history = _state(stored, end), stored.history[end:]
    # Steps before these operations can no longer be undone, unless they belong to the same step.
    checkpoints = stored.checkpoints if stored.continues_checkpoint(end) else ()
    return stored.with_base(base, history, checkpoints)


def _state(stored: StoredState, end: int) -> ClassifierState:
    return _applied(stored, stored.history[:end]).state()


def _applied(stored: StoredState, operations: tuple[Operation, ...]) -> StreamingClassifier:
    classifier = CLASSIFIERS.build(stored.parts.classifier)
    classifier.restore(stored.base)
    for operation in operations:
        operation.apply(classifier)
    return classifier
