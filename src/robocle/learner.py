"""The learner: pictures in, labels out.

Learner() and Learner.load keep a learner in memory; Learner.open keeps it in a file.
"""

import logging
from dataclasses import replace

from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError, StateError
from robocle.picture_learner import PictureLearner
from robocle.pipeline import Pipeline
from robocle.profiles import DEFAULT, DEFAULT_PROFILE, classifier_for
from robocle.profiles import profile as profile_named
from robocle.store import LearnerState, ReadState, StateStore, StoredState, read_state
from robocle.store.reading import FilePath, state_path

log = logging.getLogger("robocle")

DEFAULT_BACKBONE = DEFAULT.backbone
DEFAULT_POOLING = DEFAULT.pooling
DEFAULT_CLASSIFIER = DEFAULT.classifier
DEFAULT_VIEWS = DEFAULT.views


class Learner(PictureLearner):
    """Learns objects from labelled pictures, one picture at a time, and recognises them.

    Several threads may use a learner. Each call sees it before or after another call.

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
        built = CLASSIFIERS.build(spec, blocks=pipeline.blocks)
        super().__init__(pipeline, LearnerState.new(pipeline.parts(built), built))

    @classmethod
    def load(
        cls,
        path: FilePath,
        backbone: str | Backbone | None = None,
        *,
        prediction_views: str | None = None,
    ) -> "Learner":
        """Load a learner from a file into memory; later changes are not written to the file.

        Args:
            path: The state file.
            backbone: A loaded backbone, or a spec, to use instead of the recorded one.
            prediction_views: The views of pictures to recognise, instead of the recorded ones.

        Raises:
            StateError: The file is missing, damaged, or needs a part that is not installed.
        """
        stored = read_state(state_path(path))
        return cls._restored(str(path), stored, backbone, prediction_views)

    @classmethod
    def open(
        cls,
        path: FilePath | ReadState,
        backbone: str | Backbone | None = None,
        *,
        pooling: str | None = None,
        classifier: str | None = None,
        views: str | None = None,
        prediction_views: str | None = None,
        profile: str = DEFAULT_PROFILE,
        objects: str = "auto",
    ) -> "Learner":
        """Open a learner that is kept in a file. Every change is on disk when its call returns.

        Args:
            path: The state file. It is created if it does not exist. If the state was read before,
                by `robocle.store.read_with_snapshot`, that may be given instead. The file is then
                read again only if another program has changed it since.
            backbone: A loaded backbone, or a spec, to use instead of the recorded or default one.
            pooling: The pooling of a new state. An existing state keeps its parts.
            classifier: The classifier of a new state.
            views: The views of a new state.
            prediction_views: The views of pictures to recognise. They can be changed at any time,
                and the state keeps those that it was created with.
            profile: The profile that has the parts of a new state that are not given.
            objects: What the learner of a new state will recognise, as in `Learner`.

        Raises:
            StateLockedError: Another program has opened the file for teaching.
            StateError: The file is damaged, needs a part that is not installed, or has other parts.
        """
        before = path if isinstance(path, ReadState) else None
        path = path.path if isinstance(path, ReadState) else path
        specs = {"pooling": pooling, "classifier": classifier, "views": views}
        given = {kind: spec for kind, spec in specs.items() if spec is not None}
        created: list[Learner] = []

        def create() -> StoredState:
            learner = cls(
                backbone,
                prediction_views=prediction_views,
                profile=profile,
                objects=objects,
                **given,
            )
            created.append(learner)
            return created[0]._state.stored()

        store, stored = StateStore.open(state_path(path), create, before)
        try:
            learner = (
                created[0]
                if stored is None
                else cls._restored(str(path), stored, backbone, prediction_views)
            )
            learner.pipeline.require_given(str(path), learner.parts.classifier, given)
        except BaseException:
            store.close()
            raise
        learner._state.attach(store)
        return learner

    @classmethod
    def _restored(
        cls,
        name: str,
        stored: StoredState,
        backbone: str | Backbone | None,
        prediction_views: str | None,
    ) -> "Learner":
        pipeline = Pipeline.of_state(name, stored.parts, backbone, prediction_views)
        try:
            state = LearnerState.restore(name, stored)
        except SpecError as error:
            raise StateError(f"{name} needs a part that is not installed: {error}") from error
        with state.classifier() as classifier:
            # Specs in the form this version writes. A state keeps its own views for prediction.
            state.parts = replace(
                pipeline.parts(classifier), prediction_views=stored.parts.prediction_views
            )
        learner = cls.__new__(cls)
        PictureLearner.__init__(learner, pipeline, state)
        if stored.parts.world not in ("", learner.parts.world):
            here = "another one" if learner.parts.world else "none: run robocle backbones world"
            log.warning("%s was taught with a world of its backbone, and here is %s", name, here)
        return learner
