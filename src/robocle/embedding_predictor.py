"""What can be asked of a learner that is taught embeddings. Nothing here changes what it learned.

What predictions need is computed once after each change, as a snapshot that never changes. While
another thread makes a change, predictions go on with the snapshot before it.

What only predictions need is imported by the first one: a command that teaches starts faster.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.backbones.world import used_world
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.labels import never_taught, spelling_of
from robocle.embedding import Embedding, values_for
from robocle.imports import imported
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.spec import require_whole
from robocle.store import LearnerState, Parts
from robocle.types import Prediction
from robocle.wording import plural

if TYPE_CHECKING:
    from robocle.classifiers.slda.answer import Familiarity
    from robocle.prediction_snapshot import Scored, Snapshot
    from robocle.recognition.calibration import AnyCalibration
    from robocle.recognition.readiness import Readiness
    from robocle.recognition.samples import TaughtSample


class EmbeddingPredictor:
    """Recognises embeddings with what a learner has learned.

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

    def _size(self) -> str:
        pictures = plural(sum(self.counts.values()), "picture")
        return f"{plural(len(self.labels), 'label')}, {pictures}"

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
        return self._scored(values).prediction(unknown, nothing)

    def _scored(self, values: NDArray[Any]) -> "Scored":
        """Return the scores of an embedding, and what they mean."""
        now = self._now
        # While another thread makes a change, predictions go on with the snapshot before it.
        if now is None or now.taught is not self._state.taught:
            with self._state.classifier() as classifier:
                now = self._new_snapshot(classifier)
                if now is None:
                    from robocle.prediction_snapshot import Scored

                    scores = classifier.scores(values[None])[0]
                    return Scored(classifier.labels, scores, float(scores.max()), None)
        return now.scored(values)

    def _new_snapshot(self, classifier: StreamingClassifier) -> "Snapshot | None":
        """Return what predictions need, computed once after each change; None if it can change."""
        if self._now is None:
            imported("robocle.prediction_snapshot")  # a fork waits for that
        from robocle.prediction_snapshot import Snapshot

        taught = self._state.taught
        if self._now is None or self._now.taught is not taught:
            answer = classifier.answer()
            if answer is None:
                return None
            labels, width = classifier.labels, classifier.width or 0
            calibration = self._calibration_of(classifier)
            self._now = Snapshot(taught, labels, width, answer, calibration)
        return self._now

    def readiness(self) -> "Readiness | None":
        """Return which labels need more pictures and which are easily confused.

        Returns:
            The readiness; None if the classifier has no leave-one-out scores.
        """
        from robocle.recognition.readiness import readiness

        with self._state.classifier() as classifier:
            answer = classifier.answer() if classifier.labels else None
            if answer is None or answer.leave_one_out is None:
                return None
            calibration = self._calibration_of(classifier)
            return readiness(classifier.counts, classifier.leave_out(), calibration)

    @property
    def samples(self) -> "list[TaughtSample]":
        """The taught pictures that are kept, in the order in which they were taught.

        Each has its id, its label, when it was taught, and how well it is recognised when it is
        left out. That is computed anew each time: a few seconds for thousands of pictures.

        Example:
            >>> from robocle import Learner
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> [(sample.label, sample.recognised) for sample in learner.samples]
            [('mug', None)]
        """
        from robocle.recognition.samples import taught_samples

        with self._state.classifier() as classifier:
            return taught_samples(classifier, self._calibration_of(classifier))

    def doubtful(self, most: int = 5, label: str | None = None) -> "list[TaughtSample]":
        """Return the taught pictures that hurt, the worst first; see `remove`.

        A picture is doubtful if it is taken for another label when it is left out, or if more of
        the other pictures are recognised without it.

        Args:
            most: How many pictures to return at most.
            label: Only pictures of this label; None for all labels.

        Raises:
            SpecError: `most` is not a whole number from 1 on.
            UnknownLabelError: The label was never taught.
        """
        from robocle.recognition.samples import doubtful_samples

        require_whole("most", most, 1, 1_000_000)
        if label is not None and spelling_of(label, self.labels) is None:
            raise never_taught(label, self.labels)
        with self._state.classifier() as classifier:
            calibration = self._calibration_of(classifier)
            return doubtful_samples(classifier, calibration, most, label)

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

    def familiarity(self) -> "Familiarity | None":
        """Return what computes the familiarity of pictures from their scores.

        Returns:
            It never changes; None if the learner has no world.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        with self._state.classifier() as classifier:
            answer = classifier.answer()
            return answer.familiarity() if answer is not None else None

    def calibration(self) -> "AnyCalibration | None":
        """Return the calibration of the scores. It is computed once after each change.

        Returns:
            The calibration; None if there is neither a world nor leave-one-out scores, or a single
            label and no world.
        """
        with self._state.classifier() as classifier:
            return self._calibration_of(classifier)

    def _calibration_of(self, classifier: StreamingClassifier) -> "AnyCalibration | None":
        from robocle.recognition.calibration import calibrated

        answer = classifier.answer() if classifier.labels else None
        if answer is None:
            return None
        if self._calibrated is None or self._calibrated[0] is not answer:
            self._calibrated = answer, calibrated(answer, self._state.world)
        return self._calibrated[1]

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None if no sample of it is kept.

        Args:
            label: The label, under its present name.
        """
        return self._state.last_embedding(spelling_of(label, self.labels) or label)

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the learner as if that label had never been taught."""
        with self._state.classifier() as classifier:
            return classifier.forgets_exactly
