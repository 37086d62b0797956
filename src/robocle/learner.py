"""The learner: pictures in, labels out. F(P(G(x))) and nothing more.

learner = robocle.Learner()
learner.teach("mug1.jpg", "mug")
learner.predict("other.jpg").label
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone
from robocle.classifiers import CLASSIFIERS, ClassifierState
from robocle.errors import NothingTaughtError, SpecError, StateError
from robocle.images import PREPROCESSING, Picture, to_pixels
from robocle.pooling import POOLINGS
from robocle.store import Parts, StoredState, read_state, write_state
from robocle.types import Prediction

DEFAULT_BACKBONE = "efficientnet_lite0"
DEFAULT_POOLING = "moments:r=3,form=root"
DEFAULT_CLASSIFIER = "slda:scatter=exact,shrinkage=oas,covariance=blocks,score=cosine"


class Learner:
    """Learns objects from labelled pictures shown one at a time, and recognises them.

    Each part is given by its spec; a backbone that is already loaded can be passed as it is.
    """

    def __init__(
        self,
        backbone: str | Backbone = DEFAULT_BACKBONE,
        pooling: str = DEFAULT_POOLING,
        classifier: str = DEFAULT_CLASSIFIER,
    ) -> None:
        self._backbone = _loaded(backbone)
        self._pooling = POOLINGS.build(pooling)
        self._classifier = CLASSIFIERS.build(classifier, blocks=self._pooling.blocks)

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
        return Parts(
            backbone=self._backbone.name,
            fingerprint=self._backbone.fingerprint,
            preprocessing=PREPROCESSING,
            pooling=POOLINGS.describe(self._pooling),
            classifier=CLASSIFIERS.describe(self._classifier),
        )

    def teach(self, picture: Picture, label: str) -> None:
        """Learn one labelled picture. The picture is not kept."""
        self.teach_vector(self.embed(picture), label)

    def predict(self, picture: Picture) -> Prediction:
        """Recognise one picture."""
        if not self.labels:
            raise NothingTaughtError
        return self.predict_vector(self.embed(picture))

    def embed(self, picture: Picture) -> NDArray[np.float32]:
        """The vector that stands for a picture."""
        pixels = to_pixels(picture, self._backbone.input_size)
        vector: NDArray[np.float32] = self._pooling(self._backbone.features(pixels[None]))[0]
        return vector

    def teach_vector(self, vector: NDArray[np.float32], label: str) -> None:
        """Learn a picture that was embedded before."""
        self._classifier.learn(vector, label)

    def predict_vector(self, vector: NDArray[np.float32]) -> Prediction:
        """Recognise a picture that was embedded before."""
        scores = self._classifier.scores(vector[None])[0]
        best = int(scores.argmax())
        shares = np.exp(scores - scores[best])
        named = dict(zip(self.labels, scores.tolist(), strict=True))
        return Prediction(self.labels[best], float(1 / shares.sum()), named)

    def forget(self, label: str) -> None:
        """Forget a label."""
        self._classifier.forget(label)

    def rename(self, label: str, new: str) -> None:
        """Give a label another name."""
        self._classifier.rename(label, new)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that was learnt to a file, whole or not at all."""
        state = self._classifier.state()
        write_state(Path(path), StoredState(self.parts, state.labels, state.arrays))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], backbone: str | Backbone | None = None
    ) -> "Learner":
        """The learner in a file. A backbone that is already loaded can be passed."""
        stored = read_state(Path(path))
        parts = stored.parts
        try:
            learner = cls(backbone or parts.backbone, parts.pooling, parts.classifier)
        except SpecError as error:
            raise StateError(f"{path} needs a part that is not here: {error}") from error
        _require_same_parts(str(path), parts, learner.parts)
        learner._restore(str(path), ClassifierState(stored.labels, stored.arrays))
        return learner

    def _restore(self, name: str, state: ClassifierState) -> None:
        try:
            self._classifier.restore(state)
        except StateError as error:
            raise StateError(f"{name} is damaged: {error}") from error


def _loaded(given: str | Backbone) -> Backbone:
    return backbone(given) if isinstance(given, str) else given


def _require_same_parts(name: str, stored: Parts, here: Parts) -> None:
    if stored.fingerprint != here.fingerprint:
        raise StateError(
            f"{name} was learned on {stored.backbone} (sha {stored.fingerprint[:8]}), not on "
            f"{here.backbone} (sha {here.fingerprint[:8]}): load it with that backbone"
        )
    if stored.preprocessing != here.preprocessing:
        raise StateError(
            f"{name} was learned with preprocessing {stored.preprocessing!r}, and this robocle has "
            f"{here.preprocessing!r}: use the robocle version that wrote it"
        )
