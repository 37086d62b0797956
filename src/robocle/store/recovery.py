"""What is sound in a damaged state, and what is lost.

A label's numbers are its own where classifiers are sums, so damage in them costs that label and no
other: it is forgotten, as exactly as ever. Damage in what all labels share costs the snapshot, and
the operations since are kept.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.errors import RobocleError, StateError
from robocle.store.journal import read_journal
from robocle.store.operations import Operation, Teach, Undo
from robocle.store.snapshot import HISTORY, Snapshot, StoredState, read_snapshot
from robocle.store.state_store import journal_path

Arrays = Mapping[str, NDArray[Any]]
# Rows of several labels, one label after the other, and where it stands how many are whose.
ROW_COUNTS = {
    "part_rows": "part_counts",
    "sample_rows": "sample_counts",
    "deviations": "deviation_counts",
}


def recovered(path: Path) -> tuple[StoredState, list[str]]:
    """A sound state of what can be kept, and a line for each thing that is lost."""
    snapshot = read_snapshot(path)
    lost: list[str] = []
    classifier = _recovered_base(snapshot, lost)
    _recover_history(snapshot, classifier, lost)
    _recover_journal(path, snapshot, classifier, lost)
    state = classifier.state()
    return StoredState(snapshot.state.parts, state.labels, state.arrays), lost


def _recovered_base(snapshot: Snapshot, lost: list[str]) -> StreamingClassifier:
    state = snapshot.state
    classifier = CLASSIFIERS.build(state.parts.classifier)
    damage = {name: rows for name, rows in snapshot.damage.items() if name != HISTORY}
    try:
        arrays = {name: _blanked(array, damage.get(name, [])) for name, array in
                  state.arrays.items()}  # fmt: skip
        for name in [name for name in damage if _is_sum_of_parts(arrays, name)]:
            arrays[name] = _sum_of_parts(arrays, name)
            del damage[name]
        harmed = sorted({label for name in damage for label in _owners(state, name, damage[name])})
        classifier.restore(ClassifierState(state.labels, arrays))
        if harmed and not classifier.forgets_exactly:
            raise StateError("its labels cannot be told apart")
    except (RobocleError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        # What says whose the numbers are may be damaged, too.
        lost.append(f"all that {', '.join(state.labels)} were taught before the last "
                    f"{len(state.history)} operations ({error})")  # fmt: skip
        return CLASSIFIERS.build(state.parts.classifier)
    for label in harmed:
        classifier.forget(label)
        lost.append(f"the label {label!r}")
    return classifier


def _owners(state: StoredState, name: str, rows: list[int]) -> list[str]:
    """The labels whose numbers these rows are."""
    kind = name.rpartition(".")[2]
    if kind in ("means", "mean_coordinates", "squares"):
        return [state.labels[row] for row in rows]
    counts = ROW_COUNTS.get(kind)
    if counts is None:
        raise StateError(f"{name} is damaged, and all labels share it")
    sizes = state.arrays[name[: len(name) - len(kind)] + counts]
    owners = np.repeat(np.arange(len(state.labels)), sizes)
    return [state.labels[owners[row]] for row in rows]


def _is_sum_of_parts(arrays: Arrays, name: str) -> bool:
    prefix, _, kind = name.rpartition(".")
    return kind in ("span_scatter", "scatter") and f"{prefix}.part_rows" in arrays


def _sum_of_parts(arrays: Arrays, name: str) -> NDArray[Any]:
    """A scatter from what each label gave to it."""
    prefix, _, kind = name.rpartition(".")
    rows = arrays[f"{prefix}.part_rows"]
    whole: NDArray[Any] = rows.T @ rows
    return whole if kind == "span_scatter" else whole[np.triu_indices(len(whole))]


def _blanked(array: NDArray[Any], rows: list[int]) -> NDArray[Any]:
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
    standing: list[Operation] = []
    for operation in journal.operations:
        if not isinstance(operation, Undo):
            standing.append(operation)
        elif standing:
            standing.pop()
        else:
            lost.append("an undo of what was done before the journal")
    for each in standing:
        _apply(each, classifier, lost)


def _apply(operation: Operation, classifier: StreamingClassifier, lost: list[str]) -> None:
    try:
        operation.apply(classifier)
    except RobocleError as error:
        lost.append(f"{operation} ({error})")
