"""From the rows of a state to a classifier, and sums in place of the samples that are not kept.

A state folds samples that it was taught itself, into sums of its own origin. So each sample is in
one place, a row or the sums of one origin, and a later version of these sums contains all earlier
ones: merged in any order, nothing counts twice. What is left of a folded sample is its id.

A robot of a fleet folds samples of others as well, and its origin becomes theirs. Two states that
have folded the same sample are not merged.
"""

import hashlib
from collections.abc import Sequence
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
REMOVE = f"UPDATE samples SET label = NULL, origin = ?, changed = ?, {CONTENT} WHERE number = ?"


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
        spare: How many samples more there may be; None for a twentieth, or SPARE.
        whose: Which samples: those that the state was taught itself, or all.
    """
    state, keep = change.state, getattr(classifier, "keep", 0)
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
    first: dict[str | None, int] = {}
    for row in (*before, *gone):
        first[row.label] = min(row.time, first.get(row.label, row.time))
        change.execute(REMOVE, (origin, now, 0, now, None, None, None, None, None, row.number))
    change.forget_folded_steps()
    sums = dict(taught.folded)
    means, counts = sums.pop("means"), sums.pop("counts").tolist()
    change.write_sums(origin, now, sums)
    known = {row.id: row for row in before}
    for label, mean, count in zip(taught.labels, means, counts, strict=True):
        if count:
            id = hashlib.blake2b(origin + label.encode(), digest_size=16).digest()
            number, decided = None, change.decided
            if id in known:
                number, decided = known[id].number, known[id].decided
            times = decided, first[label], now
            content = packed(np.asarray(mean, np.float64))
            row = Row(number, id, origin, label, *times, count, now, None, None, *content)
            change.execute(INSERT, row)
