"""The command that teaches pictures."""

import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from robocle.cli.app import Interrupted, StatePath, main, plural, print_error, stop_requests
from robocle.cli.options import (
    BoxOption,
    box_option,
    poor_option,
    threads_option,
    unreadable_option,
)
from robocle.cli.output import activity, echo, progress
from robocle.cli.pictures import (
    ANYWAY,
    ORDER,
    SKIPPING,
    Labelled,
    Unreadable,
    lessons_of,
    list_unreadable,
    opened_after_embedding,
    reading_errors,
    spelled_as_known,
)
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
@click.argument("what", nargs=-1, required=True, metavar="LABEL PICTURES... | FOLDER...")
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
@poor_option
@unreadable_option
@box_option
@threads_option
def teach(state: Path, what: tuple[str, ...], poor: "Poor", unreadable: Unreadable, box: BoxOption,
          threads: int | None, profile: ProfileName | None, objects: Objects | None,
          **parts: str | None) -> None:  # fmt: skip
    """Teach STATE the PICTURES (files or folders) of one object, called LABEL.

    With a FOLDER of folders, or with several FOLDERs, the name of each folder is the label of its
    pictures. STATE is created if it does not exist. If a picture cannot be read, none is taught,
    unless --unreadable is skip.

    All pictures are embedded first and then taught as one step, which one undo reverts. Ctrl-C
    teaches those that are embedded; a second Ctrl-C before that teaches none.
    """
    with activity("starting"):
        from robocle.learner.embedding import Embedder

        lessons = lessons_of(what)
    given = _specs(profile, objects, **parts)
    is_new = not os.path.exists(state)  # unlike state.exists(), no error for a name too long
    with ExitStack() as stack:
        try:
            with activity("loading the backbone"):
                learner = stack.enter_context(_learner(state, given, is_new=is_new))
            lessons = spelled_as_known(lessons, learner.labels, state)
            checks = learner.quality_gate(poor)
            embedder = Embedder(learner.pipeline, "teaching")
            outcomes, interruption = _embedded(embedder, lessons, box, threads, unreadable)
            readable = _readable(lessons, outcomes, unreadable, interruption)
            samples = _good_enough(readable, checks, state)
        except Interrupted as error:
            _end_interrupted(error, [], len(lessons), state)
        if is_new:  # it is created once there is something to teach, unless another program has
            learner = stack.enter_context(opened_after_embedding(state, learner, given))
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


def _learner(state: Path, parts: dict[str, Any], *, is_new: bool) -> "Learner":
    """Return the learner of a state, or one in memory with the parts of a new state."""
    from robocle.learner import Learner

    if is_new:
        _require_new_state(state)
        learner = Learner(**parts)
        if parse_spec(learner.parts.classifier).options.get("world") and not learner.parts.world:
            name, pooling = learner.backbone.name, learner.parts.pooling
            log.warning("%s has no world with %s, so unknown objects are found less well: run "
                        "robocle backbones world %s FOLDER --pooling %s, with a few hundred "
                        "pictures of anything", name, pooling, name, pooling)  # fmt: skip
        return learner
    learner = Learner.open(state, parts.get("backbone"))
    learner.pipeline.require_given(str(state), learner.parts.classifier, parts)
    return learner


def _require_new_state(state: Path) -> None:
    """Check, before pictures are embedded, that a new state has a folder and not a picture's name.

    It is called like a picture if an argument was left out.
    """
    from robocle.images import SUFFIXES

    if state.suffix.lower() in SUFFIXES:
        raise StateError(f"{state} is the name of a picture: {ORDER}")
    if not os.path.isdir(state.parent):
        raise StateAccessError("write", state, f"there is no folder {state.parent}")
    if not os.access(state.parent, os.W_OK):
        raise StateAccessError("write", state, f"the folder {state.parent} is read-only")


def _embedded(
    embedder: "Embedder",
    lessons: list[Labelled],
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
                side, rest = embedder.pipeline.backbone.input_size, paths[len(outcomes) :]
                outcomes += filter(None, reading_errors(rest, side, "reading the others", box))
                break
    except Interrupted as interruption:
        return outcomes, interruption
    return outcomes, None


def _readable(
    lessons: list[Labelled],
    outcomes: "list[Embedding | ImageError]",
    unreadable: Unreadable,
    interruption: Interrupted | None,
) -> "list[tuple[Labelled, Embedding]]":
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


def _good_enough(
    samples: "list[tuple[Labelled, Embedding]]", checks: "QualityGate", state: Path
) -> "list[tuple[Labelled, Embedding]]":
    """Print the faults of pictures, and return those to teach: see --poor.

    If all of them repeat others, as when a folder is taught twice, print what reverts that.

    Raises:
        QualityError: A picture is refused, or all of them are left out.
    """
    kept = []
    repeats = 0
    for (path, label), embedding in samples:
        try:
            found = checks.check(embedding.complaints, embedding.values, label)
        except QualityError as error:
            raise QualityError(f"{path}: {error}; nothing was taught", error.complaints) from error
        skipped = "skipped: " if found and checks.skips_poor else ""
        for complaint in found:
            print_error(f"{skipped}{path}: {complaint}{'' if skipped else ANYWAY}")
        repeats += any(complaint.kind == "duplicate" for complaint in found)
        if not skipped:
            kept.append(((path, label), embedding))
    if not kept and samples:
        raise QualityError("none of the pictures is good enough: nothing was taught", found)
    if 1 < repeats == len(kept):
        print_error(
            f"all {repeats} pictures repeat others: `robocle undo {state}` reverts this command, "
            "and --poor skip leaves such pictures out"
        )
    return kept


def _teach(
    state: Path,
    learner: "Learner",
    samples: "list[tuple[Labelled, Embedding]]",
    given: int,
    interruption: Interrupted | None,
) -> None:
    """Teach the embeddings as one step, all or none of them, whatever signals come."""
    taught = [lesson for lesson, _ in samples]
    labels = [label for _, label in taught]
    with stop_requests() as stop:
        learner.teach_embeddings([embedding for _, embedding in samples], labels)
    log.info("%s has %.1f MB", state, state.stat().st_size / 1e6)
    interruption = stop.received or interruption
    if interruption:
        _end_interrupted(interruption, taught, given, state)
    named = ", ".join(dict.fromkeys(labels))
    known = plural(len(learner.labels), "label")
    echo(f"taught {plural(len(taught), 'picture')} of {named}; {state} knows {known}")


def _end_interrupted(
    interruption: Interrupted, taught: list[Labelled], given: int, state: Path
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
