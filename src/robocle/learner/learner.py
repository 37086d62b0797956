"""The class that programs use: pictures in, labels out.

Learner() and Learner.load keep a learner in memory; Learner.open keeps it in a file. A learner has
a pipeline, which embeds pictures, and a learned part: a classifier that follows a state.
"""

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from numpy.typing import ArrayLike, NDArray

from robocle._internal.wording import plural
from robocle.backbones import Backbone
from robocle.classifiers.labels import UNKNOWN, spelling_of
from robocle.errors import NothingTaughtError, RobocleError, StateError
from robocle.finders import Finder, finder
from robocle.images import Picture
from robocle.images.boxes import Box
from robocle.images.gate import QualityGate
from robocle.images.quality import Complaint, Poor
from robocle.images.views import first_share
from robocle.learner import editing
from robocle.learner.embedding import BATCH_SIZE, Embedder, Embedding, values_for
from robocle.learner.finding import (
    BOXES,
    LEAST,
    Find,
    embedded_boxes,
    found,
    second_rate,
    with_best_box,
)
from robocle.learner.learned import Learned, OpenStep
from robocle.learner.opening import created, edited, opened, restored
from robocle.learner.pipeline import Parts, Pipeline
from robocle.poolings import Pooling
from robocle.profiles import DEFAULT_PROFILE, Objects, ProfileName
from robocle.recognition import DEFAULT_RATE, Rate, require_rate
from robocle.spec import parse_spec, require_whole
from robocle.store.records import Step
from robocle.store.state import FilePath, State
from robocle.types import Prediction

if TYPE_CHECKING:
    from robocle.export import Numbers
    from robocle.recognition.decision import Decision
    from robocle.recognition.explanation import Explanation
    from robocle.recognition.readiness import Readiness, TaughtSample


class Learner:
    """Learns objects from labelled pictures, one picture at a time, and recognises them.

    Several threads may use a learner. Changes are made one after another. Predictions run beside
    each other and beside a change; each sees the learner as it is before or after the change.
    Several programs may have a file open at once, and each follows the changes of the others. A
    forked process may go on with a learner.

    Several methods share these arguments:

    - `picture`: a path, bytes, a file object, a PIL image, or an RGB array. Frames of OpenCV are
      BGR: pass `frame[..., ::-1]`.
    - `box`: (x, y, width, height) of the region to use, in pixels of the upright picture. `boxes`
      has one entry per picture, None for the whole picture.
    - `false_accept`: the fraction of unrelated objects that may be mistaken for a taught one,
      from 0.001 to 0.5. A smaller one is stricter. 1 calls nothing unknown.
    - `batch_size`: how many pictures go through the backbone at once.
    - `threads`: how many batches are embedded at the same time; None for one per core.

    Every change raises StateError if it cannot be written to the learner's file. A method that
    raises has changed nothing.

    Args:
        backbone: The spec of a backbone, or a backbone that is already loaded.
        pooling: The spec of a pooling.
        classifier: The spec of a classifier.
        views: The spec of the views over which the embedding of a taught picture is averaged.
        prediction_views: The same for a picture to recognise.
        profile: The name of the profile that has all parts that are not given. "fast" looks once at
            a picture to recognise, "light" as well, in 8-bit integers; "accurate" looks twice, and
            "large" three times, with a larger backbone.
        objects: Whether to recognise the "same" objects that were taught, or others of their
            "kinds". "auto" estimates it from the taught pictures.

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
        >>> learner
        <Learner: 2 labels, 6 pictures; efficientnet_lite0, focus, slda; in memory>
    """

    def __init__(
        self,
        backbone: str | Backbone | None = None,
        *,
        pooling: str | None = None,
        classifier: str | None = None,
        views: str | None = None,
        prediction_views: str | None = None,
        profile: ProfileName = DEFAULT_PROFILE,
        objects: Objects = "auto",
    ) -> None:
        specs = {"pooling": pooling, "classifier": classifier, "views": views}
        specs["prediction_views"] = prediction_views
        self._pipeline: Pipeline | None
        self._pipeline, self._learned = created(backbone, specs, profile, objects)
        self._finder: Finder | None = None

    @classmethod
    def _of(cls, pipeline: Pipeline | None, learned: Learned) -> Self:
        learner = cls.__new__(cls)
        learner._pipeline, learner._learned, learner._finder = pipeline, learned, None
        return learner

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
        found = restored(str(path), State.read(path), backbone, prediction_views)
        learner = cls._of(*found)
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
        profile: ProfileName = DEFAULT_PROFILE,
        objects: Objects = "auto",
    ) -> Self:
        """Open a learner that is kept in a file. Every change is on disk when its call returns.

        Other programs may have the file open and change it.

        Args:
            path: The state file. It is created if it does not exist. The other arguments are those
                of `Learner`, for a new state; an existing one keeps its parts.
            backbone: A backbone to use instead of the recorded one, even of an existing state.
            prediction_views: The views to use, even of an existing state. It keeps its own.

        Raises:
            StateError: The file is damaged, needs a part that is not installed, or has other parts.
        """
        specs = {"pooling": pooling, "classifier": classifier, "views": views}
        specs["prediction_views"] = prediction_views
        return cls._of(*opened(path, backbone, specs, profile, objects))

    @classmethod
    def edit(cls, path: FilePath) -> Self:
        """Open a learner that is kept in a file without its backbone.

        It can be inspected and edited (`samples`, `readiness`, `forget`, `rename`, `remove`,
        `undo`, `merge`), and it takes embeddings. It cannot take pictures.

        Raises:
            StateError: The file is missing, damaged, or needs a part that is not installed.
        """
        return cls._of(None, edited(path))

    def __repr__(self) -> str:
        parts, path = self.parts, self._learned.state.path
        names = (parse_spec(each).name for each in (parts.pooling, parts.classifier))
        place = f"in {path}" if path else "in memory"
        return f"<Learner: {self._size()}; {', '.join([parts.backbone, *names])}; {place}>"

    def _size(self) -> str:
        pictures = plural(sum(self.counts.values()), "picture")
        return f"{plural(len(self.labels), 'label')}, {pictures}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a learner cannot be pickled: save it and open it there, or pass the path of its file"
        )

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
            picture: The picture.
            label: The label of the object; "unknown" if it is none of the objects to recognise.
                Such pictures are examples of what else there is, and sharpen the decision.
            poor: What to do about a poor picture (dark, blurred, almost the same as a taught one):
                "warn" in the log and teach it, "skip" it with a warning, "refuse" it with an error,
                or "accept" it without a check.
            box: The region to learn.

        Returns:
            The faults of the picture; empty if there are none, or if `poor` is "accept".

        Raises:
            ImageError: The picture cannot be used.
            QualityError: `poor` is "refuse" and the picture has a fault.
            LabelError: The label cannot be used.
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
        """Learn labelled pictures in their order, as one step; one label per picture.

        The arguments and errors are those of `teach`. The numbers of pictures, labels and boxes
        must be the same.

        Returns:
            The faults of each picture. With `poor="skip"`, those that have any are not taught.
        """
        embedder = Embedder(self.pipeline, "teaching")
        embed = partial(embedder.embed_many, boxes=boxes, batch_size=batch_size, threads=threads)
        gate = self.quality_gate(poor)
        return editing.teach_pictures(self._learned, gate, embed, pictures, labels)

    def quality_gate(self, poor: Poor) -> QualityGate:
        """Return what checks pictures to be taught, in their order; see `teach`."""
        return QualityGate(poor, self.last_embedding, self._learned.summary.sketches)

    def teach_embedding(self, embedding: Embedding | ArrayLike, label: str) -> None:
        """Learn a picture that has already been embedded.

        Args:
            embedding: The result of `embed_for_teaching`, or an array of your own.
            label: The label of the object.

        Raises:
            FeatureError: The embedding was made for prediction, has a different width, or has a
                value beyond 1e30.
            LabelError: The label cannot be used.
        """
        self.teach_embeddings([embedding], [label])

    def teach_embeddings(
        self, embeddings: Iterable[Embedding | ArrayLike], labels: Iterable[str]
    ) -> None:
        """Learn embeddings in their order, as one step; see `teach_embedding`.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embeddings([[0.9, 0.1], [0.2, 0.8]], ["mug", "pan"])
            >>> learner.undo(), learner.counts
            ("teaching 2 pictures of 'mug', 'pan'", {})
        """
        editing.teach(self._learned, embeddings, labels)

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None if no sample of it is kept."""
        with self._learned.guard:
            return self._learned.last_embedding(spelling_of(label, [*self.labels, UNKNOWN]))

    # Predicting

    def predict(
        self, picture: Picture, *, false_accept: Rate = DEFAULT_RATE, box: Box | None = None
    ) -> Prediction:
        """Recognise the object in one picture, or report that it is unknown.

        With a `finder` and without a box, the most familiar box of the finder is a nearer look.

        Returns:
            The prediction; its label is None for an unknown object.

        Raises:
            ImageError: The picture cannot be used.
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The rate is out of range.
        """
        if self.finder is None or box is not None:
            return self.predict_many([picture], false_accept=false_accept, boxes=[box])[0]
        recognise = partial(self.predict_embedding, false_accept=false_accept)
        strictly = partial(self.predict_embedding, false_accept=second_rate(false_accept))
        rows = embedded_boxes(self._recognising(), self.finder, picture, BOXES)
        return with_best_box(rows, recognise, strictly)

    def predict_many(
        self,
        pictures: Iterable[Picture],
        *,
        false_accept: Rate = DEFAULT_RATE,
        boxes: Iterable[Box | None] | None = None,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> list[Prediction]:
        """Recognise pictures in batches, and return one prediction per picture, in their order.

        The arguments and errors are those of `predict`. The finder is not used.
        """
        embedder = self._recognising()
        embeddings = embedder.embed_many(pictures, boxes, batch_size=batch_size, threads=threads)
        return [self.predict_embedding(each, false_accept=false_accept) for each in embeddings]

    def _recognising(self) -> Embedder:
        """Return what embeds pictures to recognise, if anything was taught."""
        embedder = Embedder(self.pipeline, "prediction")
        if not self._learned.summary.counts:
            raise NothingTaughtError
        return embedder

    def predict_embedding(
        self, embedding: Embedding | ArrayLike, *, false_accept: Rate = DEFAULT_RATE
    ) -> Prediction:
        """Recognise a picture that has already been embedded.

        Args:
            embedding: The result of `embed_for_prediction`, or an array of your own.
            false_accept: The rate.

        Raises:
            FeatureError: The embedding was made for teaching, has a different width, or has a value
                beyond 1e30.
        """
        values = values_for("prediction", embedding)
        nothing = embedding.nothing if isinstance(embedding, Embedding) else ""
        return self._learned.scored(values).prediction(require_rate(false_accept), nothing)

    def explain(
        self,
        picture: Picture,
        *,
        false_accept: Rate = DEFAULT_RATE,
        box: Box | None = None,
        top: int = 3,
    ) -> "Explanation":
        """Recognise the object in one picture as `predict` does, and explain the prediction.

        Returns:
            The prediction with the probabilities of the `top` nearest labels and of unknown, why it
            was called unknown, and a map of where the evidence for the nearest label is.
        """
        from robocle.recognition.explanation import explanation, heat_of  # not to teach

        require_whole("top", top, 1, 1_000_000)
        embedding, maps = self._recognising().look(picture, box)
        prediction = self.predict_embedding(embedding, false_accept=false_accept)
        with self._learned.judged() as (classifier, decision):
            seen = self.pooling, maps.grid[0], self._learned.world
            share = first_share(self.pipeline.prediction_views)
            heat = heat_of(classifier, prediction.nearest, *seen, share)
        return explanation(prediction, decision, require_rate(false_accept), top, heat)

    def embed_for_teaching(self, picture: Picture, *, box: Box | None = None) -> Embedding:
        """Return the embedding that `teach_embedding` takes: the mean over the picture's views."""
        return Embedder(self.pipeline, "teaching").embed(picture, box)

    def embed_for_prediction(self, picture: Picture, *, box: Box | None = None) -> Embedding:
        """Return the embedding that `predict_embedding` takes."""
        return Embedder(self.pipeline, "prediction").embed(picture, box)

    # Finding

    @property
    def finder(self) -> Finder | None:
        """The finder of boxes for `find` and `predict`: set it to a finder or its spec.

        It is no part of a state: each program chooses its own.
        """
        return self._finder

    @finder.setter
    def finder(self, given: str | Finder | None) -> None:
        self._finder = finder(given) if isinstance(given, str) else given

    def find(
        self, picture: Picture, *, most: int = BOXES, false_accept: Rate = DEFAULT_RATE
    ) -> list[Find]:
        """Recognise the objects in the boxes that the finder finds, and in the whole picture.

        Without a finder, only the whole picture is looked at.

        Args:
            picture: The picture.
            most: How many boxes to look at, at most, besides the whole picture.
            false_accept: The rate.

        Returns:
            Where and what: each a box (x, y, width, height) and a prediction. Taught objects come
            first, the most confident one first, then boxes with unknown objects. Boxes that show
            the same object are listed once. The whole picture is listed if no box has its label,
            or if no box shows a taught object. If there are boxes, an object is known only with a
            confidence of at least 0.7, unless `false_accept` is 1.

        Raises:
            ImageError: The picture cannot be used.
            NothingTaughtError: Nothing has been taught yet.
            FinderError: The finder fails.
            SpecError: A number is out of range.
        """
        rows = embedded_boxes(self._recognising(), self.finder, picture, most)
        recognise = partial(self.predict_embedding, false_accept=false_accept)
        is_judged = self.unknown_below(false_accept) not in (None, -math.inf)
        return found(rows, recognise, LEAST if is_judged else 0.0)

    # Inspecting what was learned

    def taught_label(self, label: str) -> str:
        """Return how a label was taught: without spaces around it, and "unknown" in lower case.

        Raises:
            UnknownLabelError: The label was never taught.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> learner.taught_label(" mug")
            'mug'
        """
        return editing.known(self._learned, label)

    def readiness(self) -> "Readiness | None":
        """Return which labels need more pictures and which are easily confused.

        It is None if the classifier has no leave-one-out scores.
        """
        from robocle.recognition.readiness import readiness_of

        with self._learned.judged() as (classifier, decision):
            return readiness_of(classifier, decision, self._learned.summary.unknown)

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
        from robocle.recognition.readiness import taught_samples

        with self._learned.judged() as (classifier, decision):
            return taught_samples(classifier, decision)

    def doubtful(self, most: int = 5, *, label: str | None = None) -> "list[TaughtSample]":
        """Return the taught pictures that lower the accuracy, the worst first; see `remove`.

        A picture is doubtful if it is taken for another label when it is left out, or if more of
        the other pictures are recognised without it.

        Args:
            most: How many pictures to return at most.
            label: Only pictures of this label; None for all labels.

        Raises:
            UnknownLabelError: The label was never taught.
        """
        from robocle.recognition.readiness import doubtful_samples

        require_whole("most", most, 1, 1_000_000)
        known = None if label is None else self.taught_label(label)
        with self._learned.judged() as (classifier, decision):
            return doubtful_samples(classifier, decision, most, known)

    def decision(self) -> "Decision | None":
        """Return what decides between known and unknown. It is computed once after each change.

        It is None if there is neither a world nor leave-one-out scores, or one label and no world.
        """
        with self._learned.judged() as (_, decision):
            return decision

    def unknown_below(self, false_accept: Rate = DEFAULT_RATE) -> float | None:
        """Return the threshold: an object whose familiarity is below it is called unknown.

        It is None if this learner calls no object unknown.
        """
        decision = self.decision()
        return decision.threshold(require_rate(false_accept)) if decision else None

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the learner as if that label had never been taught."""
        return not self._learned.state.folds()

    # Editing what was taught

    def forget(self, label: str) -> None:
        """Forget a label. This can be undone until `purge` is called.

        Raises:
            UnknownLabelError: The label was never taught.
        """
        editing.forget(self._learned, label)

    def remove(self, *ids: str) -> int:
        """Remove taught pictures, as if they had never been taught. This can be undone.

        Args:
            ids: The ids of the pictures, as `samples` has them, or the first digits of an id that
                no other picture begins with.

        Returns:
            The number of pictures removed. One that is given twice counts once.

        Raises:
            UnknownSampleError: There is no such picture, or more than one. Nothing is removed.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embeddings([[0.9, 0.1], [0.2, 0.8]], ["mug", "mug"])
            >>> learner.remove(learner.samples[0].id), learner.counts
            (1, {'mug': 1})
            >>> learner.undo(), learner.counts
            ('removing 1 picture', {'mug': 2})
        """
        return editing.remove(self._learned, ids)

    def rename(self, label: str, new_label: str) -> None:
        """Rename a label. If the new name is a label already, the two become one.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used.
            InexactError: The two have sums of the published scatter, which cannot be joined.
        """
        editing.rename(self._learned, label, new_label)

    @property
    def badges(self) -> dict[str, str]:
        """The emoji or colour that was chosen for labels, for programs that show them."""
        chosen = self._learned.state.badges() if self._learned.state.is_open else {}
        return {label: chosen[label][1] for label in self.labels if chosen.get(label, (0, ""))[1]}

    def set_badge(self, label: str, badge: str) -> None:
        """Choose how programs show a label. It is no step: to undo it, choose another badge.

        Args:
            label: The label.
            badge: An emoji, or a colour such as "#2a6fdb"; empty for none.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The badge is something else.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> learner.set_badge("mug", "#2a6fdb")
            >>> learner.badges
            {'mug': '#2a6fdb'}
        """
        editing.set_badge(self._learned, label, badge)

    def merge(self, other: "Learner") -> None:
        """Add what another learner with the same parts was taught. This can be undone.

        The result is the union of their pictures. One that both have counts once, so it does no
        harm to merge a learner again. What was removed in one of them later than it was taught
        stays removed; of two labels of a picture, the one that was decided later counts.

        Raises:
            StateError: The other learner has different parts.
            InexactError: They have sums of the published scatter, which cannot be merged.
        """
        if not isinstance(other, Learner):
            raise StateError(f"only a learner can be merged, not {other!r}: load it first")
        if other is self:
            return
        editing.merge_learned(self._learned, other._learned, f"merging {other._size()}")

    def merge_files(self, *paths: FilePath, skip: bool = False) -> list[RobocleError]:
        """Add what state files hold, as one step; see `merge`. No backbone is loaded.

        Args:
            paths: The files. They are read one after another and do not change.
            skip: Whether to leave out files that cannot be merged.

        Returns:
            Why files were left out.
        """
        return editing.merge_files(self._learned, paths, skip)

    # Undo

    def step(
        self, description: str | None = None, *, token: str | None = None
    ) -> AbstractContextManager[OpenStep]:
        """Return a context in which all operations are one step, which `undo` undoes as a whole.

        Each operation is still written when its call returns. If an error ends the context early,
        the operations before it stay, as one step. A step within a step is part of it.

        Args:
            description: The text that `undo` returns; None describes the operations.
            token: Steps with the same token that follow each other are undone together, even if
                the learner was closed in between: pictures that arrive one by one are one step.

        Returns:
            The context. It lends the step, whose `id` is empty until something is changed in it.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> with learner.step("a first lesson"):
            ...     learner.teach_embedding([0.9, 0.1], "mug")
            ...     learner.teach_embedding([0.2, 0.8], "pan")
            >>> learner.undo(), learner.redo(), learner.labels
            ('a first lesson', 'a first lesson', ('mug', 'pan'))
        """
        return self._learned.step(description, token)

    @property
    def steps(self) -> list[Step]:
        """The steps that can be undone, the last one first, such as "teaching 'mug'"."""
        return self._learned.state.steps()

    @property
    def undone(self) -> list[Step]:
        """The steps that can be redone, the one that was undone last first."""
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
            NotLastStepError: The last step is another one.
        """
        with self._learned.change() as change:
            return change.revert(0, step).description

    def revert(self, step: str) -> str:
        """Undo a step that others may have followed. These stay.

        Unless it is the last step, that is a step of its own, which can be undone as well.

        Args:
            step: The id of the step, as in `steps`.

        Returns:
            A description of what was undone.

        Raises:
            NothingToUndoError: There is no such step.
            NotLastStepError: A later step has changed the same pictures, or the step is a merge.

        Example:
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> learner.teach_embedding([0.2, 0.8], "pan")
            >>> learner.revert(learner.steps[1].id), learner.labels
            ("teaching 'mug'", ('pan',))
        """
        return editing.revert(self._learned, step)

    def redo(self, step: str | None = None) -> str:
        """Redo the step that was undone last. A new step makes that impossible.

        The arguments and errors are those of `undo`; the ids are in `undone`.
        """
        with self._learned.change() as change:
            return change.revert(1, step).description

    def purge(self) -> None:
        """Erase the undo history, and with it everything that was forgotten or undone."""
        editing.purge(self._learned)

    # Files

    def save(self, path: FilePath, *, replace: bool = False) -> None:
        """Write everything that was learned to another file, without the undo history.

        The learner's own file has everything already, and is left as it is.

        Args:
            path: The state file to write.
            replace: Whether a state that is there is replaced. Another file never is.

        Raises:
            StateError: The file cannot be written, or something is there that is not replaced.
        """
        editing.save(self._learned, path, replace)

    def export_onnx(
        self,
        path: FilePath,
        *,
        false_accept: Rate = DEFAULT_RATE,
        numbers: "Numbers" = "float64",
        replace: bool = False,
    ) -> None:
        """Write the learner as one ONNX model, which needs neither robocle nor the state.

        Args:
            path: The file to write.
            false_accept: The rate, as in `predict`. It is fixed in the model.
            numbers: "float32" for a model without text and float64, for converters: it has the
                numbers of labels in place of labels.
            replace: Whether an existing file is replaced.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
            SpecError: The pooling or the views cannot be exported, or an option is out of range.
            InexactError: The classifier has no linear scores.
            BackboneError: The backbone does not provide its ONNX model.
            StateAccessError: The file exists and is not replaced, or it cannot be written.
        """
        from robocle.export import OnnxExport

        pipeline = self.pipeline
        embedding = pipeline.backbone, pipeline.pooling, pipeline.prediction_views
        with self._learned.judged() as judged:
            export = OnnxExport(*embedding, *judged, vars(self.parts), numbers)
            export.write(Path(path), require_rate(false_accept), replace)

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
