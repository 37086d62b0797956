"""The class that programs use: pictures in, labels out.

Learner() and Learner.load keep a learner in memory; Learner.open keeps it in a file.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle._internal.wording import plural
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.labels import (
    UNKNOWN,
    never_taught,
    require_label,
    require_name,
    similar_label,
    spelling_of,
)
from robocle.errors import NothingTaughtError, RobocleError, StateError, UnknownSampleError
from robocle.images import Picture
from robocle.images.boxes import Box
from robocle.images.gate import QualityGate
from robocle.images.quality import Complaint, Poor
from robocle.images.views import first_share
from robocle.learner.embedding import BATCH_SIZE, Embedder, Embedding, values_for
from robocle.learner.learned import Learned
from robocle.learner.lessons import require_lessons, require_one_label_each
from robocle.learner.pipeline import Parts, Pipeline
from robocle.poolings import Pooling
from robocle.profiles import DEFAULT_PROFILE, classifier_for
from robocle.profiles import profile as profile_named
from robocle.recognition.rates import DEFAULT_RATE
from robocle.spec import require_whole
from robocle.store.copying import write_state
from robocle.store.folding import built, classifier_of
from robocle.store.state import FilePath, State, located
from robocle.store.steps import Step
from robocle.types import Prediction

if TYPE_CHECKING:
    from robocle.classifiers.slda.answer import Familiarity
    from robocle.recognition.decision import Decision
    from robocle.recognition.explanation import Explanation
    from robocle.recognition.readiness import Readiness
    from robocle.recognition.samples import TaughtSample

log = logging.getLogger("robocle")


class Learner:
    """Learns objects from labelled pictures, one picture at a time, and recognises them.

    Several threads may use a learner. Changes are made one after another. Predictions run beside
    each other and beside a change; each sees the learner before or after it. Several programs may
    have a file open at once, and each follows the changes of the others. A forked process may go on
    with a learner.

    Args:
        backbone: The spec of a backbone, or a backbone that is already loaded.
        pooling: The spec of a pooling.
        classifier: The spec of a classifier.
        views: The spec of the views over which the embedding of a taught picture is averaged.
        prediction_views: The same for a picture to recognise.
        profile: The name of the profile that has all parts that are not given: "fast" looks once at
            a picture to recognise, "accurate" twice, "large" twice with a larger backbone.
        objects: What the learner will recognise: the "same" objects that it was taught, others of
            their "kinds", or "auto", which estimates it from the taught pictures.

    Raises:
        SpecError: A spec names an unknown part or option, or there is no such profile.
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
        backbone: str | Backbone | None = None,
        pooling: str | None = None,
        classifier: str | None = None,
        views: str | None = None,
        prediction_views: str | None = None,
        *,
        profile: str = DEFAULT_PROFILE,
        objects: str = "auto",
    ) -> None:
        chosen = profile_named(profile)
        spec = classifier_for(objects, classifier or chosen.classifier)
        pipeline = Pipeline.build(
            backbone or chosen.backbone,
            pooling or chosen.pooling,
            views or chosen.views,
            prediction_views or chosen.prediction_views,
        )
        parts = pipeline.parts(CLASSIFIERS.build(spec, blocks=pipeline.blocks))
        learned = Learned(State.new(asdict(parts)), parts)
        learned.state.parts = asdict(learned.parts)  # with the world, as in a file
        self._begin(learned, pipeline)

    def _begin(self, learned: Learned, pipeline: Pipeline | None) -> None:
        self._learned = learned
        self._pipeline = pipeline
        if pipeline is not None:
            self._for_teaching = Embedder(pipeline, "teaching")
            self._for_prediction = Embedder(pipeline, "prediction")

    @classmethod
    def load(
        cls,
        path: FilePath,
        backbone: str | Backbone | None = None,
        *,
        prediction_views: str | None = None,
    ) -> Self:
        """Load a learner from a file into memory; later changes are not written to the file.

        Args:
            path: The state file.
            backbone: A loaded backbone, or a spec, to use instead of the recorded one.
            prediction_views: The views of pictures to recognise, instead of the recorded ones.

        Raises:
            StateError: The file is missing, damaged, or needs a part that is not installed.
        """
        state = State.read(path)
        learner = cls._restored(str(path), state, backbone, prediction_views)
        with learner._learned.classifier():  # damage is found now
            return learner

    @classmethod
    def open(
        cls,
        path: FilePath,
        backbone: str | Backbone | None = None,
        *,
        pooling: str | None = None,
        classifier: str | None = None,
        views: str | None = None,
        prediction_views: str | None = None,
        profile: str = DEFAULT_PROFILE,
        objects: str = "auto",
    ) -> Self:
        """Open a learner that is kept in a file. Every change is on disk when its call returns.

        Other programs may have the file open, too, and change it.

        Args:
            path: The state file. It is created if it does not exist.
            backbone: A loaded backbone, or a spec, to use instead of the recorded or default one.
            pooling: The pooling of a new state. An existing state keeps its parts.
            classifier: The classifier of a new state.
            views: The views of a new state.
            prediction_views: The views of pictures to recognise. They can be changed at any time,
                and the state keeps those that it was created with.
            profile: The profile that has the parts of a new state that are not given.
            objects: What the learner of a new state will recognise, as in `Learner`.

        Raises:
            StateError: The file is damaged, needs a part that is not installed, or has other parts.
        """
        network = backbone

        def create() -> dict[str, str]:
            nonlocal network
            specs = backbone, pooling, classifier, views, prediction_views
            learner = cls(*specs, profile=profile, objects=objects)
            network = learner.backbone
            return asdict(learner.parts)

        state = State.open(path, create)
        try:
            learner = cls._restored(str(path), state, network, prediction_views)
            given = {"pooling": pooling, "classifier": classifier, "views": views}
            learner.pipeline.require_given(str(path), learner.parts.classifier, given)
        except BaseException:
            state.close()
            raise
        return learner

    @classmethod
    def edit(cls, path: FilePath) -> Self:
        """Open a learner that is kept in a file without its backbone.

        It can be looked at and edited (`samples`, `readiness`, `forget`, `rename`, `remove`,
        `undo`, `merge`), and takes embeddings; it cannot take pictures.

        Args:
            path: The state file.

        Raises:
            StateError: The file is missing, damaged, or needs a part that is not installed.

        Example:
            >>> Learner(pooling="avg").save("home.robocle")
            >>> with Learner.edit("home.robocle") as learner:
            ...     learner.counts
            {}
        """
        state = State.open(path)
        try:
            learner = cls.__new__(cls)
            learner._begin(Learned(state, Parts.of(str(path), state.parts)), None)
        except BaseException:
            state.close()
            raise
        return learner

    @classmethod
    def _restored(
        cls,
        name: str,
        state: State,
        backbone: str | Backbone | None,
        prediction_views: str | None,
    ) -> Self:
        stored = Parts.of(name, state.parts)
        pipeline = Pipeline.of_state(name, stored, backbone, prediction_views)
        parts = pipeline.parts(built(name, stored.classifier))
        learner = cls.__new__(cls)
        # Specs in the form this version writes. A state keeps its own views for prediction.
        views, parts = (
            parts.prediction_views,
            replace(parts, prediction_views=stored.prediction_views),
        )
        learner._begin(Learned(state, parts, views), pipeline)
        if views == stored.prediction_views and stored.world not in ("", learner.parts.world):
            here = "another one" if learner.parts.world else "none: run robocle backbones world"
            log.warning("%s was taught with a world of its backbone, and here is %s", name, here)
        return learner

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

    # What it consists of, and what it was taught

    @property
    def pipeline(self) -> Pipeline:
        """The views, backbone and pooling that embed taught pictures.

        Raises:
            StateError: The learner was opened by `edit`, without its backbone.
        """
        if self._pipeline is None:
            raise StateError("this learner was opened without its backbone: use Learner.open")
        return self._pipeline

    @property
    def backbone(self) -> Backbone:
        """The network that computes feature maps."""
        return self.pipeline.backbone

    @property
    def pooling(self) -> Pooling:
        """The pooling that turns feature maps into embeddings."""
        return self.pipeline.pooling

    @property
    def parts(self) -> Parts:
        """The specs of this learner's parts, with every option written out."""
        return self._learned.parts

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far, in the order of their first picture."""
        return tuple(self._learned.summary.counts)

    @property
    def counts(self) -> dict[str, int]:
        """The number of pictures taught per label."""
        return dict(self._learned.summary.counts)

    @property
    def unknown_taught(self) -> int:
        """The number of pictures taught as "unknown": examples of what is none of the labels."""
        return self._learned.summary.unknown

    @property
    def version(self) -> int:
        """A number that is different after every change, whichever program makes it."""
        return self._learned.summary.position[1]

    # Teaching

    def teach(
        self, picture: Picture, label: str, *, poor: Poor = "warn", box: Box | None = None
    ) -> tuple[Complaint, ...]:
        """Learn one labelled picture. The picture itself is not kept.

        Args:
            picture: A path, bytes, a file object, a PIL image, or an RGB array. Frames of OpenCV
                are BGR: pass `frame[..., ::-1]`.
            label: What the picture shows; "unknown" if it shows none of the objects to recognise.
                Such pictures are examples of what else there is, and sharpen the decision.
            poor: What to do about a poor picture (dark, blurred, almost the same as a taught one):
                "warn" in the log and teach it, "skip" it with a warning, "refuse" it with an error,
                or "accept" it without a check.
            box: (x, y, width, height) of the region to learn, in pixels of the upright picture.

        Returns:
            The faults of the picture; empty if there are none, or if `poor` is "accept".

        Raises:
            ImageError: The picture cannot be used.
            QualityError: `poor` is "refuse" and the picture has a fault.
            LabelError: The label cannot be used.
            StateError: The change cannot be written to the learner's file.
        """
        return self.teach_many([picture], [label], poor=poor, boxes=[box])[0]

    def teach_many(
        self,
        pictures: Iterable[Picture],
        labels: Iterable[str],
        *,
        poor: Poor = "warn",
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> list[tuple[Complaint, ...]]:
        """Learn labelled pictures in their order: all of them or, after an error, none.

        `undo` undoes all of them in one step.

        Args:
            pictures: The pictures.
            labels: One label per picture.
            poor: What to do about poor pictures, as in `teach`.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time; None for one per core.

        Returns:
            The faults of each picture. With `poor="skip"`, those that have any are not taught.

        Raises:
            RobocleError: As in `teach`, or the numbers of pictures, labels and boxes differ.
        """
        _ = self.pipeline
        # `poor` and the labels are checked first, because embedding is slow.
        checks = self.quality_gate(poor)
        pictures, checked = require_lessons(pictures, labels)
        embeddings = list(
            self._for_teaching.embed_many(pictures, boxes, batch_size=batch_size, threads=threads)
        )
        require_one_label_each(len(embeddings), len(checked))
        lessons = list(zip(embeddings, checked, strict=True))
        found = [checks.check(each.complaints, each.values, label) for each, label in lessons]
        kept = [
            lesson
            for lesson, faults in zip(lessons, found, strict=True)
            if not (faults and checks.skips_poor)
        ]
        self._warn_of_similar({label for _, label in kept})
        self.teach_embeddings([each for each, _ in kept], [label for _, label in kept])
        for label, complaints in zip(checked, found, strict=True):
            for complaint in complaints:
                log.warning("%s%s: %s", "skipped: " if checks.skips_poor else "", label, complaint)
        return found

    def _warn_of_similar(self, labels: set[str]) -> None:
        """Log which new labels differ from known ones in upper and lower case only."""
        for label in sorted(labels.difference(self.labels)):
            if similar := similar_label(label, self.labels):
                log.warning("%r and %r are two labels: rename(%r, %r) joins them",
                            label, similar, label, similar)  # fmt: skip

    def quality_gate(self, poor: Poor) -> QualityGate:
        """Return what checks pictures to be taught, in their order; see `teach`."""
        return QualityGate(poor, self.last_embedding, self._learned.summary.sketches)

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
        self.teach_embeddings([embedding], [label])

    def teach_embeddings(
        self, embeddings: Iterable[Embedding | ArrayLike], labels: Iterable[str]
    ) -> None:
        """Learn pictures that have already been embedded: all of them or, after an error, none.

        Args:
            embeddings: The embeddings, as in `teach_embedding`.
            labels: One label per embedding.

        Raises:
            RobocleError: As in `teach_embedding`, or the numbers of embeddings and labels differ.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embeddings([[0.9, 0.1], [0.2, 0.8]], ["mug", "pan"])
            >>> learner.undo(), learner.counts
            ("teaching 2 pictures of 'mug', 'pan'", {})
        """
        given, checked = require_lessons(embeddings, labels)
        lessons = [
            (label, values_for("teaching", each), _faults(each))
            for each, label in zip(given, checked, strict=True)
        ]
        if lessons:
            self._learned.teach(lessons)

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None if no sample of it is kept.

        Args:
            label: The label, under its present name.
        """
        with self._learned.guard:
            known = spelling_of(label, self.labels)
            last = "label = ? AND fold IS NULL ORDER BY number DESC LIMIT 1"
            with self._learned.state.reading():
                found = self._learned.state.rows(last, known)
                return found[0].numbers() if found else None

    # Predicting

    def predict(
        self, picture: Picture, false_accept: float = DEFAULT_RATE, *, box: Box | None = None
    ) -> Prediction:
        """Recognise the object in one picture, or report that it is unknown.

        Args:
            picture: A path, bytes, a file object, a PIL image, or an RGB array. Frames of OpenCV
                are BGR: pass `frame[..., ::-1]`.
            false_accept: The fraction of unrelated objects that may be taken for a taught one, from
                0.001 to 0.5. A smaller one is stricter. 1 calls nothing unknown.
            box: (x, y, width, height) of the region to recognise, in pixels of the upright picture.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            ImageError: The picture cannot be used.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The rate is out of range.
        """
        return self.predict_many([picture], false_accept, boxes=[box])[0]

    def predict_many(
        self,
        pictures: Iterable[Picture],
        false_accept: float = DEFAULT_RATE,
        *,
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> list[Prediction]:
        """Recognise pictures in batches.

        Args:
            pictures: The pictures.
            false_accept: The rate, as in `predict`.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time; None for one per core.

        Returns:
            One prediction per picture, in the order of the pictures.

        Raises:
            RobocleError: As in `predict`, or the numbers of pictures and boxes differ.
        """
        self._require_taught()
        embeddings = self._for_prediction.embed_many(
            pictures, boxes, batch_size=batch_size, threads=threads
        )
        return [self.predict_embedding(embedding, false_accept) for embedding in embeddings]

    def _require_taught(self) -> None:
        _ = self.pipeline
        if not self._learned.summary.counts:
            raise NothingTaughtError

    def predict_embedding(
        self, embedding: Embedding | ArrayLike, false_accept: float = DEFAULT_RATE
    ) -> Prediction:
        """Recognise a picture that has already been embedded.

        Args:
            embedding: What `embed_for_prediction` returned, or an array of your own.
            false_accept: The rate, as in `Learner.predict`.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            FeatureError: The embedding was made for teaching, has a different width, or has a value
                beyond 1e30.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The rate is out of range.
        """
        values = values_for("prediction", embedding)
        nothing = embedding.nothing if isinstance(embedding, Embedding) else ""
        return self._learned.scored(values).prediction(false_accept, nothing)

    def explain(
        self,
        picture: Picture,
        false_accept: float = DEFAULT_RATE,
        *,
        box: Box | None = None,
        top: int = 3,
    ) -> "Explanation":
        """Recognise the object in one picture, and explain the prediction.

        Args:
            picture: The picture, as in `predict`.
            false_accept: The rate, as in `predict`.
            box: (x, y, width, height) of the region to recognise, in pixels of the upright picture.
            top: How many of the nearest labels to name, at least 1.

        Returns:
            The prediction with the probabilities of the nearest labels and of unknown, why it was
            called unknown, and a map of where the evidence for the nearest label is.

        Raises:
            RobocleError: As in `predict`, or `top` is out of range.
        """
        from robocle.recognition.explanation import explanation, heat_of, in_picture  # not to teach

        require_whole("top", top, 1, 1_000_000)
        self._require_taught()
        embedding, maps = self._for_prediction.look(picture, box)
        prediction = self.predict_embedding(embedding, false_accept)
        with self._learned.classifier() as classifier:
            found = prediction.nearest, self.pooling, maps.grid[0], self._learned.world
            heat = heat_of(classifier, *found)
        if heat is not None:
            heat = in_picture(heat, first_share(self.pipeline.prediction_views))
        return explanation(prediction, self.decision(), false_accept, top, heat)

    def embed_for_teaching(self, picture: Picture, box: Box | None = None) -> Embedding:
        """Return the embedding that `teach_embedding` takes: the mean over the picture's views.

        Raises:
            ImageError: The picture cannot be used.
        """
        _ = self.pipeline
        return self._for_teaching.embed(picture, box)

    def embed_for_prediction(self, picture: Picture, box: Box | None = None) -> Embedding:
        """Return the embedding that `predict_embedding` takes.

        Raises:
            ImageError: The picture cannot be used.
        """
        _ = self.pipeline
        return self._for_prediction.embed(picture, box)

    # What can be asked about it

    def readiness(self) -> "Readiness | None":
        """Return which labels need more pictures and which are easily confused.

        Returns:
            The readiness; None if the classifier has no leave-one-out scores.
        """
        from robocle.recognition.readiness import readiness

        with self._learned.classifier() as classifier:
            answer = classifier.answer() if classifier.labels else None
            if answer is None or answer.leave_one_out is None:
                return None
            decision = self._learned.decision_of(classifier)
            found = classifier.counts, classifier.leave_out(), decision
            return readiness(*found, self._learned.summary.unknown)

    @property
    def samples(self) -> "list[TaughtSample]":
        """The taught pictures that are kept, in the order in which they were taught.

        Each has its id, its label, when it was taught, its faults, and how well it is recognised
        when it is left out. That is computed anew each time: a few seconds for thousands.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> [(sample.label, sample.recognised) for sample in learner.samples]
            [('mug', None)]
        """
        from robocle.recognition.samples import taught_samples

        with self._learned.classifier() as classifier:
            return taught_samples(classifier, self._learned.decision_of(classifier))

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
        known = None if label is None else self._known(label)
        with self._learned.classifier() as classifier:
            decision = self._learned.decision_of(classifier)
            return doubtful_samples(classifier, decision, most, known)

    def unknown_below(self, false_accept: float = DEFAULT_RATE) -> float | None:
        """Return the threshold: an object whose familiarity is below it is called unknown.

        Args:
            false_accept: The rate, as in `Learner.predict`.

        Returns:
            The threshold; None if this learner calls no object unknown.

        Raises:
            SpecError: The rate is out of range.
        """
        decision = self.decision()
        return decision.threshold(false_accept) if decision else None

    def linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return W and b with scores = W z + b for an embedding z.

        Raises:
            InexactError: The classifier does not provide linear scores.
            NothingTaughtError: Nothing has been taught yet.
        """
        with self._learned.classifier() as classifier:
            return classifier.linear()

    def familiarity(self) -> "Familiarity | None":
        """Return what computes the familiarity of pictures from their scores.

        Returns:
            It never changes; None if the learner has no world.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        with self._learned.classifier() as classifier:
            answer = classifier.answer()
            return answer.familiarity() if answer is not None else None

    def decision(self) -> "Decision | None":
        """Return what decides between known and unknown. It is computed once after each change.

        Returns:
            The decision; None if there is neither a world nor leave-one-out scores, or a single
            label and no world.
        """
        with self._learned.classifier() as classifier:
            return self._learned.decision_of(classifier)

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the learner as if that label had never been taught."""
        return not self._learned.state.folds()

    # Editing what was taught

    def forget(self, label: str) -> None:
        """Forget a label. This can be undone until `purge` is called.

        Raises:
            UnknownLabelError: The label was never taught.
            StateError: The change cannot be written to the learner's file.
        """
        with self._learned.guard:
            known = self._known(label)
            self._decide(f"forgetting {known!r}", None, "label", known)

    def remove(self, *ids: str) -> None:
        """Remove taught pictures, as if they had never been taught. This can be undone.

        Args:
            ids: The ids of the pictures, as `samples` has them, or the first digits of an id that
                no other picture begins with.

        Raises:
            UnknownSampleError: There is no such picture, or more than one. Nothing is removed.
            StateError: The change cannot be written to the learner's file.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embeddings([[0.9, 0.1], [0.2, 0.8]], ["mug", "mug"])
            >>> learner.remove(learner.samples[0].id)
            >>> learner.counts, learner.undo(), learner.counts
            ({'mug': 1}, 'removing 1 picture', {'mug': 2})
        """
        with self._learned.guard:
            query = "SELECT id FROM samples WHERE label IS NOT NULL AND fold IS NULL"
            known = [id.hex() for (id,) in self._learned.state.query(query)]
            found = {bytes.fromhex(_whole_id(id, known)) for id in ids}
            if found:
                self._decide(f"removing {plural(len(found), 'picture')}", None, "id", *found)

    def rename(self, label: str, new_label: str) -> None:
        """Rename a label. If the new name is a label already, the two become one.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used.
            InexactError: The two have sums of the published scatter, which cannot be joined.
            StateError: The change cannot be written to the learner's file.
        """
        new_label = require_name(new_label)
        with self._learned.guard:
            old = self._known(label)
            if old != new_label:
                self._decide(f"renaming {old!r} to {new_label!r}", new_label, "label", old)

    def _decide(self, what: str, label: str | None, column: str, *values: object) -> None:
        """Give the samples with some values of a column another label, or remove them if None."""
        with self._learned.change() as change:
            for value in values:
                change.decide(label, f"label IS NOT NULL AND {column} = ?", value)
            change.did(what)
            self._learned.require_usable()

    def _known(self, label: str) -> str:
        """Return the label as it is spelled in the state."""
        if self.unknown_taught and require_label(label) == UNKNOWN:
            return UNKNOWN
        known = spelling_of(label, self.labels)
        if known is None:
            raise never_taught(label, self.labels)
        return known

    def merge(self, other: "Learner") -> None:
        """Add what another learner with the same parts was taught. This can be undone.

        The result is the union of their pictures. One that both have counts once, so it does no
        harm to merge a learner again. What was removed in one of them later than it was taught
        stays removed; of two labels of a picture, the one that was decided later counts.

        Args:
            other: The other learner; it does not change.

        Raises:
            StateError: The other learner has different parts, or the change cannot be written to
                the learner's file. Nothing has changed.
            InexactError: They have sums of the published scatter, which cannot be merged.
        """
        if not isinstance(other, Learner):
            raise StateError(f"only a learner can be merged, not {other!r}: load it first")
        if other is self:
            return
        # Two learners may merge each other.
        first, second = sorted((self._learned, other._learned), key=id)
        with first.guard, second.guard:
            self._learned.merge([other._learned.state], f"merging {other._size()}")

    def merge_files(self, *paths: FilePath, skip: bool = False) -> list[RobocleError]:
        """Add what state files hold, as one step; see `merge`. No backbone is loaded.

        Args:
            paths: The files. They are read one after another and do not change.
            skip: Whether to leave out files that cannot be merged.

        Returns:
            Why files were left out.

        Raises:
            StateError: A file is missing or damaged, or has other parts. Nothing has changed.
            InexactError: They have sums of the published scatter, which cannot be merged.
        """
        skipped: list[RobocleError] = []
        named = f"{paths[0]}" if len(paths) == 1 else plural(len(paths), "state")
        self._learned.merge(self._read(paths, skipped if skip else None), f"merging {named}")
        return skipped

    def _read(
        self, paths: Sequence[FilePath], skipped: list[RobocleError] | None
    ) -> Iterator[State]:
        """Yield states that can be merged, read whole."""
        for path in paths:
            try:
                if located(path) == self._learned.state.path:
                    continue
                state = State.read(path)
                self._learned.require_mergeable(state, str(path))
                classifier_of(state)  # damage is found now
            except RobocleError as error:
                if skipped is None:
                    raise
                skipped.append(error)
                continue
            yield state

    # Undo

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
            >>> learner = Learner(pooling="avg")
            >>> with learner.step("a first lesson"):
            ...     learner.teach_embedding([0.9, 0.1], "mug")
            ...     learner.teach_embedding([0.2, 0.8], "pan")
            >>> learner.undo(), learner.labels
            ('a first lesson', ())
        """
        return self._learned.step(description, token)

    @property
    def steps(self) -> list[Step]:
        """What can be undone, the last step first, such as "teaching 3 pictures of 'mug'"."""
        return self._learned.state.steps()

    @property
    def undone(self) -> list[Step]:
        """What can be redone, the step that was undone last first."""
        return self._learned.state.steps(undone=1)

    @property
    def undoable(self) -> int:
        """How many steps can be undone."""
        return self._learned.state.count_steps()

    def last_steps(self, most: int) -> list[Step]:
        """Return as many of the steps that can be undone, the last one first."""
        return self._learned.state.steps(most=most)

    def undo(self, step: str | None = None) -> str:
        """Undo the last step: a change such as `teach`, `teach_many` or `merge`, or a `step`.

        Args:
            step: The id of the step that is expected to be the last one, as in `steps`: another
                program may have changed the state meanwhile. None for any.

        Returns:
            A description of what was undone, such as "teaching 'mug'".

        Raises:
            NothingToUndoError: No step can be undone.
            NotLastStepError: The last step is another one. Nothing has changed.
            StateError: The change cannot be written to the learner's file.
        """
        with self._learned.change() as change:
            return change.revert(0, step).description

    def redo(self, step: str | None = None) -> str:
        """Redo the step that was undone last. A new step makes that impossible.

        Args:
            step: The id of the step that is expected, as in `undone`; None for any.

        Returns:
            A description of what was redone.

        Raises:
            NothingToUndoError: No step was undone last.
            NotLastStepError: It is another one. Nothing has changed.
            StateError: The change cannot be written to the learner's file.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> learner.undo(), learner.redo(), learner.labels
            ("teaching 'mug'", "teaching 'mug'", ('mug',))
        """
        with self._learned.change() as change:
            return change.revert(1, step).description

    def purge(self) -> None:
        """Erase the undo history, and with it everything that was forgotten or undone.

        Raises:
            StateError: The change cannot be written to the learner's file.
        """
        self._learned.purge()

    # The file

    def save(self, path: FilePath) -> None:
        """Write everything that was learned to another file, without the undo history.

        Args:
            path: The state file to create, or to replace. The learner's own file has everything.

        Raises:
            StateError: The file cannot be written, or something that is not a state is there.
        """
        state = self._learned.state
        with self._learned.guard:
            if state.path is None or located(path) != state.path:
                self._learned.fold_all()
                write_state(path, state)

    @property
    def is_saved(self) -> bool:
        """Whether the learner's file is still there. A learner in memory has none."""
        return self._learned.state.is_saved

    def problems(self) -> list[str]:
        """Return what a quick check of the learner's file finds; empty if it is intact."""
        return self._learned.state.problems()

    def close(self) -> None:
        """Close the file. A learner in memory has nothing to close."""
        self._learned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _faults(embedding: object) -> str:
    """Return the kinds of faults of a picture, as they are stored."""
    complaints: Sequence[Complaint] = getattr(embedding, "complaints", ())
    return " ".join(dict.fromkeys(each.kind for each in complaints))


def _whole_id(start: str, known: list[str]) -> str:
    """Return the id that begins with these digits."""
    found = [id for id in known if id.startswith(start)] if start else []
    if len(found) != 1 and start not in known:
        raise UnknownSampleError(start, len(found))
    return start if start in known else found[0]
