"""Recovery of what is intact in a damaged state, and a list of what is lost.

The classifier declares which label owns each row of its arrays. If rows of one label are damaged,
only that label is lost: it is forgotten exactly. If an array that all labels share is damaged, the
snapshot is lost, unless the array can be computed from the others. Later operations are kept.
"""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.classifiers.state import Shared, owners
from robocle.errors import RobocleError, StateError
from robocle.store.description import CHECKPOINT, HISTORY
from robocle.store.journal import read_journal
from robocle.store.operations import Operation, Teach, Undo
from robocle.store.snapshot import Snapshot, read_snapshot
from robocle.store.state_store import journal_path
from robocle.store.stored_state import StoredState


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
    classifier = _recovered_base(snapshot, lost)
    _recover_history(snapshot, classifier, lost)
    _recover_journal(path, snapshot, classifier, lost)
    state = classifier.state()
    return StoredState(snapshot.state.parts, state.labels, state.arrays), lost


def _recovered_base(snapshot: Snapshot, lost: list[str]) -> StreamingClassifier:
    """Return the classifier of the snapshot without the damaged labels."""
    stored = snapshot.state
    classifier = CLASSIFIERS.build(stored.parts.classifier)
    try:
        damaged = _restore_undamaged(snapshot, classifier)
    except (RobocleError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        # The arrays that say which label owns a row may themselves be damaged.
        lost.append(
            f"all pictures of {', '.join(stored.labels)} that were taught before the last "
            f"{len(stored.history)} operations ({error})"
        )
        return CLASSIFIERS.build(stored.parts.classifier)
    for label in sorted(damaged):
        classifier.forget(label)
        lost.append(f"the label {label!r}")
    return classifier


def _restore_undamaged(snapshot: Snapshot, classifier: StreamingClassifier) -> set[str]:
    """Restore a classifier with zeros for damaged rows; return the labels that own them.

    Raises:
        StateError: The damage cannot be attributed to individual labels.
    """
    stored, declared = snapshot.state, classifier.array_owners()
    damage = {
        name: rows
        for name, rows in snapshot.damage.items()
        if name != HISTORY and not name.startswith(CHECKPOINT)
    }
    arrays = {name: _zeroed(array, damage.get(name, [])) for name, array in stored.arrays.items()}
    labels: set[str] = set()
    for name, rows in damage.items():
        rebuilt = classifier.rebuilt_array(name, arrays)
        if rebuilt is not None:
            arrays[name] = rebuilt
        else:
            state = ClassifierState(stored.labels, stored.arrays)
            labels |= owners(state, name, rows, declared.get(name, Shared()))
    classifier.restore(ClassifierState(stored.labels, arrays))
    if labels and not classifier.forgets_exactly:
        raise StateError("its labels cannot be separated")
    return labels


def _zeroed(array: NDArray[Any], rows: list[int]) -> NDArray[Any]:
    if rows:
        array = array.copy()
        array[rows] = 0
    return array


def _recover_history(snapshot: Snapshot, classifier: StreamingClassifier, lost: list[str]) -> None:
    damaged = set(snapshot.damage.get(HISTORY, []))
    taught = 0
    for operation in snapshot.state.history:
        if isinstance(operation, Teach):
            taught += 1
            if taught - 1 in damaged:
                lost.append(f"a picture of {operation.label!r}")
                continue
        _apply(operation, classifier, lost)


def _recover_journal(
    path: Path, snapshot: Snapshot, classifier: StreamingClassifier, lost: list[str]
) -> None:
    try:
        journal = read_journal(journal_path(path))
    except StateError as error:
        lost.append(f"the operations in the journal ({error})")
        return
    if journal is None or journal.identity != snapshot.identity:
        return
    lost += [f"operation {number} of the journal" for number in journal.lost]
    remaining: list[Operation] = []
    for operation in journal.operations:
        if not isinstance(operation, Undo):
            remaining.append(operation)
        elif remaining:
            remaining.pop()
        else:
            lost.append("an undo of an operation before the journal")
    for each in remaining:
        _apply(each, classifier, lost)


def _apply(operation: Operation, classifier: StreamingClassifier, lost: list[str]) -> None:
    try:
        operation.apply(classifier)
    except RobocleError as error:
        lost.append(f"{operation} ({error})")
