"""The learner: pictures in, labels out. F(P(G(x))) and nothing more.

learner = robocle.Learner()
learner.teach("mug1.jpg", "mug")
learner.predict("other.jpg").label

A learner made with Learner() or Learner.load lives in memory; one opened with Learner.open lives
in its file, and every change is on the disk when the call returns.
"""

import copy
import logging
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone
from robocle.classifiers import CLASSIFIERS, StreamingClassifier
from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
from robocle.errors import (
    BackboneError,
    NothingTaughtError,
    SpecError,
    StateError,
)
from robocle.images import PREPROCESSING, Picture, read, to_pixels
from robocle.images.quality import Complaint, complaints
from robocle.images.views import VIEWS
from robocle.lesson import GATES, Lesson
from robocle.pooling import POOLINGS, Pooling
from robocle.recognition.calibration import DEFAULT_UNKNOWN, Calibration, recognised
from robocle.recognition.readiness import Readiness, readiness
from robocle.spec import require_choice
from robocle.store import (
    Forget,
    History,
    LearnerState,
    Parts,
    Rename,
    StateStore,
    StoredState,
    Teach,
    as_embedding,
    read_state,
)
from robocle.types import Prediction

log = logging.getLogger("robocle")

DEFAULT_BACKBONE = "efficientnet_lite0"
DEFAULT_POOLING = "moments:r=3,form=root"
DEFAULT_CLASSIFIER = "slda:scatter=exact,shrinkage=oas,covariance=blocks,score=cosine"
DEFAULT_VIEWS = "centre"


class Learner:
    """Learns objects from labelled pictures shown one at a time, and recognises them.

    One thread at a time: a program with several keeps a lock of its own around a learner.
    Each part is given by its spec; a backbone that is already loaded can be passed as it is.
    """

    def __init__(
        self,
        backbone: str | Backbone = DEFAULT_BACKBONE,
        pooling: str = DEFAULT_POOLING,
        classifier: str = DEFAULT_CLASSIFIER,
        views: str = DEFAULT_VIEWS,
    ) -> None:
        self._backbone = _loaded(backbone)
        self._pooling = POOLINGS.build(pooling)
        self._views = VIEWS.build(views)
        history = History(lambda: CLASSIFIERS.build(classifier, blocks=self._pooling.blocks))
        self._state = LearnerState(self._parts(history.now), history)
        self._read: tuple[LeaveOneOut, Calibration | None] | None = None

    @property
    def _classifier(self) -> StreamingClassifier:
        return self._state.classifier

    @property
    def backbone(self) -> Backbone:
        """The network that looks at the pictures."""
        return self._backbone

    @property
    def pooling(self) -> Pooling:
        """What makes a vector of the network's feature maps."""
        return self._pooling

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first picture."""
        return self._classifier.labels

    @property
    def counts(self) -> dict[str, int]:
        """How many pictures each label was taught with."""
        return self._classifier.counts

    @property
    def parts(self) -> Parts:
        """What this learner is made of, every option written out."""
        return self._state.parts

    def _parts(self, classifier: StreamingClassifier) -> Parts:
        return Parts(
            backbone=self._backbone.name,
            fingerprint=self._backbone.fingerprint,
            preprocessing=PREPROCESSING,
            pooling=POOLINGS.describe(self._pooling),
            classifier=CLASSIFIERS.describe(classifier),
            views=VIEWS.describe(self._views),
        )

    def teach(self, picture: Picture, label: str, gate: str = "warn") -> tuple[Complaint, ...]:
        """Learn one labelled picture, which is not kept; gives what is wrong with it.

        The gate says what to do about a picture that is dark, blurred, the last one again...:
        `warn` in the log and learn it, `refuse` it, or be `off`.
        """
        require_choice("gate", gate, GATES)  # before looking, which takes its time
        lesson = self.look(picture)
        found = lesson.pass_gate(gate, self.last_embedding(label))
        self.teach_embedding(lesson.vector, label)
        for complaint in found:
            log.warning("%s: %s", label, complaint)
        return found

    def predict(self, picture: Picture, unknown: float = DEFAULT_UNKNOWN) -> Prediction:
        """Recognise one picture, or say that it is none of the things taught.

        About the share `unknown` of the known things, met as they were taught, is called unknown
        at most; with 0 none is.
        """
        if not self.labels:
            raise NothingTaughtError
        return self.predict_embedding(self.embed(picture), unknown)

    def embed(self, picture: Picture) -> NDArray[np.float32]:
        """The vector that stands for a picture."""
        pixels = to_pixels(picture, self._backbone.input_size)
        vector: NDArray[np.float32] = self._pooling(self._backbone.features(pixels[None]))[0]
        return vector

    def look(self, picture: Picture) -> Lesson:
        """Look at a picture to be taught, in all its views."""
        shot = read(picture, self._backbone.input_size)
        maps = self._backbone.features(self._views(shot.pixels))
        return Lesson(self._pooling(maps).mean(axis=0), complaints(shot))

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """The vector of a label that was taught last, if that can still be undone."""
        for operation in reversed(self._state.operations):
            match operation:
                case Teach(taught, vector) if taught == label:
                    return vector
                case Forget(forgotten) if forgotten == label:
                    return None
                case Rename(before, now) if now == label:
                    label = before
        return None

    def teach_embedding(self, vector: NDArray[np.float32], label: str) -> None:
        """Learn a picture that was embedded before."""
        self._state.do(Teach(label, as_embedding(np.asarray(vector))))

    def predict_embedding(
        self, vector: NDArray[np.float32], unknown: float = DEFAULT_UNKNOWN
    ) -> Prediction:
        """Recognise a picture that was embedded before."""
        scores = self._classifier.scores(vector[None])[0]
        seen = recognised(scores, self._calibration(), unknown)
        nearest = self.labels[seen.row]
        named = dict(zip(self.labels, scores.tolist(), strict=True))
        label = nearest if seen.is_known else None
        return Prediction(label, seen.confidence, named, nearest, seen.known)

    def linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """W and b with scores = W z + b for a vector z, where the classifier is linear."""
        return self._classifier.linear()

    @property
    def forgets_exactly(self) -> bool:
        """Whether a forgotten label leaves nothing, as if it had never been taught."""
        return self._classifier.forgets_exactly

    def forget(self, label: str) -> None:
        """Forget a label. Until it is purged, this can be undone."""
        self._state.do(Forget(label))

    def rename(self, label: str, new: str) -> None:
        """Give a label another name."""
        self._state.do(Rename(label, new))

    def undo(self) -> str:
        """Take back the last teaching, forgetting or renaming; says which it was."""
        return str(self._state.undo())

    def purge(self) -> None:
        """Let go of what undoing needs: what was forgotten or taken back is gone for good."""
        self._state.start_anew(copy.deepcopy(self._classifier))

    def merge(self, other: "Learner") -> None:
        """Add what another learner of the same parts has learnt. This cannot be undone."""
        if not isinstance(other, Learner):
            raise StateError(f"only a learner can be merged, not {other!r}: load it first")
        other.parts.require_same("the other learner", self.parts)
        if other.parts.pooling != self.parts.pooling:
            raise StateError(
                f"cannot merge what was learned with pooling {other.parts.pooling} into "
                f"{self.parts.pooling}: only equal parts add up"
            )
        merged = copy.deepcopy(self._classifier)
        merged.merge(other._classifier)
        self._state.start_anew(merged)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that was learnt to a file, whole or not at all.

        Another file than the learner's own is written without what can be undone.
        """
        self._state.write(Path(path))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], backbone: str | Backbone | None = None
    ) -> "Learner":
        """The learner in a file. A backbone that is already loaded can be passed."""
        return cls._restored(str(path), read_state(Path(path)), backbone)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        backbone: str | Backbone | None = None,
        **parts: str,
    ) -> "Learner":
        """The learner in a file, open for teaching; a new one of these parts if there is none."""
        new = None if os.path.exists(path) else cls(backbone or DEFAULT_BACKBONE, **parts)
        store = StateStore.open(Path(path), new._state.stored() if new else None)
        try:
            learner = new or cls._restored(str(path), store.read(), backbone)
        except BaseException:
            store.close()
            raise
        learner._state.live_in(store)
        return learner

    def close(self) -> None:
        """Put all in one file and let others write it. A learner in memory has nothing to close."""
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def unknown_below(self, unknown: float = DEFAULT_UNKNOWN) -> float | None:
        """The best score under which a thing is called unknown; None if nothing is."""
        calibration = self._calibration()
        return calibration.threshold(unknown) if calibration else None

    def readiness(self) -> Readiness | None:
        """Whether each label was shown enough; None if the classifier cannot say."""
        leave_one_out = self._classifier.leave_one_out()
        return readiness(self.counts, leave_one_out) if leave_one_out else None

    def _calibration(self) -> Calibration | None:
        """How scores are to be read; worked out once after each change."""
        leave_one_out = self._classifier.leave_one_out()
        if leave_one_out is None:
            return None
        if self._read is None or self._read[0] is not leave_one_out:
            self._read = leave_one_out, Calibration.of(leave_one_out)
        return self._read[1]

    @classmethod
    def _restored(
        cls, name: str, stored: StoredState, backbone: str | Backbone | None
    ) -> "Learner":
        parts = stored.parts
        try:
            network = backbone or parts.backbone
            learner = cls(network, parts.pooling, parts.classifier, parts.views)
        except (SpecError, BackboneError) as error:
            raise StateError(f"{name} needs a part that is not here: {error}") from error
        parts.require_same(name, learner.parts)
        state = LearnerState.of(name, stored)
        state.parts = learner.parts  # as this version writes them out
        learner._state = state
        return learner


def stored_readiness(name: str, stored: StoredState) -> Readiness | None:
    """The readiness of a stored state's labels, without its backbone."""
    classifier = LearnerState.of(name, stored).classifier
    leave_one_out = classifier.leave_one_out()
    return readiness(classifier.counts, leave_one_out) if leave_one_out else None


def _loaded(given: str | Backbone) -> Backbone:
    return backbone(given) if isinstance(given, str) else given
