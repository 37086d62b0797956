"""From the rows of a state to a classifier, and sums in place of the samples that are not kept.

A state folds samples that it was taught itself, into sums of its own origin. So each sample is in
one place, a row or the sums of one origin, and a later version of these sums contains all earlier
ones: merged in any order, nothing counts twice. What is left of a folded sample is its id.

A robot of a fleet folds samples of others as well, and its origin becomes theirs. Two states that
have folded the same sample are not merged. It folds what it has published: what is taught to a
state that is in a fleet waits for its robot.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from robocle.classifiers import CLASSIFIERS, ClassifierState, StreamingClassifier
from robocle.classifiers.labels import UNKNOWN
from robocle.errors import LabelError, SpecError, StateError
from robocle.store.change import CONTENT, INSERT, Change
from robocle.store.records import Row, packed
from robocle.store.state import State

Whose = Literal["own", "all"]

SPARE = 64
"""How many samples more than `keep` a file has before they are folded, at least: it takes time."""
CLASSES = "fold > 0 AND origin = ? AND label IS NOT NULL AND bits > 0"
# What was taught as unknown is never folded. A label that is NULL is not unequal to it.
TO_FOLD = f"label != '{UNKNOWN}' AND fold IS NULL AND (? OR origin = ?)"
# What is left of a sample is its id and, in the place of its faults, the id of the class.
REMOVE = f"UPDATE samples SET label = NULL, origin = ?, changed = ?, {CONTENT} WHERE number = ?"


def fleet_file(state: Path) -> Path:
    """Return the path of the file that a state has beside it while it is in a fleet."""
    return state.with_name(f"{state.name}-fleet")


def built(name: str, spec: str) -> StreamingClassifier:
    """Return an empty classifier for a state.

    Raises:
        StateError: The classifier is not installed.
    """
    try:
        return CLASSIFIERS.build(spec)
    except SpecError as error:
        raise StateError(f"{name} needs a part that is not installed: {error}") from error


def classifier_of(state: State) -> StreamingClassifier:
    """Return a classifier that was taught what is in a state.

    Raises:
        StateError: The state is damaged, or needs a classifier that is not installed.
    """
    with state.reading():
        samples = state.rows("label IS NOT NULL AND fold IS NULL")
        first, *others = state.folds() or [b""]
        classifier = _taught(state, first, samples)
        for origin in others:
            classifier.merge(_taught(state, origin, []))
    return classifier


def _taught(state: State, origin: bytes, rows: Sequence[Row]) -> StreamingClassifier:
    """Return a classifier that was taught the samples of rows, and the sums of an origin."""
    samples = [row.sample() for row in sorted(rows, key=Row.order)]
    classes = sorted(state.rows(CLASSES, origin), key=Row.order)
    sums = state.sums(origin) if classes else {}
    labels: dict[str, Row] = {}
    for row in classes:  # that have one label by now are joined below
        labels[row.id.hex() if row.label in labels else row.label or ""] = row
    if sums:
        sums["means"] = np.array([row.numbers() for row in classes])
        sums["counts"] = np.array([row.pictures for row in classes], np.int64)
    classifier = built(state.name, state.parts["classifier"])
    try:
        classifier.restore(ClassifierState(tuple(labels), tuple(samples), sums))
    except (LabelError, StateError) as error:
        raise StateError(f"{state.name} is damaged: {error}") from error
    for label, row in labels.items():
        if label != row.label:
            classifier.rename(label, row.label or "")
    return classifier


def samples_to_fold(state: State, whose: Whose = "own") -> int:
    """Return how many samples of a state could be folded; see `fold`."""
    query = f"SELECT count(*) FROM samples WHERE {TO_FOLD}"
    return int(state.query(query, whose == "all", state.origin)[0][0])


def fold(
    change: Change,
    classifier: StreamingClassifier,
    spare: int | None = None,
    whose: Whose = "own",
) -> None:
    """Fold the samples that were taught to a state beyond those that its classifier keeps.

    Args:
        change: The change that adds samples.
        classifier: Any classifier with the options of the state.
        spare: How many samples more there may be; None for a twentieth, or SPARE, and any number
            while the robot of a fleet has to publish them.
        whose: Which samples: those that the state was taught itself, or all.
    """
    state, keep = change.state, getattr(classifier, "keep", 0)
    if spare is None and whose == "own" and state.path and fleet_file(state.path).exists():
        return
    most = keep + (max(SPARE, keep // 20) if spare is None else spare)
    (last,) = change.execute("SELECT max(number) FROM samples").fetchone()
    if not classifier.FOLDS or (last or 0) <= most:  # there are no more rows than that
        return
    if samples_to_fold(state, whose) <= most:
        return
    if getattr(classifier, "scatter", "") == "published" and state.folds().keys() - {state.origin}:
        return  # such sums cannot be added to others
    with state.reading():
        rows = state.rows(TO_FOLD, whose == "all", state.origin)
        folded = _taught(state, state.origin, rows)
    kept = {sample.id for sample in folded.samples}
    _write(change, [row for row in rows if row.id.hex() not in kept], folded.state())


def _write(change: Change, gone: Sequence[Row], taught: ClassifierState) -> None:
    """Write sums in place of samples."""
    origin, now = change.state.origin, change.now
    before = change.state.rows(CLASSES, origin)
    first = {row.label: row.time for row in sorted((*before, *gone), key=Row.order, reverse=True)}
    classes: dict[str | None, tuple[int | None, bytes, int]] = {
        row.label: (None, _new_id(change, row.label), row.decided)
        for row in sorted(gone, key=lambda row: row.decided)
    }
    classes |= {row.label: (row.number, row.id, row.decided) for row in before}
    for row in (*before, *gone):
        into = classes[row.label][1]
        values = origin, now, 0, now, into.hex(), None, None, None, None, row.number
        change.execute(REMOVE, values)
        if row.fold and row.id != into:  # two classes have one label by now
            change.execute("UPDATE samples SET quality = ?2 WHERE quality = ?1 AND fold > 0",
                           (row.id.hex(), into.hex()))  # fmt: skip
    change.forget_folded_steps()
    sums = dict(taught.folded)
    means, counts = sums.pop("means"), sums.pop("counts").tolist()
    change.write_sums(origin, now, sums)
    for label, mean, count in zip(taught.labels, means, counts, strict=True):
        if count:
            number, id, decided = classes[label]
            times = decided, first[label], now
            content = packed(np.asarray(mean, np.float64))
            row = Row(number, id, origin, label, *times, count, now, None, None, *content)
            change.execute(INSERT, row)


def _new_id(change: Change, label: str | None) -> bytes:
    """Return the id of a new class. One that had the label before may have another one by now."""
    id = change.state.origin + str(label).encode()
    while True:
        id = hashlib.blake2b(id, digest_size=16).digest()
        if not change.execute("SELECT 1 FROM samples WHERE id = ?", (id,)).fetchone():
            return id
