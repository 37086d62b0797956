"""The base class of all classifiers, which learn one labelled embedding at a time.

It checks the input and keeps track of labels. `robocle.classifiers.contract` documents what a
classifier must implement.
"""

import copy
import inspect
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers.contract import ClassifierContract, Scorer
from robocle.classifiers.embedding_numbers import (
    embedding_numbers,
    require_width,
    usable_float32,
)
from robocle.classifiers.labels import never_taught, plain_label
from robocle.classifiers.one_by_one import OneByOne
from robocle.classifiers.softmax import softmax
from robocle.classifiers.state import ClassifierState, Matrix, Ownership, Shared, StateArrays
from robocle.errors import (
    FeatureError,
    InexactError,
    LabelError,
    NothingTaughtError,
    RobocleError,
)
from robocle.spec import Described
from robocle.types import Scores
from robocle.wording import plural

__all__ = ["Scorer", "StreamingClassifier"]


class StreamingClassifier(ClassifierContract, OneByOne, Described):
    """Learns labelled embeddings one at a time. A new label can be taught at any time.

    Subclasses implement the methods of `ClassifierContract`.
    """

    def __repr__(self) -> str:
        taught = plural(sum(self._counts), "sample"), plural(len(self._labels), "label")
        return f"<{super().__repr__()}, {taught[0]} of {taught[1]}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first sample."""
        return tuple(self._labels)

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples taught per label."""
        return dict(zip(self._labels, self._counts, strict=True))

    def learn(self, embedding: ArrayLike, label: str) -> None:
        """Learn one labelled embedding. Rejected input changes nothing.

        Args:
            embedding: The embedding (width,). The first one fixes the width.
            label: Its label, which may be new.

        Raises:
            LabelError: The label cannot be used.
            FeatureError: The embedding is not made of real, finite numbers, or has a different
                width.

        >>> import robocle
        >>> clf = robocle.classifier("ncm")
        >>> clf.learn([0.9, 0.1], "mug")
        >>> clf.learn([0.2, 0.8], "pan")
        >>> clf
        <NearestClassMean(), 2 samples of 2 labels>
        """
        label = plain_label(label)
        sample = self._checked(embedding, 1)
        self.width = len(sample)
        try:
            row = self._labels.index(label)
        except ValueError:
            row = len(self._labels)
            self._append(label)
        self._learn(sample, row)
        self._counts[row] += 1

    def scores(self, embeddings: ArrayLike) -> Scores:
        """Return how well each embedding fits each label.

        Args:
            embeddings: The embeddings (n, width).

        Returns:
            The scores (n, labels), in the order of `labels`. Higher is better.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
            FeatureError: The embeddings are not made of real, finite numbers, or have a different
                width.

        >>> import robocle
        >>> clf = robocle.classifier("ncm")
        >>> clf.learn([0, 0], "mug")
        >>> clf.learn([0, 3], "pan")
        >>> clf.scores([[0, 1]]).tolist()
        [[-1.0, -4.0]]
        """
        if not self._labels:
            raise NothingTaughtError
        return self._scores(self._checked(embeddings, 2))

    def predict(self, embeddings: ArrayLike) -> list[str]:
        """Return the label with the best score for each embedding; see `scores`.

        >>> import robocle
        >>> clf = robocle.classifier("ncm")
        >>> clf.learn([0, 0], "mug")
        >>> clf.learn([0, 3], "pan")
        >>> clf.predict([[0, 1], [0, 2]])
        ['mug', 'pan']
        """
        return [self._labels[row] for row in self.scores(embeddings).argmax(axis=1)]

    def predict_proba(self, embeddings: ArrayLike) -> NDArray[np.float64]:
        """Return the softmax of the scores, (n, labels); see `scores`.

        Where scores are log-likelihoods (`slda:score=linear`, `sqda`, `snb`) or logits (`finetune`,
        `icarl`) these are the posterior probabilities of the labels at equal prior odds. Elsewhere
        they rank the labels as the scores do, and are not calibrated. The confidence of a learner's
        prediction is calibrated: see `robocle.recognition`.
        """
        return softmax(self.scores(embeddings))

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
        row = self._row(label)
        self._forget(row)
        del self._labels[row], self._counts[row]

    def rename(self, label: str, new: str) -> None:
        """Give a label another name.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used, or is already a label.
        """
        row = self._row(label)
        new = plain_label(new)
        if new in self._labels:
            raise LabelError(
                f"cannot rename {label!r} to {new!r}: that label already exists, choose another",
                new,
            )
        self._labels[row] = new

    def merge(self, other: "StreamingClassifier") -> None:
        """Add what another classifier has learned, as if its samples had been taught to this one.

        Labels of the same name become one label. The other classifier does not change.

        Args:
            other: A classifier with the same options.

        Raises:
            InexactError: The classifiers have different options, or cannot be merged exactly.
            FeatureError: The classifiers have learned embeddings of different widths.

        >>> import robocle
        >>> here = robocle.classifier("ncm").learn_one([0, 0], "mug")
        >>> here.merge(robocle.classifier("ncm").learn_one([0, 2], "mug"))
        >>> here.counts
        {'mug': 2}
        """
        self._require_mergeable(other)
        if not other._labels:
            return
        other = copy.deepcopy(other) if other is self else other
        self.width = other.width
        for label in other._labels:
            if label not in self._labels:
                self._append(label)
        rows = [self._labels.index(label) for label in other._labels]
        self._merge(other, rows)
        for row, count in zip(rows, other._counts, strict=True):
            self._counts[row] += count

    def state(self) -> ClassifierState:
        """Return everything that was learned.

        >>> import robocle
        >>> clf = robocle.classifier("ncm").learn_one([0.5, 2], "mug")
        >>> clf.state().arrays["means"].tolist()
        [[0.5, 2.0]]
        """
        counts = np.array(self._counts, np.int64)
        return ClassifierState(self.labels, StateArrays({"counts": counts, **self._state()}))

    def restore(self, state: ClassifierState) -> None:
        """Replace everything that was learned with a state.

        Args:
            state: The state of a classifier with the same options.

        Raises:
            StateError: The state is damaged or does not fit. The classifier has not changed.
        """
        counts = state.counts()
        before = self.__dict__.copy()
        try:
            self._labels = [plain_label(label) for label in state.labels]
            self._counts = counts
            self.width = self._restore(state)
        except RobocleError:
            self.__dict__ = before
            raise

    def array_owners(self) -> Mapping[str, Ownership]:
        """Return which labels own the rows of each array that a state may hold, by name.

        When a state file is damaged, this decides which labels are lost.
        """
        return {"counts": Shared(), **self._array_owners()}

    def _append(self, label: str) -> None:
        self._labels.append(label)
        self._counts.append(0)
        self._add_row()

    def _require_mergeable(self, other: "StreamingClassifier") -> None:
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
        obstacle = self._merge_obstacle()
        if obstacle:
            raise InexactError(f"classifiers of this kind cannot be merged: {obstacle}")

    def _options(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _row(self, label: str) -> int:
        if label not in self._labels:
            raise never_taught(label, self._labels)
        return self._labels.index(label)

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> Matrix:
        values = usable_float32(embeddings) if axes == 1 else None
        if values is None:
            values = embedding_numbers(embeddings, axes)
            if axes == 1:  # it is learned later, when the caller may have changed the array
                values = values.astype(np.float64)
        if self.width is not None:
            require_width(values, self.width)
        return np.asarray(values, np.float64)
