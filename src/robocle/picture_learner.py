"""A learner that is taught pictures. `robocle.Learner` makes one from specs or from a file."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone
from robocle.embedding import BATCH_SIZE, Embedder, Embedding
from robocle.embedding_learner import EmbeddingLearner
from robocle.errors import InexactError, NothingTaughtError
from robocle.images import Picture
from robocle.images.boxes import Box
from robocle.images.gate import QualityGate
from robocle.images.quality import Complaint, Gate
from robocle.lessons import require_lessons, require_one_label_each
from robocle.pipeline import Pipeline
from robocle.pooling import Pooling
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.spec import require_whole
from robocle.store import LearnerState
from robocle.types import Prediction

if TYPE_CHECKING:
    from robocle.recognition.explanation import Explanation

log = logging.getLogger("robocle")


class PictureLearner(EmbeddingLearner):
    """Learns labelled pictures one at a time and recognises new ones.

    Args:
        pipeline: What embeds the pictures.
        state: What was learned, and the file it is kept in, if any.
    """

    def __init__(self, pipeline: Pipeline, state: LearnerState) -> None:
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
        threads: int | None = None,
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
            threads: How many batches are embedded at the same time; None for one per core.

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
            unknown: The level, from 0 to 0.5: the fraction of taught objects, seen again as they
                were taught, that may be called unknown. Of unrelated objects, at most about 5 % are
                taken for taught ones; where both cannot hold, that does. 0 calls nothing unknown.
            box: (x, y, width, height) of the region to recognise, in pixels of the upright picture.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            ImageError: The picture cannot be used.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The level is out of range.
        """
        return self.predict_many([picture], unknown, boxes=[box])[0]

    def predict_many(
        self,
        pictures: Iterable[Picture],
        unknown: float = DEFAULT_UNKNOWN,
        *,
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> list[Prediction]:
        """Recognise pictures in batches.

        Args:
            pictures: The pictures.
            unknown: The level, as in `predict`.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time; None for one per core.

        Returns:
            One prediction per picture, in the order of the pictures.

        Raises:
            RobocleError: As in `predict`, or the numbers of pictures and boxes differ.
        """
        if not self._state.taught.counts:
            raise NothingTaughtError
        embeddings = self._for_prediction.embed_many(
            pictures, boxes, batch_size=batch_size, threads=threads
        )
        return [self.predict_embedding(embedding, unknown) for embedding in embeddings]

    def explain(
        self,
        picture: Picture,
        unknown: float = DEFAULT_UNKNOWN,
        *,
        box: Box | None = None,
        top: int = 3,
    ) -> "Explanation":
        """Recognise the object in one picture, and explain the prediction.

        Args:
            picture: The picture, as in `predict`.
            unknown: The level, as in `predict`.
            box: (x, y, width, height) of the region to recognise, in pixels of the upright picture.
            top: How many of the nearest labels to name, at least 1.

        Returns:
            The prediction with the probabilities of the nearest labels and of unknown, why it was
            called unknown, and a map of where the evidence for the nearest label is.

        Raises:
            RobocleError: As in `predict`, or `top` is out of range.
        """
        from robocle.recognition.explanation import explanation  # teaching does not need it

        require_whole("top", top, 1, 1_000_000)
        if not self._state.taught.counts:
            raise NothingTaughtError
        embedding, maps = self._for_prediction.look(picture, box)
        prediction = self.predict_embedding(embedding, unknown)
        heat = self._heat(prediction.nearest, maps.grid[0])
        return explanation(prediction, self.calibration(), unknown, top, heat)

    def _heat(self, label: str, grid: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """Return where in a picture the evidence for a label is, if the classifier can tell."""
        from robocle.recognition.explanation import heat_map

        try:
            with self._state.classifier() as classifier:
                rows, bias = classifier.linear()
                answer = classifier.answer()
                familiarity = answer.familiarity() if answer is not None else None
                rows = familiarity.linear(rows, bias)[0] if familiarity else rows
                weights = dict(zip(classifier.labels, rows, strict=True))
        except (InexactError, NothingTaughtError):
            return None
        if label not in weights:  # another thread has forgotten it meanwhile
            return None
        world = self._state.world
        anything = world.pictures.mean(axis=0, dtype=np.float64) if world else None
        return heat_map(self.pooling, grid, weights[label], anything)

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
