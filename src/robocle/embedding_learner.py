"""A learner that is taught embeddings. `robocle.Learner` adds the pipeline that embeds pictures."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.backbones.world import used_world
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.contract import Scorer
from robocle.classifiers.embedding_numbers import require_width
from robocle.classifiers.labels import never_taught, require_label, spelling_of
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.embedding import Embedding, values_for
from robocle.errors import AlreadyMergedError, StateError
from robocle.recognition.calibration import AnyCalibration, calibrated, familiarity_of, recognise
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.recognition.readiness import Readiness, readiness
from robocle.store import Forget, LearnerState, Parts, Rename, Teach, stored_embedding
from robocle.store.learner_state import Taught
from robocle.store.reading import FilePath, state_path
from robocle.types import Prediction, Scores
from robocle.wording import plural


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What predictions need after some change. It never changes, so threads share it."""

    taught: Taught
    labels: tuple[str, ...]
    width: int
    scorer: Scorer
    familiarity: Familiarity | None
    calibration: AnyCalibration | None

    def scored(self, values: NDArray[Any]) -> "Scored":
        """Return the scores and the familiarity of one embedding.

        Raises:
            FeatureError: The embedding has another width than those taught.
        """
        require_width(values, self.width)
        embeddings = np.asarray(values[None], np.float64)
        scores = self.scorer(embeddings)
        familiarity = familiarity_of(self.familiarity, embeddings, scores)
        return Scored(self.labels, scores[0], float(familiarity[0]), self.calibration)


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of one embedding, and what they mean."""

    labels: tuple[str, ...]
    scores: Scores
    familiarity: float
    calibration: AnyCalibration | None


class EmbeddingLearner:
    """Learns labelled embeddings one at a time and recognises new ones.

    Several threads may use a learner. Changes are made one after another. Predictions run beside
    each other and beside a change; each sees the learner before or after it. A forked process may
    go on with a learner in memory; only the process that opened a file may change it.

    Args:
        state: What was learned, and the file it is kept in, if any.
    """

    def __init__(self, state: LearnerState) -> None:
        self._state = state
        parts = state.parts
        with state.classifier() as classifier:
            world = used_world(classifier, parts.backbone, parts.fingerprint, parts.pooling)
        state.world = world
        state.parts = replace(parts, world=world.identity if world else "")
        self._now: Snapshot | None = None
        self._calibrated: tuple[object, AnyCalibration | None] | None = None

    def __repr__(self) -> str:
        parts = self.parts
        return (
            f"<{type(self).__name__}: {self._size()}; "
            f"{parts.backbone}, {parts.pooling}, {parts.classifier}, {parts.views}, "
            f"{parts.prediction_views}>"
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first picture."""
        return tuple(self._state.taught.counts)

    @property
    def counts(self) -> dict[str, int]:
        """The number of pictures taught per label."""
        return dict(self._state.taught.counts)

    @property
    def parts(self) -> Parts:
        """The specs of this learner's parts, with every option written out."""
        return self._state.parts

    def teach_embedding(self, embedding: Embedding | ArrayLike, label: str) -> None:
        """Learn a picture that has already been embedded.

        Args:
            embedding: What `embed_for_teaching` returned, or an array of your own.
            label: What the picture shows.

        Raises:
            FeatureError: The embedding was made for prediction, has a different width, or has a
                value beyond 1e30.
            LabelError: The label cannot be used.
            StateError: The change cannot be written to the learner's file.
        """
        values = stored_embedding(values_for("teaching", embedding))
        label = require_label(label)
        with self._state.exclusive():
            self._state.do(Teach(spelling_of(label, self.labels) or label, values))

    def predict_embedding(
        self, embedding: Embedding | ArrayLike, unknown: float = DEFAULT_UNKNOWN
    ) -> Prediction:
        """Recognise a picture that has already been embedded.

        Args:
            embedding: What `embed_for_prediction` returned, or an array of your own.
            unknown: The level, as in `Learner.predict`.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            FeatureError: The embedding was made for teaching, has a different width, or has a value
                beyond 1e30.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The level is out of range.
        """
        values = values_for("prediction", embedding)
        nothing = embedding.nothing if isinstance(embedding, Embedding) else ""
        scored = self._scored(values)
        labels, familiarity = scored.labels, scored.familiarity
        found = recognise(scored.scores, familiarity, scored.calibration, unknown)
        nearest = labels[found.row]
        named = dict(zip(labels, scored.scores.tolist(), strict=True))
        if nothing and unknown > 0:
            none = dict.fromkeys(labels, 0.0)
            return Prediction(None, 0.0, named, nearest, 0.0, none, nothing, familiarity)
        label = nearest if found.is_known else None
        confidences = dict(zip(labels, found.confidences.tolist(), strict=True))
        return Prediction(
            label, found.confidence, named, nearest, found.known, confidences, "", familiarity
        )

    def _scored(self, values: NDArray[Any]) -> Scored:
        """Return the scores of an embedding, and what they mean."""
        now = self._now
        # While another thread makes a change, predictions go on with the snapshot before it.
        if now is None or now.taught is not self._state.taught:
            with self._state.classifier() as classifier:
                now = self._new_snapshot(classifier)
                if now is None:
                    scores = classifier.scores(values[None])[0]
                    calibration = self._calibration_of(classifier)
                    return Scored(classifier.labels, scores, float(scores.max()), calibration)
        return now.scored(values)

    def _new_snapshot(self, classifier: StreamingClassifier) -> Snapshot | None:
        """Return what predictions need, computed once after each change; None if it can change."""
        taught = self._state.taught
        if self._now is None or self._now.taught is not taught:
            scorer = classifier.scorer()
            if scorer is None:
                return None
            self._now = Snapshot(
                taught,
                classifier.labels,
                classifier.width or 0,
                scorer,
                classifier.familiarity(),
                self._calibration_of(classifier),
            )
        return self._now

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None once it is out of the undo history.

        Args:
            label: The label, under its present name.
        """
        return self._state.last_embedding(spelling_of(label, self.labels) or label)

    def forget(self, label: str) -> None:
        """Forget a label. This can be undone until `purge` is called.

        Raises:
            UnknownLabelError: The label was never taught.
            StateError: The change cannot be written to the learner's file.
        """
        with self._state.exclusive():
            self._state.do(Forget(self._known(label)))

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the learner as if that label had never been taught."""
        with self._state.classifier() as classifier:
            return classifier.forgets_exactly

    def rename(self, label: str, new: str) -> None:
        """Give a label another name.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used, or is already a label.
            StateError: The change cannot be written to the learner's file.
        """
        new = require_label(new)
        with self._state.exclusive():
            old = self._known(label)
            existing = spelling_of(new, [each for each in self.labels if each != old])
            self._state.do(Rename(old, existing or new))

    def _known(self, label: str) -> str:
        """Return the label as it is spelled in the state."""
        known = spelling_of(label, self.labels)
        if known is None:
            raise never_taught(label, self.labels)
        return known

    def step(
        self, description: str | None = None, *, token: str | None = None
    ) -> AbstractContextManager[None]:
        """Return a context in which all operations are one step, which `undo` undoes as a whole.

        Each operation is still written when its call returns. If an error ends the context early,
        the operations before it stay, as one step. A step within a step is part of it.

        Args:
            description: What `undo` says that it undid; None describes the operations.
            token: Steps with the same token that follow each other are undone together, even if
                the learner was closed in between: pictures that arrive one by one are one step.

        Example:
            >>> from robocle import Learner
            >>> learner = Learner(pooling="avg")
            >>> with learner.step("a first lesson"):
            ...     learner.teach_embedding([0.9, 0.1], "mug")
            ...     learner.teach_embedding([0.2, 0.8], "pan")
            >>> learner.undo(), learner.labels
            ('a first lesson', ())
        """
        return self._state.step(description, token)

    @property
    def steps(self) -> list[str]:
        """What can be undone, the last step first, such as "teaching 3 pictures of 'mug'"."""
        return self._state.steps

    @property
    def undoable(self) -> int:
        """How many steps can be undone."""
        return len(self.steps)

    def undo(self) -> str:
        """Undo the last step: a `teach`, `teach_many`, `forget`, `rename` or `merge`, or a `step`.

        Returns:
            A description of what was undone, such as "teaching 'mug'".

        Raises:
            NothingToUndoError: No step can be undone.
            StateError: The change cannot be written to the learner's file.
        """
        return self._state.undo()

    def purge(self) -> None:
        """Delete the undo history, and with it everything that was forgotten or undone.

        Raises:
            StateError: The change cannot be written to the learner's file.
        """
        self._state.purge()

    def merge(self, other: "EmbeddingLearner", *, again: bool = False) -> None:
        """Add what another learner with the same parts has learned.

        Args:
            other: The other learner; it does not change.
            again: Whether to merge it even if both have pictures in common, which count twice then.

        Raises:
            AlreadyMergedError: The other learner was merged before, or one is a copy of the other.
            StateError: The other learner has different parts, or the change cannot be written to
                the learner's file.
            InexactError: Classifiers of this kind cannot be merged.
        """
        if not isinstance(other, EmbeddingLearner):
            raise StateError(f"only a learner can be merged, not {other!r}: load it first")
        self.parts.require_mergeable(other.parts)
        if not again and self._state.overlaps(other._state):
            raise AlreadyMergedError
        self._state.merge(other._state, f"merging {other._size()}")

    def _size(self) -> str:
        pictures = plural(sum(self.counts.values()), "picture")
        return f"{plural(len(self.labels), 'label')}, {pictures}"

    def readiness(self) -> Readiness | None:
        """Return which labels need more pictures and which are easily confused.

        Returns:
            The readiness; None if the classifier has no leave-one-out scores.
        """
        with self._state.classifier() as classifier:
            if classifier.leave_one_out() is None:
                return None
            calibration = self._calibration_of(classifier)
            return readiness(classifier.counts, classifier.leave_one_out_of_all(), calibration)

    def unknown_below(self, unknown: float = DEFAULT_UNKNOWN) -> float | None:
        """Return the threshold: an object whose familiarity is below it is called unknown.

        Args:
            unknown: The level, as in `Learner.predict`.

        Returns:
            The threshold; None if this learner calls no object unknown.

        Raises:
            SpecError: The level is out of range.
        """
        calibration = self.calibration()
        return calibration.threshold(unknown) if calibration else None

    def linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return W and b with scores = W z + b for an embedding z.

        Raises:
            InexactError: The classifier does not provide linear scores.
            NothingTaughtError: Nothing has been taught yet.
        """
        with self._state.classifier() as classifier:
            return classifier.linear()

    def familiarity(self) -> Familiarity | None:
        """Return what computes the familiarity of pictures from their scores.

        Returns:
            It never changes; None if the learner has no world.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        with self._state.classifier() as classifier:
            return classifier.familiarity()

    def calibration(self) -> AnyCalibration | None:
        """Return the calibration of the scores. It is computed once after each change.

        Returns:
            The calibration; None if there is neither a world nor leave-one-out scores, or a single
            label and no world.
        """
        with self._state.classifier() as classifier:
            return self._calibration_of(classifier)

    def _calibration_of(self, classifier: StreamingClassifier) -> AnyCalibration | None:
        if not classifier.labels:
            return None
        source = classifier.leave_one_out() or classifier.familiarity()
        if source is None:
            return None
        if self._calibrated is None or self._calibrated[0] is not source:
            self._calibrated = source, calibrated(classifier, self._state.world)
        return self._calibrated[1]

    def save(self, path: FilePath) -> None:
        """Write everything that was learned to a file, atomically.

        The undo history is written to the learner's own file only.

        Args:
            path: The state file to create or replace.

        Raises:
            StateAccessError: The file cannot be written.
        """
        self._state.write(state_path(path))

    def close(self) -> None:
        """Compact the journal and release the lock. A learner in memory has nothing to close."""
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
