"""The learner: pictures in, labels out.

Learner() and Learner.load keep a learner in memory; Learner.open keeps it in a file.
"""

import logging
from collections.abc import Iterable

from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.embedding import BATCH_SIZE, Embedder, Embedding
from robocle.embedding_learner import EmbeddingLearner
from robocle.errors import NothingTaughtError, SpecError, StateError
from robocle.images import Picture
from robocle.images.boxes import Box
from robocle.images.gate import QualityGate
from robocle.images.quality import Complaint, Gate
from robocle.lessons import require_lessons, require_one_label_each
from robocle.pipeline import Pipeline
from robocle.pooling import Pooling
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.store import LearnerState, StateStore, StoredState, read_state
from robocle.store.reading import FilePath, state_path
from robocle.types import Prediction

log = logging.getLogger("robocle")

DEFAULT_BACKBONE = "efficientnet_lite0"
DEFAULT_POOLING = "moments:r=3,form=root"
DEFAULT_CLASSIFIER = "slda:scatter=exact,shrinkage=oas,covariance=blocks,score=cosine"
DEFAULT_VIEWS = "centre"


class Learner(EmbeddingLearner):
    """Learns objects from labelled pictures, one picture at a time, and recognises them.

    Several threads may use a learner. Each call sees it before or after another call.

    Args:
        backbone: The spec of a backbone, or a backbone that is already loaded.
        pooling: The spec of a pooling.
        classifier: The spec of a classifier.
        views: The spec of the views over which the embedding of a taught picture is averaged.

    Raises:
        SpecError: A spec names an unknown part or option.
        BackboneError: The backbone cannot be loaded.

    Example:
        >>> from robocle.evaluation.datasets.home import Home
        >>> home = Home.default_root / "clean"
        >>> learner = Learner()
        >>> for label in ("mug", "clock"):
        ...     for number in range(3):
        ...         complaints = learner.teach(home / f"{label}_01" / f"{number}.jpg", label)
        >>> learner.predict(home / "mug_01" / "5.jpg").label
        'mug'
        >>> learner.counts
        {'mug': 3, 'clock': 3}
    """

    def __init__(
        self,
        backbone: str | Backbone = DEFAULT_BACKBONE,
        pooling: str = DEFAULT_POOLING,
        classifier: str = DEFAULT_CLASSIFIER,
        views: str = DEFAULT_VIEWS,
    ) -> None:
        pipeline = Pipeline.build(backbone, pooling, views)
        built = CLASSIFIERS.build(classifier, blocks=pipeline.pooling.blocks)
        self._assemble(pipeline, LearnerState.new(pipeline.parts(built), built))

    def _assemble(self, pipeline: Pipeline, state: LearnerState) -> None:
        super().__init__(state)
        self._for_teaching = Embedder(pipeline, "teaching")
        self._for_prediction = Embedder(pipeline, "prediction")

    @property
    def pipeline(self) -> Pipeline:
        """The views, backbone and pooling that embed taught pictures."""
        return self._for_teaching.pipeline

    @property
    def backbone(self) -> Backbone:
        """The network that computes feature maps."""
        return self.pipeline.backbone

    @property
    def pooling(self) -> Pooling:
        """The pooling that turns feature maps into embeddings."""
        return self.pipeline.pooling

    def teach(
        self, picture: Picture, label: str, gate: Gate = "warn", *, box: Box | None = None
    ) -> tuple[Complaint, ...]:
        """Learn one labelled picture. The picture itself is not kept.

        Args:
            picture: A path, bytes, a file object, a PIL image, or an RGB array. Frames of OpenCV
                are BGR: pass `frame[..., ::-1]`.
            label: What the picture shows.
            gate: What to do about a poor picture (dark, blurred, almost the same as a taught one):
                `warn` in the log and learn it, `refuse` it, or `off` to skip the check.
            box: (x, y, width, height) of the region to learn, in pixels of the upright picture.

        Returns:
            The faults of the picture; empty if there are none or the gate is off.

        Raises:
            ImageError: The picture cannot be used.
            QualityError: The gate is `refuse` and the picture has a fault.
            LabelError: The label cannot be used.
            StateError: The change cannot be written to the learner's file.
        """
        return self.teach_many([picture], [label], gate, boxes=[box])[0]

    def teach_many(
        self,
        pictures: Iterable[Picture],
        labels: Iterable[str],
        gate: Gate = "warn",
        *,
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int = 1,
    ) -> list[tuple[Complaint, ...]]:
        """Learn labelled pictures in their order.

        All pictures are embedded before the first is learned, so one bad picture stops them all.
        `undo` undoes all of them in one step.

        Args:
            pictures: The pictures.
            labels: One label per picture.
            gate: What to do about poor pictures, as in `teach`.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time.

        Returns:
            The faults of each picture.

        Raises:
            RobocleError: As in `teach`, or the numbers of pictures, labels and boxes differ.
        """
        # The gate and the labels are checked first, because embedding is slow.
        checks = QualityGate(gate, self.last_embedding, self._state.sketches)
        pictures, checked = require_lessons(pictures, labels)
        embeddings = list(
            self._for_teaching.embed_many(pictures, boxes, batch_size=batch_size, threads=threads)
        )
        require_one_label_each(len(embeddings), len(checked))
        samples = list(zip(embeddings, checked, strict=True))
        found = [checks.check(each.complaints, each.values, label) for each, label in samples]
        with self.step():
            for (embedding, label), complaints in zip(samples, found, strict=True):
                self.teach_embedding(embedding, label)
                for complaint in complaints:
                    log.warning("%s: %s", label, complaint)
        return found

    def predict(
        self, picture: Picture, unknown: float = DEFAULT_UNKNOWN, *, box: Box | None = None
    ) -> Prediction:
        """Recognise the object in one picture, or report that it is unknown.

        Args:
            picture: A path, bytes, a file object, a PIL image, or an RGB array. Frames of OpenCV
                are BGR: pass `frame[..., ::-1]`.
            unknown: The false-rejection rate, from 0 to 0.5: roughly the fraction of taught objects
                that are called unknown under the conditions they were taught in. 0 rejects nothing.
            box: (x, y, width, height) of the region to recognise, in pixels of the upright picture.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            ImageError: The picture cannot be used.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The false-rejection rate is out of range.
        """
        return self.predict_many([picture], unknown, boxes=[box])[0]

    def predict_many(
        self,
        pictures: Iterable[Picture],
        unknown: float = DEFAULT_UNKNOWN,
        *,
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int = 1,
    ) -> list[Prediction]:
        """Recognise pictures in batches.

        Args:
            pictures: The pictures.
            unknown: The false-rejection rate, as in `predict`.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time.

        Returns:
            One prediction per picture, in the order of the pictures.

        Raises:
            RobocleError: As in `predict`, or the numbers of pictures and boxes differ.
        """
        if not self.labels:
            raise NothingTaughtError
        embeddings = self._for_prediction.embed_many(
            pictures, boxes, batch_size=batch_size, threads=threads
        )
        return [self.predict_embedding(embedding, unknown) for embedding in embeddings]

    def embed_for_teaching(self, picture: Picture, box: Box | None = None) -> Embedding:
        """Return the embedding that `teach_embedding` takes: the mean over the picture's views.

        Raises:
            ImageError: The picture cannot be used.
        """
        return self._for_teaching.embed(picture, box)

    def embed_for_prediction(self, picture: Picture, box: Box | None = None) -> Embedding:
        """Return the embedding that `predict_embedding` takes.

        Raises:
            ImageError: The picture cannot be used.
        """
        return self._for_prediction.embed(picture, box)

    @classmethod
    def load(cls, path: FilePath, backbone: str | Backbone | None = None) -> "Learner":
        """Load a learner from a file into memory; later changes are not written to the file.

        Args:
            path: The state file.
            backbone: A loaded backbone, or a spec, to use instead of the recorded one.

        Raises:
            StateError: The file is missing, damaged, or needs a part that is not installed.
        """
        return cls._restored(str(path), read_state(state_path(path)), backbone)

    @classmethod
    def open(
        cls,
        path: FilePath,
        backbone: str | Backbone | None = None,
        *,
        pooling: str | None = None,
        classifier: str | None = None,
        views: str | None = None,
    ) -> "Learner":
        """Open a learner that is kept in a file. Every change is on disk when its call returns.

        Args:
            path: The state file. It is created if it does not exist.
            backbone: A loaded backbone, or a spec, to use instead of the recorded or default one.
            pooling: The pooling of a new state. An existing state keeps its parts.
            classifier: The classifier of a new state.
            views: The views of a new state.

        Raises:
            StateLockedError: Another program has opened the file for teaching.
            StateError: The file is damaged, needs a part that is not installed, or has other parts.
        """
        specs = {"pooling": pooling, "classifier": classifier, "views": views}
        given = {kind: spec for kind, spec in specs.items() if spec is not None}
        created: list[Learner] = []

        def create() -> StoredState:
            created.append(cls(backbone or DEFAULT_BACKBONE, **given))
            return created[0]._state.stored()

        store, stored = StateStore.open(state_path(path), create)
        try:
            learner = created[0] if stored is None else cls._restored(str(path), stored, backbone)
            learner.pipeline.require_given(str(path), learner.parts.classifier, given)
        except BaseException:
            store.close()
            raise
        learner._state.attach(store)
        return learner

    @classmethod
    def _restored(
        cls, name: str, stored: StoredState, backbone: str | Backbone | None
    ) -> "Learner":
        pipeline = Pipeline.of_state(name, stored.parts, backbone)
        try:
            state = LearnerState.restore(name, stored)
        except SpecError as error:
            raise StateError(f"{name} needs a part that is not installed: {error}") from error
        with state.classifier() as classifier:
            state.parts = pipeline.parts(classifier)  # specs in the form this version writes
        learner = cls.__new__(cls)
        learner._assemble(pipeline, state)
        return learner
