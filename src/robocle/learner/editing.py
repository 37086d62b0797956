"""Changes of a learner: teaching, relabelling, removing and merging, each all or nothing."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TypeVar

from numpy.typing import ArrayLike

from robocle._internal.wording import plural
from robocle.classifiers.labels import (
    UNKNOWN,
    never_taught,
    require_badge,
    require_labels,
    require_name,
    similar_label,
    spelling_of,
)
from robocle.errors import (
    FeatureError,
    RobocleError,
    StateAccessError,
    StateError,
    UnknownSampleError,
)
from robocle.images import Picture
from robocle.images.gate import QualityGate
from robocle.images.quality import Complaint
from robocle.learner.embedding import Embedding, values_for
from robocle.learner.learned import Learned
from robocle.learner.opening import edited
from robocle.learner.pipeline import Parts
from robocle.store.copying import require_place, write_state
from robocle.store.folding import classifier_of, fold, samples_to_fold
from robocle.store.records import StepName
from robocle.store.state import FilePath, State, located
from robocle.store.tables import translated

log = logging.getLogger("robocle")

Item = TypeVar("Item")


def teach(
    learned: Learned, embeddings: Iterable[Embedding | ArrayLike], labels: Iterable[str]
) -> None:
    """Teach embeddings; see `Learner.teach_embeddings`."""
    given, checked = require_lessons(embeddings, labels)
    lessons = [(each, values_for("teaching", each)) for each in given]
    require_one_label_each(len(lessons), len(checked))
    if not lessons:
        return
    with learned.guard:
        learned.empty.require_room(_names([*learned.summary.counts, *checked]))
        with learned.change() as change:
            learned.empty.width = learned.state.width()
            for (embedding, values), label in zip(lessons, checked, strict=True):
                kept = learned.empty.require_sample(values, label)
                learned.empty.width = len(kept)
                change.teach(label, kept, _faults(embedding))
            fold(change, learned.empty)


def teach_pictures(
    learned: Learned,
    gate: QualityGate,
    embed: Callable[[Iterable[Picture]], Iterator[Embedding]],
    pictures: Iterable[Picture],
    labels: Iterable[str],
) -> list[tuple[Complaint, ...]]:
    """Teach pictures, and return the faults of each; see `Learner.teach_many`."""
    pictures, checked = require_lessons(pictures, labels)  # first, because embedding is slow
    embeddings = list(embed(pictures))
    require_one_label_each(len(embeddings), len(checked))
    lessons = list(zip(embeddings, checked, strict=True))
    found = [gate.check(each.complaints, each.values, label) for each, label in lessons]
    pairs = zip(lessons, found, strict=True)
    kept = [lesson for lesson, faults in pairs if not (faults and gate.skips_poor)]
    _warn_of_similar(learned, [label for _, label in kept])
    teach(learned, [each for each, _ in kept], [label for _, label in kept])
    for label, complaints in zip(checked, found, strict=True):
        for complaint in complaints:
            log.warning("%s%s: %s", "skipped: " if gate.skips_poor else "", label, complaint)
    return found


def _warn_of_similar(learned: Learned, labels: Iterable[str]) -> None:
    """Log which new labels differ from others in upper and lower case only."""
    known = list(learned.summary.counts)
    for label in sorted({*labels}.difference(known)):
        known.append(label)
        if similar := similar_label(label, known):
            log.warning("%r and %r are two labels: rename(%r, %r) joins them",
                        label, similar, label, similar)  # fmt: skip


def _faults(embedding: object) -> str:
    """Return the kinds of faults of a picture, as they are stored."""
    complaints: Sequence[Complaint] = getattr(embedding, "complaints", ())
    return " ".join(dict.fromkeys(each.kind for each in complaints))


def require_lessons(
    pictures: Iterable[Item], labels: Iterable[str]
) -> tuple[Iterable[Item], list[str]]:
    """Return pictures and their checked labels, before the pictures are read.

    Args:
        pictures: The pictures. If they and the labels come without a number, all are fetched.
        labels: The labels. No more of them are fetched than needed: they may never end.

    Raises:
        LabelError: A label cannot be used.
        FeatureError: The numbers of pictures and labels differ.

    >>> from itertools import repeat
    >>> require_lessons(["1.jpg", "2.jpg"], repeat("mug"))
    Traceback (most recent call last):
    robocle.errors.FeatureError: there are 2 pictures and more labels: give one label per picture
    """
    if not isinstance(labels, Sized):
        pictures = pictures if isinstance(pictures, Sized) else list(pictures)
        labels = list(islice(labels, len(pictures) + 1))
        if len(labels) > len(pictures):
            number = plural(len(pictures), "picture")
            raise FeatureError(f"there are {number} and more labels: give one label per picture")
    checked = require_labels(labels)
    if isinstance(pictures, Sized):
        require_one_label_each(len(pictures), len(checked))
    return pictures, checked


def require_one_label_each(pictures: int, labels: int) -> None:
    """Require as many labels as pictures.

    Raises:
        FeatureError: There are more or fewer.
    """
    if pictures != labels:
        counts = f"{plural(pictures, 'picture')} and {plural(labels, 'label')}"
        raise FeatureError(f"there are {counts}: give one label per picture")


def known(learned: Learned, label: str) -> str:
    """Return a label as it is spelled in the state; see `Learner.taught_label`."""
    summary = learned.summary
    taught = [*summary.counts, *[UNKNOWN] * bool(summary.unknown)]
    found = spelling_of(label, taught)
    if found is None:
        raise never_taught(label, taught)
    return found


def forget(learned: Learned, label: str) -> None:
    """Forget a label; see `Learner.forget`."""
    with learned.guard:
        old = known(learned, label)
        _relabel(learned, f"forgetting {old!r}", None, "label", [old])


def rename(learned: Learned, label: str, new_label: str) -> None:
    """Rename a label; see `Learner.rename`."""
    new_label = require_name(new_label)
    with learned.guard:
        old = known(learned, label)
        if old != new_label:
            what = f"renaming {old!r} to {new_label!r}"
            is_new = new_label not in learned.summary.counts
            with learned.change() as change:
                change.decide(new_label, "label IS NOT NULL AND label = ?", old)
                change.did(what)
                _require_usable(learned)
                badges = learned.state.badges()
                if old in badges and (is_new or new_label not in badges):
                    change.set_badge(new_label, badges[old][1])


def set_badge(learned: Learned, label: str, badge: str) -> None:
    """Choose the badge of a label; see `Learner.set_badge`."""
    badge = require_badge(badge)
    with learned.guard:
        old = known(learned, label)
        if learned.state.badges().get(old, (0, ""))[1] != badge:
            with learned.change() as change:
                change.set_badge(old, badge)


def _relabel(
    learned: Learned, what: str, label: str | None, column: str, values: Iterable[object]
) -> None:
    """Give the samples with some values of a column another label, or remove them if it is None.

    Args:
        learned: What was learned.
        what: What is done, for the history.
        label: The new label.
        column: The column, "label" or "id".
        values: The values.
    """
    with learned.change() as change:
        for value in values:
            change.decide(label, f"label IS NOT NULL AND {column} = ?", value)
        change.did(what)
        _require_usable(learned)


def remove(learned: Learned, ids: Iterable[str]) -> int:
    """Remove samples by their ids, or by the first digits of an id, and return their number.

    Raises:
        UnknownSampleError: There is no such sample, or more than one.
    """
    with learned.guard:
        query = "SELECT id FROM samples WHERE label IS NOT NULL AND fold IS NULL"
        all_ids = [id.hex() for (id,) in learned.state.query(query)]
        found = {bytes.fromhex(_whole_id(id, all_ids)) for id in ids}
        if found:
            _relabel(learned, f"removing {plural(len(found), 'picture')}", None, "id", found)
        return len(found)


def _whole_id(start: object, all_ids: list[str]) -> str:
    """Return the id that begins with these digits."""
    if not isinstance(start, str):  # a list of ids, or a sample
        raise UnknownSampleError(start)
    found = [id for id in all_ids if id.startswith(start)] if start else []
    if len(found) != 1 and start not in all_ids:
        raise UnknownSampleError(start, len(found))
    return start if start in all_ids else found[0]


def merge_learned(learned: Learned, other: Learned, title: str) -> None:
    """Merge what another learner has learned; see `Learner.merge`."""
    first, second = sorted((learned, other), key=id)  # two learners may merge each other
    with first.guard, second.guard:
        merge(learned, map(partial(_mergeable, learned), [other.state]), title)


def merge(learned: Learned, others: Iterable[State], title: str) -> None:
    """Merge states into what was learned.

    Args:
        learned: What was learned.
        others: The states, which can be merged. Each is read when the one before it is merged.
        title: What is merged.
    """
    with learned.change(StepName.of(title), merged=1) as change:
        for other in others:
            change.unite(other)
        change.forget_folded_steps()
        learned.empty.require_room(_names(learned.state.counts()))
        _require_usable(learned)


def merge_into(state: FilePath, paths: Sequence[FilePath], skip: bool) -> list[RobocleError]:
    """Merge state files into another, and return why some were left out.

    The memory that this takes does not grow with their number.
    """
    learned = edited(state)
    with closing(learned.state):  # a learner that is closed keeps a summary of all samples
        return merge_files(learned, paths, skip)


def merge_files(learned: Learned, paths: Sequence[FilePath], skip: bool) -> list[RobocleError]:
    """Merge state files, and return why some were left out; see `Learner.merge_files`."""
    skipped: list[RobocleError] = []
    title = f"{paths[0]}" if len(paths) == 1 else plural(len(paths), "state")
    merge(learned, _readable(learned, paths, skipped if skip else None), f"merging {title}")
    return skipped


def _readable(
    learned: Learned, paths: Sequence[FilePath], skipped: list[RobocleError] | None
) -> Iterator[State]:
    """Yield states that can be merged, read whole. If there is a list, others are added to it."""
    for path in paths:
        try:
            if located(path) == learned.state.path:
                continue
            state = _mergeable(learned, State.read(path), str(path))
            classifier_of(state)  # damage is found now
        except RobocleError as error:
            if skipped is None:
                raise
            skipped.append(error)
            continue
        yield state


def _mergeable(learned: Learned, other: State, name: str = "the other learner") -> State:
    """Return another state, unless it has other parts, or sums that cannot be added."""
    learned.parts.require_mergeable(Parts.of(name, other.parts), name)
    ours, theirs = learned.state.width(), other.width()
    if None not in (ours, theirs) and ours != theirs:
        raise StateError(
            f"cannot merge embeddings of width {theirs} with embeddings of width {ours}: "
            f"{name} must have the same parts"
        )
    if learned.state.has_diverged(other):
        raise StateError(
            f"{name} is a copy of the same file, and both were taught beyond what is kept, so "
            "their sums cannot be merged: copy states with `robocle export`"
        )
    return other


def _require_usable(learned: Learned) -> None:
    """Raise, before a change is written, if the sums cannot be used after it."""
    if learned.state.folds():
        classifier_of(learned.state)


def revert(learned: Learned, step: str) -> str:
    """Undo a step that others may have followed; see `Learner.revert`."""
    with learned.change() as change:
        last = next(iter(learned.state.steps(most=1)), None)
        if last is not None and last.id == step:
            return change.revert(0, step).description
        return change.revert_earlier(step).description


def purge(learned: Learned) -> None:
    """Erase what could be undone, and everything that was removed."""
    with learned.guard:
        with learned.change() as change:
            fold(change, learned.empty, spare=0)
            change.purge()
        try:
            with translated(learned.state.path, "write"):
                learned.state.connection.execute("VACUUM")
        except StateError as error:  # the content is overwritten already, by `secure_delete`
            log.warning("it is erased, but the file is as large as before: %s", error)


def save(learned: Learned, path: FilePath, replace: bool) -> None:
    """Write what was learned to another file; see `Learner.save`."""
    state = learned.state
    with learned.guard:
        if state.path is not None and located(path) == state.path:
            return state.follow_file()
        require_place(path, replace)
        if getattr(learned.empty, "keep", 1) == 0 and samples_to_fold(state):
            try:
                with learned.change() as change:
                    fold(change, learned.empty, spare=0)
            except StateAccessError as error:
                reason = f"its last samples must be folded first (keep=0), and {error.reason}"
                raise StateAccessError("copy", error.path, reason) from error
        write_state(path, state, replace=replace)


def _names(labels: Iterable[str | None]) -> list[str]:
    """Return the different names of objects among labels."""
    return [each for each in dict.fromkeys(labels) if each not in (None, UNKNOWN)]
