"""What a classifier was taught: the samples it keeps, and every change of them.

To forget, remove, rename, merge or restore is to change the set of samples. What a classifier
computes from them is then computed again, when it is needed.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from robocle.classifiers.labels import UNKNOWN, never_taught, plain_label
from robocle.classifiers.samples import ClassifierState, Sample, Vector
from robocle.errors import (
    FeatureError,
    InexactError,
    LabelError,
    NothingTaughtError,
    StateError,
    UnknownSampleError,
)
from robocle.spec import Described


class Taught(Described, ABC):
    """The samples of a classifier, with its labels and counts by row: the index of a label."""

    FOLDS: ClassVar[bool] = False
    """Whether it may have sums of samples that it does not keep."""

    def __init__(self) -> None:
        self._taught: dict[str, Sample] = {}
        self._labels: list[str] = []
        self._counts: list[int] = []
        self._row_of: dict[str, int] = {}
        self.width: int | None = None
        self._is_current = False  # whether all samples are learned

    @abstractmethod
    def _reset(self) -> None:
        """Discard everything that was learned."""

    def _add_row(self) -> None:
        """Add a row for a new label, if rows are kept. `self._labels` already includes it."""

    @abstractmethod
    def _learn(self, sample: Vector, row: int) -> None:
        """Learn a sample. `self._counts[row]` does not include it yet."""

    def require_room(self, labels: Sequence[str]) -> None:
        """Raise LabelError if it cannot have so many labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first sample."""
        return tuple(self._labels)

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples taught per label."""
        return dict(zip(self._labels, self._counts, strict=True))

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples that are kept, in the order in which they were taught.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0, 0], "mug").learn_one([0, 3], "pan")
        >>> [sample.label for sample in clf.samples]
        ['mug', 'pan']
        """
        return tuple(self._taught.values())

    def _add(self, sample: Sample) -> None:
        """Learn a sample that was checked."""
        self.width = len(sample.embedding)
        self._taught[sample.id] = sample
        current, self._is_current = self._is_current, False  # as an interrupt may leave it
        self._learn_next(sample, current)
        self._is_current = current

    def _learn_next(self, sample: Sample, current: bool) -> None:
        """Count a sample and, if all before it are learned, learn it.

        What was taught as unknown is kept, and is no sample of any label.
        """
        if sample.label == UNKNOWN:
            return
        row = self._row_of.get(sample.label)
        if row is None:
            row = self._row_of[sample.label] = len(self._labels)
            self._labels.append(sample.label)
            self._counts.append(0)
            if current:
                self._add_row()
        if current:
            self._learn(sample.embedding.astype(np.float64), row)
        self._counts[row] += 1

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the classifier as if it had never been taught."""
        return True

    def forget(self, label: str) -> None:
        """Forget a label; see `forgets_exactly`.

        Raises:
            UnknownLabelError: The label was never taught.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0, 0], "mug").learn_one([0, 3], "pan")
        >>> clf.forget("mug")
        >>> clf.labels
        ('pan',)
        """
        self._require_label(label)
        rest = [sample for sample in self._taught.values() if sample.label != label]
        self._replace(rest, {label: None})

    def remove(self, ids: Iterable[str]) -> None:
        """Remove samples, as if they had never been taught. A label without samples is forgotten.

        Args:
            ids: The ids of the samples.

        Raises:
            UnknownSampleError: There is no such sample. Nothing is removed.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0, 0], "mug").learn_one([0, 3], "pan")
        >>> clf.remove([clf.samples[1].id])
        >>> clf.counts
        {'mug': 1}
        """
        removed = set(ids)
        self._require_samples(removed)
        self._replace([each for each in self._taught.values() if each.id not in removed])

    def rename(self, label: str, new_label: str) -> None:
        """Rename a label. If the new name is a label already, the two become one.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0, 0], "mug").learn_one([0, 3], "cup")
        >>> clf.rename("cup", "mug")
        >>> clf.counts
        {'mug': 2}
        """
        self._require_label(label)
        new_label = plain_label(new_label)
        if new_label == label:
            return
        if new_label == UNKNOWN:
            raise LabelError(
                "an object cannot be renamed to 'unknown': choose another name", new_label
            )
        samples = [_renamed(each, label, new_label) for each in self.samples]
        if label == UNKNOWN or new_label in self._row_of:
            self._replace(samples, {label: new_label})
            return
        row = self._row_of.pop(label)
        self._row_of[new_label], self._labels[row] = row, new_label
        self._taught.update((each.id, each) for each in samples)

    def update(self, changed: Mapping[str, Sample | None]) -> None:
        """Continue after some samples were changed, as cheaply as that can be done.

        Args:
            changed: By its id, a sample that was added or has another label now; None if it was
                removed. Samples are sorted by time. None of them is part of sums.
        """
        old = {id: each for id, each in changed.items() if id in self._taught}
        new = [each for id, each in changed.items() if id not in self._taught and each is not None]
        last = next(reversed(self._taught.values())).time if self._taught else 0.0
        kept = all(each and each.label == self._taught[id].label for id, each in old.items())
        if kept and all(each.time > last for each in new):
            for sample in new:
                self._add(sample)
        elif not new and (renamed := self._renaming(old)):
            self.rename(*renamed)
        else:
            left = {**self._taught, **changed}
            samples = [each for each in left.values() if each is not None]
            self._replace(sorted(samples, key=lambda each: (each.time, each.id)))

    def _renaming(self, changed: Mapping[str, Sample | None]) -> tuple[str, str] | None:
        """Return a label and its new name, if that is all that has changed."""
        pairs = {
            (self._taught[id].label, each.label if each else None) for id, each in changed.items()
        }
        if len(pairs) != 1:
            return None
        ((old, new),) = pairs
        if old == UNKNOWN or new is None or new in (UNKNOWN, *self._row_of):
            return None
        return (old, new) if len(changed) == self.counts[old] else None

    def merge(self, other: "Taught") -> None:
        """Add what another classifier was taught, as if its samples had been taught to this one.

        Labels of the same name become one label. A sample that both keep counts once. The other
        classifier does not change.

        Args:
            other: A classifier with the same options.

        Raises:
            InexactError: The classifiers have different options, or cannot be merged exactly.
            FeatureError: The classifiers have learned embeddings of different widths.

        >>> import robocle
        >>> here = robocle.classifier("ncm").learn_one([0, 0], "mug")
        >>> here.merge(robocle.classifier("ncm").learn_one([0, 2], "mug"))
        >>> here.counts, here.scores([[0, 4]]).tolist()
        ({'mug': 2}, [[-9.0]])
        """
        self._require_mergeable(other)
        added = [each for each in other._taught.values() if each.id not in self._taught]
        try:
            self._replace([*self._taught.values(), *added])
        except StateError as error:
            raise InexactError(f"these classifiers cannot be merged: {error}") from error

    def _require_mergeable(self, other: "Taught") -> None:
        mine, theirs = self._options(), other._options()
        if type(other) is not type(self) or mine != theirs:
            raise InexactError(
                f"{other!r} cannot be merged into {self!r}: only equal classifiers can be merged"
            )
        if None not in (self.width, other.width) and self.width != other.width:
            raise FeatureError(
                f"cannot merge embeddings of width {other.width} with embeddings of width "
                f"{self.width}: use the same backbone and pooling"
            )

    def state(self) -> ClassifierState:
        """Return everything that was taught.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0.5, 2], "mug")
        >>> [(sample.label, sample.embedding.tolist()) for sample in clf.state().samples]
        [('mug', [0.5, 2.0])]
        """
        return ClassifierState((), self.samples)

    def restore(self, state: ClassifierState) -> None:
        """Replace everything that was taught with a state.

        Args:
            state: The state of a classifier with the same options.

        Raises:
            StateError: The state is damaged or does not fit. The classifier has not changed.
        """
        width = state.require_consistent()
        before = self.__dict__.copy()
        try:
            self._begin(state, width)
        except BaseException as error:
            self.__dict__ = before
            if isinstance(error, LabelError):
                raise StateError(f"state does not fit this classifier: {error}") from error
            raise

    def _begin(self, state: ClassifierState, width: int | None) -> None:
        """Continue from a consistent state."""
        if state.folded and not self.FOLDS:
            raise StateError("state has sums of samples that are not kept, which only slda has")
        counts = state.folded_counts
        self._labels, self._counts = list(counts), list(counts.values())
        self._row_of = {label: row for row, label in enumerate(counts)}
        self._taught = {}
        self.width = width
        self.require_room(tuple(state.counts))
        for sample in state.samples:
            self._taught[sample.id] = sample
            self._learn_next(sample, False)
        self._is_current = False

    def _replace(
        self, samples: Sequence[Sample], renamed: Mapping[str, str | None] | None = None
    ) -> None:
        """Continue with other samples.

        Args:
            samples: The samples.
            renamed: The labels that became another one, or None.
        """
        self.restore(ClassifierState((), tuple(samples)))

    def _make_current(self) -> None:
        """Learn all samples again, in their order, if what was computed is not of all of them.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        self._require_taught()
        if self._is_current:
            return
        self._labels, self._counts, self._row_of = [], [], {}
        self._reset()
        try:
            for sample in self._taught.values():
                self._learn_next(sample, True)
        except BaseException:  # an interrupt: the labels and counts stay those of all samples
            self._begin(ClassifierState((), self.samples), self.width)
            raise
        self._is_current = True

    def _require_taught(self) -> None:
        """Raise NothingTaughtError if no label was taught."""
        if not self._labels and all(each.label == UNKNOWN for each in self._taught.values()):
            raise NothingTaughtError

    def _options(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _require_samples(self, ids: Iterable[str]) -> None:
        """Raise UnknownSampleError if one of the samples is not kept."""
        if unknown := sorted(set(ids) - self._taught.keys()):
            raise UnknownSampleError(unknown[0])

    def _require_label(self, label: str) -> None:
        if label == UNKNOWN and any(each.label == UNKNOWN for each in self._taught.values()):
            return
        if label not in self._row_of:
            raise never_taught(label, self._labels)


def _renamed(sample: Sample, label: str, new_label: str) -> Sample:
    """Return a sample, with the new label if it has the old one."""
    return replace(sample, label=new_label) if sample.label == label else sample
