"""Recovery of what is intact in a damaged state, and a list of what is lost.

The classifier declares which label owns each row of its arrays. If rows of one label are damaged,
only that label is lost: it is forgotten exactly. If an array that all labels share is damaged, the
snapshot is lost, unless the array can be computed from the others. Later operations are kept.
Checkpoints are read only if the journal returns to one.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.classifiers.state import Shared, owners
from robocle.errors import NothingToUndoError, RobocleError, StateError
from robocle.store.description import HISTORY, checkpoint_prefix
from robocle.store.journal import read_journal
from robocle.store.operations import Operation, Teach
from robocle.store.reading import journal_path
from robocle.store.snapshot import Snapshot, read_snapshot
from robocle.store.stored_state import StoredState

Damage = Mapping[str, list[int]]
"""The damaged rows, by array name."""


def recovered(path: Path) -> tuple[StoredState, list[str]]:
    """Recover a damaged state.

    Args:
        path: The state file. Its journal, if there is one, is read as well.

    Returns:
        An intact state of what could be recovered, and one line per loss.

    Raises:
        StateError: Nothing can be recovered from the file.
    """
    snapshot = read_snapshot(path)
    lost: list[str] = []
    state = _with_journal(path, snapshot, lost)
    undone = len(state.checkpoints) < len(snapshot.state.checkpoints)
    prefix = checkpoint_prefix(len(state.checkpoints)) if undone else ""
    damage = {
        name.removeprefix(prefix): rows
        for name, rows in snapshot.damage.items()
        if name.startswith(prefix)
    }
    classifier = _recovered_base(state, damage, lost)
    stored = snapshot.state.checkpoints[len(state.checkpoints)] if undone else snapshot.state
    damaged = _damaged_operations(stored.history, damage.get(HISTORY, []))
    for operation in state.history:
        _apply(operation, classifier, id(operation) in damaged, lost)
    return replace(state, history=()).without_sketches().with_base(classifier.state()), lost


def _with_journal(path: Path, snapshot: Snapshot, lost: list[str]) -> StoredState:
    """Return the state of the snapshot after the operations of its journal."""
    try:
        journal = read_journal(journal_path(path))
    except StateError as error:
        lost.append(f"the operations in the journal ({error})")
        return snapshot.state
    state = snapshot.state
    if journal is None or journal.identity != snapshot.identity:
        return state
    lost += [f"operation {number} of the journal" for number in journal.lost]
    for change in journal.operations:
        try:
            state = state.appended(change)
        except NothingToUndoError:
            lost.append("an undo of a step before the journal")
    return state


def _recovered_base(state: StoredState, damage: Damage, lost: list[str]) -> StreamingClassifier:
    """Return the classifier before the operations, without the damaged labels."""
    classifier = CLASSIFIERS.build(state.parts.classifier)
    try:
        damaged = _restore_undamaged(state.base, damage, classifier)
    except (RobocleError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        # The arrays that say which label owns a row may themselves be damaged.
        lost.append(f"all pictures of {', '.join(state.labels)}{_before(state)} ({error})")
        return CLASSIFIERS.build(state.parts.classifier)
    for label in sorted(damaged):
        classifier.forget(label)
        lost.append(f"the label {label!r}")
    return classifier


def _before(state: StoredState) -> str:
    """Return which pictures are in the classifier of a state, and not in its operations."""
    if not state.history:
        return ""
    number = len(state.history)
    later = f"{number} operations" if number > 1 else "operation"
    return f" that were taught before the last {later}"


def _restore_undamaged(
    stored: ClassifierState, damage: Damage, classifier: StreamingClassifier
) -> set[str]:
    """Restore a classifier with zeros for damaged rows; return the labels that own them.

    Raises:
        StateError: The damage cannot be attributed to individual labels.
    """
    declared = classifier.array_owners()
    arrays = {name: _zeroed(array, damage.get(name, [])) for name, array in stored.arrays.items()}
    labels: set[str] = set()
    for name, rows in damage.items():
        if name not in arrays:  # embeddings of operations, or another checkpoint
            continue
        rebuilt = classifier.rebuilt_array(name, arrays)
        if rebuilt is not None:
            arrays[name] = rebuilt
        else:
            labels |= owners(stored, name, rows, declared.get(name, Shared()))
    classifier.restore(ClassifierState(stored.labels, arrays))
    if labels and not classifier.forgets_exactly:
        raise StateError("its labels cannot be separated")
    return labels


def _zeroed(array: NDArray[Any], rows: list[int]) -> NDArray[Any]:
    if rows:
        array = array.copy()
        array[rows] = 0
    return array


def _damaged_operations(history: tuple[Operation, ...], rows: list[int]) -> set[int]:
    """Return the identities of the operations whose embeddings are damaged."""
    taught = [operation for operation in history if isinstance(operation, Teach)]
    return {id(taught[row]) for row in rows if row < len(taught)}


def _apply(
    operation: Operation, classifier: StreamingClassifier, damaged: bool, lost: list[str]
) -> None:
    if damaged:
        lost.append(f"a picture of {operation.label!r}")
        return
    try:
        operation.apply(classifier)
    except RobocleError as error:
        lost.append(f"{operation} ({error})")
