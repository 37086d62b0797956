"""The command that teaches pictures."""

import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from robocle.cli.app import StatePath, main, plural, print_error
from robocle.cli.interrupts import Interrupted, stop_requests
from robocle.cli.lessons import Lesson, lessons_of
from robocle.cli.options import BoxOption, box_option, threads_option, unreadable_option
from robocle.cli.output import echo
from robocle.cli.pictures import SKIPPING, Unreadable, list_unreadable
from robocle.cli.progress import activity, progress
from robocle.errors import ImageError, QualityError, StateAccessError, StateError
from robocle.profiles import (
    DEFAULT,
    DEFAULT_PROFILE,
    OBJECTS,
    PROFILES,
    Objects,
    ProfileName,
    classifier_for,
)
from robocle.spec import parse_spec

if TYPE_CHECKING:
    from robocle.images.gate import QualityGate
    from robocle.images.quality import Poor
    from robocle.learner import Learner
    from robocle.learner.embedding import Embedder, Embedding

log = logging.getLogger("robocle")


@main.command(short_help="Teach labelled pictures.")
@click.argument("state", type=StatePath)
@click.argument("what", nargs=-1, required=True, metavar="LABEL IMAGES... | FOLDER")
@click.option("--backbone", help="The backbone of a new state. An existing state keeps its parts.")
@click.option("--pooling", help="The pooling of a new state.")
@click.option("--classifier", help="The classifier of a new state.")
@click.option("--views", help="The views of a new state, for pictures that are taught.")
@click.option("--prediction-views", help="The views of a new state, for pictures to recognise.")
@click.option("--profile", type=click.Choice(list(PROFILES)),
              help="The parts of a new state that are not given. Default: "
              f"{DEFAULT_PROFILE}.")  # fmt: skip
@click.option("--objects", type=click.Choice(OBJECTS),
              help="What a new state will recognise: the same objects that it is taught, others of "
              "their kinds, or auto, estimated from the pictures.")  # fmt: skip
@click.option("--poor", type=click.Choice(["warn", "refuse", "accept"]), default="warn",
              show_default=True, help="What to do about pictures that are dark, blurred, small, or "
              "almost the same as one that was taught.")  # fmt: skip
@unreadable_option
@box_option
@threads_option
def teach(state: Path, what: tuple[str, ...], poor: "Poor", unreadable: Unreadable, box: BoxOption,
          threads: int | None, profile: ProfileName | None, objects: Objects | None,
          **parts: str | None) -> None:  # fmt: skip
    """Teach STATE the pictures IMAGES (files or folders) of one object, called LABEL.

    With a single FOLDER, each of its subfolders is a label with its pictures. STATE is created if
    it does not exist. If a picture cannot be read, none is taught, unless --unreadable is skip.

    All pictures are embedded first and then taught as one step, which one undo reverts. Ctrl-C
    teaches those that are embedded; a second Ctrl-C before that teaches none.
    """
    with activity("starting"):
        from robocle.learner import Learner
        from robocle.learner.embedding import Embedder

        lessons = lessons_of(what)
    given = _specs(profile, objects, **parts)
    with ExitStack() as stack:
        try:
            with activity("loading the backbone"):
                learner = stack.enter_context(_learner(state, given))
            checks = learner.quality_gate(poor)
            embedder = Embedder(learner.pipeline, "teaching")
            outcomes, interruption = _embedded(embedder, lessons, box, threads, unreadable)
            samples = _readable(lessons, outcomes, unreadable, interruption)
            _check(samples, checks)
        except Interrupted as error:
            _end_interrupted(error, [], len(lessons), state)
        if not os.path.exists(state):  # it is created once there is something to teach
            given.pop("backbone", None)
            learner = stack.enter_context(Learner.open(state, learner.backbone, **given))
        _teach(state, learner, samples, len(lessons), interruption)


def _specs(
    profile: ProfileName | None, objects: Objects | None, **parts: str | None
) -> dict[str, Any]:
    """Return the specs of the parts that were given, by themselves or by a profile."""
    specs = {name: spec for name, spec in parts.items() if spec}
    if profile is not None:
        whole = {name: spec for name, spec in vars(PROFILES[profile]).items() if name != "purpose"}
        specs = whole | specs
    if objects is not None:
        specs["classifier"] = classifier_for(objects, specs.get("classifier", DEFAULT.classifier))
    return specs


def _learner(state: Path, parts: dict[str, Any]) -> "Learner":
    """Return the learner of a state, or one in memory with the parts of a new state."""
    from robocle.backbones import backbone
    from robocle.learner import Learner

    if not os.path.exists(state):  # unlike state.exists(), no error for a name that is too long
        _require_new_state(state)
        learner = Learner(**parts)
        if parse_spec(learner.parts.classifier).options.get("world") and not learner.parts.world:
            name, pooling = learner.backbone.name, learner.parts.pooling
            log.warning("%s has no world with %s, so unknown objects are found less well: run "
                        "robocle backbones world %s FOLDER --pooling %s, with a few hundred "
                        "pictures of anything", name, pooling, name, pooling)  # fmt: skip
        return learner
    network = backbone(parts["backbone"]) if "backbone" in parts else None
    learner = Learner.open(state, network)
    learner.pipeline.require_given(str(state), learner.parts.classifier, parts)
    return learner


def _require_new_state(state: Path) -> None:
    """Check, before pictures are embedded, that a new state has a folder and not a picture's name.

    It is called like a picture if an argument was left out.
    """
    from robocle.images import SUFFIXES

    if state.suffix.lower() in SUFFIXES:
        raise StateError(
            f"{state} is the name of a picture: give STATE LABEL IMAGES, in this order"
        )
    if not os.path.isdir(state.parent):
        raise StateAccessError("write", state, f"there is no folder {state.parent}")


def _embedded(
    embedder: "Embedder",
    lessons: list[Lesson],
    box: BoxOption,
    threads: int | None,
    unreadable: Unreadable,
) -> "tuple[list[Embedding | ImageError], Interrupted | None]":
    """Return the embeddings and errors of the pictures, and the interruption if there was one."""
    outcomes: list[Embedding | ImageError] = []
    paths = [path for path, _ in lessons]
    try:
        embeddings = embedder.embed_each(paths, [box] * len(paths), threads=threads)
        for outcome in progress(embeddings, "embedding", len(paths)):
            outcomes.append(outcome)
            if isinstance(outcome, ImageError) and unreadable == "refuse":
                outcomes += _errors(embedder, paths[len(outcomes) :], box)
                break
    except Interrupted as interruption:
        return outcomes, interruption
    return outcomes, None


def _readable(
    lessons: list[Lesson],
    outcomes: "list[Embedding | ImageError]",
    unreadable: Unreadable,
    interruption: Interrupted | None,
) -> "list[tuple[Lesson, Embedding]]":
    """Return the pictures to teach with their embeddings: the first ones, if interrupted."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, ImageError)]
    if not interruption:
        list_unreadable(errors, len(lessons), unreadable, f"nothing was taught; {SKIPPING}")
    elif (errors and unreadable == "refuse") or len(errors) == len(outcomes):
        raise interruption
    return [
        (lesson, outcome)
        for lesson, outcome in zip(lessons, outcomes, strict=False)
        if not isinstance(outcome, ImageError)
    ]


def _errors(embedder: "Embedder", paths: list[Path], box: BoxOption) -> list[ImageError]:
    """Return why pictures cannot be read. They are not embedded, because none will be taught."""
    from robocle.images import read

    errors = []
    for path in progress(paths, "reading the others", len(paths)):
        try:
            read(path, embedder.pipeline.backbone.input_size, box)
        except ImageError as error:
            errors.append(error)
    return errors


def _check(samples: "list[tuple[Lesson, Embedding]]", checks: "QualityGate") -> None:
    """Print the faults of pictures; with --poor refuse, raise for the first poor picture."""
    for (path, label), embedding in samples:
        try:
            found = checks.check(embedding.complaints, embedding.values, label)
        except QualityError as error:
            raise QualityError(f"{path}: {error}; nothing was taught", error.complaints) from error
        for complaint in found:
            print_error(f"{path}: {complaint}")


def _teach(
    state: Path,
    learner: "Learner",
    samples: "list[tuple[Lesson, Embedding]]",
    given: int,
    interruption: Interrupted | None,
) -> None:
    """Teach the embeddings as one step, all or none of them, whatever signals come."""
    taught = [lesson for lesson, _ in samples]
    labels = [label for _, label in taught]
    _point_out_similar(set(labels), learner.labels)
    with stop_requests() as stop:
        learner.teach_embeddings([embedding for _, embedding in samples], labels)
    log.info("%s has %.1f MB", state, state.stat().st_size / 1e6)
    interruption = stop.received or interruption
    if interruption:
        _end_interrupted(interruption, taught, given, state)
    named = ", ".join(dict.fromkeys(labels))
    known = plural(len(learner.labels), "label")
    echo(f"taught {plural(len(taught), 'picture')} of {named}; {state} knows {known}")


def _point_out_similar(labels: set[str], known: tuple[str, ...]) -> None:
    """Say which new labels differ from known ones in upper and lower case only."""
    from robocle.classifiers.labels import similar_label

    for label in sorted(labels.difference(known)):
        if similar := similar_label(label, known):
            print_error(f"{label!r} is a new label: there is also {similar!r}")


def _end_interrupted(
    interruption: Interrupted, taught: list[Lesson], given: int, state: Path
) -> NoReturn:
    """Say what was taught before the interruption, and exit."""
    kept = "nothing was taught"
    if taught:
        kept = (
            f"taught the first {len(taught)} of {plural(given, 'picture')}, up to {taught[-1][0]}; "
            f"`robocle undo {state}` reverts that"
        )
    print_error(f"interrupted: {kept}")
    sys.exit(interruption.exit_code)
