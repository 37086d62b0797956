"""How a learner begins: new, or from a state."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from robocle.backbones import BACKBONES, Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError
from robocle.learner.learned import Learned
from robocle.learner.pipeline import Parts, Pipeline
from robocle.profiles import OBJECTS, Objects, ProfileName, classifier_for, profile
from robocle.spec import require_choice
from robocle.store.folding import built
from robocle.store.state import FilePath, State

log = logging.getLogger("robocle")

Network = str | Backbone | None
"""A backbone, or its spec; None for the default one, or that of the state."""
Specs = Mapping[str, str | None]
"""The specs of the other parts, by the names that `Parts` has for them; None for the default."""


def created(
    network: Network, specs: Specs, profile_name: ProfileName, objects: Objects
) -> tuple[Pipeline, Learned]:
    """Return a new learner in memory; see `Learner`."""
    chosen = asdict(profile(profile_name)) | {key: spec for key, spec in specs.items() if spec}
    classifier = classifier_for(objects, chosen["classifier"])
    pooling_and_views = chosen["pooling"], chosen["views"], chosen["prediction_views"]
    path = os.fspath(network) if isinstance(network, os.PathLike) else ""
    try:
        pipeline = Pipeline.build(path or network or chosen["backbone"], *pooling_and_views)
    except SpecError as error:
        raise _unless_path(network, error) from error
    parts = pipeline.parts(CLASSIFIERS.build(classifier, blocks=pipeline.blocks))
    learned = Learned(State.new(asdict(parts)), parts)
    learned.state.parts = asdict(learned.parts)  # with the world, as in a file
    return pipeline, learned


def _unless_path(network: Any, error: SpecError) -> SpecError:
    """Return the error about a backbone that is not known, or advice if it is a state file."""
    if not isinstance(network, str | os.PathLike):
        return error
    given = os.fspath(network)
    if given in BACKBONES.names():
        return error
    is_path = given is not network or os.path.isfile(given)
    if is_path or given.endswith(".robocle") or {"/", os.sep} & set(given.partition(":")[0]):
        return SpecError(f"{given} is not a backbone: use Learner.open({given!r})")
    return error


def opened(
    path: FilePath, network: Network, specs: Specs, profile_name: ProfileName, objects: Objects
) -> tuple[Pipeline, Learned]:
    """Return a learner that is kept in a file, which is created if needed; see `Learner.open`."""
    used = network
    profile(profile_name)
    require_choice("objects", objects, OBJECTS)

    def create() -> dict[str, str]:
        nonlocal used
        pipeline, learned = created(network, specs, profile_name, objects)
        used = pipeline.backbone
        return asdict(learned.parts)

    with _opened_state(path, create) as state:
        pipeline, learned = restored(str(path), state, used, specs.get("prediction_views"))
        given = {kind: spec for kind, spec in specs.items() if kind != "prediction_views"}
        pipeline.require_given(str(path), learned.parts.classifier, given)
        return pipeline, learned


@contextmanager
def _opened_state(
    path: FilePath, create: Callable[[], dict[str, str]] | None = None
) -> Iterator[State]:
    """Open a state, which is closed if it cannot be used."""
    state = State.open(path, create)
    try:
        yield state
    except BaseException:
        state.close()
        raise


def edited(path: FilePath) -> Learned:
    """Return what was learned, without its pipeline; see `Learner.edit`."""
    with _opened_state(path) as state:
        return Learned(state, Parts.of(str(path), state.parts))


def restored(
    name: str, state: State, network: Network, prediction_views: str | None
) -> tuple[Pipeline, Learned]:
    """Return the learner of a state.

    Args:
        name: The state, for messages.
        state: The state.
        network: The backbone to use instead of the recorded one.
        prediction_views: The views of pictures to recognise, instead of the recorded ones.
    """
    stored = Parts.of(name, state.parts)
    pipeline = Pipeline.of_state(name, stored, network, prediction_views)
    # Specs in the form this version writes. A state keeps its own views for prediction.
    parts = pipeline.parts(built(name, stored.classifier))
    views, kept = parts.prediction_views, stored.prediction_views
    learned = Learned(state, replace(parts, prediction_views=kept), views)
    if views == kept and stored.world not in ("", learned.parts.world):
        here = "another one" if learned.parts.world else "none: run robocle backbones world"
        log.warning("%s was taught with a world of its backbone, and here is %s", name, here)
    return pipeline, learned
