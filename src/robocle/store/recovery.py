"""Recovery of what is intact in a damaged state, and a list of what is lost.

A row of the samples' embeddings that is damaged loses one sample. Folded sums that are damaged are
lost as a whole. Later operations are kept. Checkpoints are read only if the journal returns to one.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.classifiers.samples import Sample
from robocle.errors import NothingToUndoError, RobocleError, StateError
from robocle.store.description import FOLDED, HISTORY, checkpoint_prefix
from robocle.store.journal import read_journal
from robocle.store.operations import Operation, Remove, Teach
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
    return replace(state, history=()).with_base(classifier.state()), lost


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
    """Return the classifier before the operations, without what is damaged."""
    base, damaged = state.base, set(damage.get("embeddings", []))
    samples = [each for row, each in enumerate(base.samples) if row not in damaged]
    lost += [f"a picture of {base.samples[row].label!r}" for row in sorted(damaged)]
    if "times" in damage:
        lost.append("when the pictures were taught")
        samples = [Sample(each.label, each.embedding, each.id, 0.0) for each in samples]
    folded = base.folded
    if any(name.startswith(FOLDED) for name in damage):
        lost.append("the sums of pictures that are not kept themselves")
        folded = {}
    classifier = CLASSIFIERS.build(state.parts.classifier)
    try:
        kept = ClassifierState(base.labels, tuple(samples), folded)
        classifier.restore(_without_lost_labels(kept))
    except (RobocleError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        lost.append(f"all pictures that were taught before the last operations ({error})")
        return CLASSIFIERS.build(state.parts.classifier)
    return classifier


def _without_lost_labels(state: ClassifierState) -> ClassifierState:
    """Return a state without the labels that have neither folded samples nor others."""
    if not state.folded:
        return ClassifierState((), state.samples)
    means = state.folded["means"]
    if means.ndim != 2 or len(means) != len(state.labels):
        raise StateError("its sums do not fit its labels")
    counts, taught = state.counts, {sample.label for sample in state.samples}
    rows = [row for row, label in enumerate(state.labels) if counts[label] or label in taught]
    selected = {name: state.folded[name][rows] for name in ("counts", "means")}
    labels = tuple(state.labels[row] for row in rows)
    return ClassifierState(labels, state.samples, {**state.folded, **selected})


def _damaged_operations(history: tuple[Operation, ...], rows: list[int]) -> set[int]:
    """Return the identities of the operations whose embeddings are damaged."""
    taught = [operation for operation in history if isinstance(operation, Teach)]
    return {id(taught[row]) for row in rows if row < len(taught)}


def _apply(
    operation: Operation, classifier: StreamingClassifier, damaged: bool, lost: list[str]
) -> None:
    if damaged and isinstance(operation, Teach):
        lost.append(f"a picture of {operation.label!r}")
        return
    if isinstance(operation, Remove):
        left = {sample.id for sample in classifier.samples}
        operation = replace(operation, ids=tuple(id for id in operation.ids if id in left))
    try:
        operation.apply(classifier)
    except RobocleError as error:
        lost.append(f"{operation} ({error})")
