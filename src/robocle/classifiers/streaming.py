"""The base class of all classifiers, which learn one labelled embedding at a time.

`learn_one`, `predict_one` and `predict_proba_one` are the methods that river's estimators have.
https://riverml.xyz passes a sample as a dict of feature names to values. An embedding is a row of
numbers, so the order of the features is fixed by the first dict. A state has no feature names: pass
features in the same order to a restored classifier. River's own pipelines with metrics and its
`evaluate` accept only subclasses of its classes, so use these methods in a loop of your own.
"""

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle._internal.wording import plural
from robocle.classifiers.labels import UNKNOWN, plain_label
from robocle.classifiers.samples import (
    Matrix,
    Sample,
    Vector,
    embedding_numbers,
    kept_embedding,
    require_width,
    usable_float32,
)
from robocle.classifiers.taught import Taught
from robocle.errors import FeatureError, InexactError
from robocle.types import Scores

if TYPE_CHECKING:
    from robocle.classifiers.slda.answer import Answer
    from robocle.classifiers.slda.left_out import LeaveOneOut

Features = ArrayLike | Mapping[Any, float]
"""An embedding (width,), or a dict of feature names to values."""


class StreamingClassifier(Taught):
    """Learns labelled embeddings one at a time. A new label can be taught at any time.

    A subclass is configured by its constructor arguments and keeps each of them in an attribute of
    the same name. It must implement `_reset`, `_learn` and `_scores`, and may override `_add_row`,
    `answer`, `linear` and `use_world`. It can rely on the following:

    - labels are valid, and embeddings are finite float64 arrays of one width, `self.width`;
    - `self._labels` and `self._counts` are maintained here, indexed by row: the index of a label;
    - `_scores` is called only after something has been taught.

    A subclass that learns many samples faster than one by one may override `_learn_next` instead,
    as `slda` does.

    In return, it must index what it learns about labels by row, return finite scores for any
    embedding, return the same scores whether or not scores were computed before, and draw random
    numbers from a seed. `robocle.contract.check_classifier` checks these rules.
    """

    _features: tuple[Hashable, ...] | None = None  # the names of features, in their order
    _world_pictures: NDArray[Any] | None = None  # if they are used; copies have them

    @abstractmethod
    def _scores(self, embeddings: Matrix) -> Scores:
        """Return the scores (n, labels) of embeddings (n, width)."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: what was computed from the samples is computed again."""
        taught = {"options": self._options(), "state": self.state()}
        return {**taught, "features": self._features, "world": self._world_pictures}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """Continue from what was pickled or copied."""
        self.__init__(**saved["options"])  # type: ignore[misc]
        self._features = saved["features"]
        self.restore(saved["state"])
        if saved["world"] is not None:
            self.use_world(saved["world"])

    def __repr__(self) -> str:
        taught = plural(sum(self._counts), "sample"), plural(len(self._labels), "label")
        return f"<{super().__repr__()}, {taught[0]} of {taught[1]}>"

    def require_sample(self, embedding: ArrayLike, label: str) -> NDArray[Any]:
        """Return an embedding as it would be kept, if it could be taught under a label.

        Raises:
            LabelError: The label cannot be used.
            FeatureError: The embedding is not made of real, finite numbers, or has a different
                width.
        """
        label = plain_label(label)
        values = self._checked(embedding, 1)
        if label != UNKNOWN and label not in self._row_of:
            self.require_room([*self._labels, label])
        return kept_embedding(np.asarray(values))

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> NDArray[Any]:
        """Return embeddings as an array: one as it was given, several in float64."""
        if axes == 1 and usable_float32(embeddings) is not None:
            values = np.asarray(embeddings)
        else:
            values = embedding_numbers(embeddings, axes)
        if self.width is not None:
            require_width(values, self.width)
        return values if axes == 1 else np.asarray(values, np.float64)

    def learn(
        self, embedding: ArrayLike, label: str, *, id: str | None = None, time: float | None = None
    ) -> None:
        """Learn one labelled embedding. Refused input changes nothing.

        Args:
            embedding: The embedding (width,). The first one fixes the width.
            label: Its label, which may be new.
            id: The id of the sample; None for a new one. A kept sample is not learned again.
            time: When it was taught, in seconds since 1970; None for now.

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
        values = self.require_sample(embedding, label)
        if id in self._taught:
            return
        given = {name: value for name, value in (("id", id), ("time", time)) if value is not None}
        self._add(Sample(plain_label(label), values, **given))  # type: ignore[arg-type]

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
        self._make_current()
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

    def learn_one(self, x: Features, y: str) -> Self:
        """Learn one labelled sample.

        Args:
            x: An embedding (width,), or a dict of feature names to values. The first dict fixes
                the order of the features; later ones may list them in any order.
            y: Its label.

        Returns:
            The classifier itself.

        Raises:
            LabelError: The label cannot be used.
            FeatureError: The sample differs in width or in its features from earlier ones, or
                contains values that are not finite.

        >>> import robocle
        >>> clf = robocle.classifier("ncm")
        >>> clf.learn_one({"red": 1, "round": 0}, "brick").learn_one([0, 1], "ball").labels
        ('brick', 'ball')
        >>> clf.predict_one({"round": 0.9, "red": 0.2})
        'ball'
        """
        features = self._order_of(x)
        self.learn(_values(x, features), y)
        self._features = features
        return self

    def predict_one(self, x: Features) -> str | None:
        """Return the label with the best score, or None if nothing has been learned yet.

        Raises:
            FeatureError: The sample does not fit those that were learned.
        """
        return self.predict(self._as_row(x))[0] if self.labels else None

    def predict_proba_one(self, x: Features) -> dict[str, float]:
        """Return the probability of each label; empty if nothing has been learned yet.

        Raises:
            FeatureError: The sample does not fit those that were learned.
        """
        if not self.labels:
            return {}
        probabilities = self.predict_proba(self._as_row(x))[0].tolist()
        return dict(zip(self.labels, probabilities, strict=True))

    def _as_row(self, x: Features) -> NDArray[np.float64]:
        return np.asarray(embedding_numbers(_values(x, self._order_of(x)), 1)[None], np.float64)

    def _order_of(self, x: Features) -> tuple[Hashable, ...] | None:
        if not isinstance(x, Mapping):
            return self._features
        order = self._features or tuple(x)
        if set(order) != set(x):
            changed = ", ".join(sorted(map(str, set(order) ^ set(x)))[:5])
            raise FeatureError(
                f"a sample has other features than the first one (they differ in {changed}): "
                "pass the same features every time"
            )
        return order

    def answer(self) -> "Answer | None":
        """Return what predictions need: scores, familiarity and leave-one-out scores.

        Returns:
            It never changes, and several threads may use it; None if only the classifier itself can
            compute scores.
        """
        return None

    def leave_out(self, ids: Sequence[str] | None = None) -> "Iterator[LeaveOneOut]":
        """Yield leave-one-out scores in chunks of bounded size. Nothing may be taught meanwhile.

        Args:
            ids: The samples to leave out, one at a time; None for some of every label.
        """
        yield from ()

    def recognised_without(self, ids: Sequence[str]) -> list[int]:
        """Return how many more of the other samples are recognised, left out, without each sample.

        Args:
            ids: The samples to try.

        Raises:
            UnknownSampleError: A sample is not kept.
        """
        self._require_samples(ids)
        return [0] * len(ids)

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W (labels, width) and b with scores = W z + b, up to a term common to all labels.

        Raises:
            InexactError: The classifier does not provide linear scores.
            NothingTaughtError: Nothing has been taught yet.
        """
        raise InexactError(f"{type(self).__name__} has no linear scores: use ncm or slda")

    def use_world(self, pictures: ArrayLike) -> None:
        """Use embeddings of pictures of anything, (n, width). Most classifiers make no use of them.

        They are neither learned nor stored in the state.
        """


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax along the last axis.

    `scipy.special.softmax` computes the same, but to import it takes longer than all of robocle.

    Args:
        logits: An array of any shape; the last axis may be empty.

    Returns:
        An array of the same shape. Entries along the last axis are not negative and sum to 1.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def _values(x: Features, features: tuple[Hashable, ...] | None) -> ArrayLike:
    return [x[name] for name in features or ()] if isinstance(x, Mapping) else x
