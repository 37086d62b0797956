"""Commands that merge states or write them to another file: merge, export, recover."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from robocle.cli.app import StatePath, main, plural, print_error
from robocle.cli.options import false_accept_option
from robocle.cli.output import echo
from robocle.cli.pictures import point_out_similar
from robocle.errors import StateError

replace_option = click.option("--replace", is_flag=True, help="Overwrite OUT if it is a state.")


@main.command(short_help="Merge other states into one.")
@click.argument("state", type=StatePath)
@click.argument("files", nargs=-1, required=True, type=StatePath)
@click.option(
    "--dask",
    default="",
    metavar="ADDRESS",
    help="Merge on a Dask cluster, whose workers see the files at the same paths.",
)
@click.option("--unreadable", type=click.Choice(["refuse", "skip"]), default="refuse",
              show_default=True, help="What to do about files that are damaged or have other "
              "parts. With refuse nothing is merged, with skip the others are.")  # fmt: skip
def merge(state: Path, files: tuple[Path, ...], dask: str, unreadable: str) -> None:
    """Merge FILES into STATE, as if it had been taught all of their pictures.

    STATE is created if it does not exist. A picture that several states have of the same robot
    counts once, so a newer export of that robot can be merged again. A picture that was taught to
    two robots separately counts twice. `robocle undo` undoes a merge.
    """
    from robocle.classifiers.labels import UNKNOWN
    from robocle.fleet.tree import merge_on_dask
    from robocle.learner.editing import merge_into

    is_new = not os.path.exists(state)
    if is_new:
        _create_like(files, state, unreadable)
    try:
        version, before = _content(state)
        skip = unreadable == "skip"
        if dask:
            skipped = merge_on_dask(state, files, dask, skip)
        else:
            skipped = merge_into(state, files, skip)
        now, labels = _content(state)
        is_changed = now != version and bool(before or labels)
        labels.pop(UNKNOWN, None)
        pictures = plural(sum(labels.values()), "picture")
    except BaseException:
        if is_new:
            _remove_empty(state)
        raise
    if len(files) == len(skipped) == 1:
        raise skipped[0]
    for error in skipped:
        print_error(f"skipped: {error}")
    if len(skipped) == len(files):
        raise StateError(f"none of the {len(files)} files can be merged")
    for label in labels:
        if label not in before:
            point_out_similar(label, [each for each in labels if each != label], state)
    merged = plural(len(files) - len(skipped), "state")
    done = f"merged {merged} into {state}" if is_changed else f"{state} had all of it already"
    echo(f"{done}; it knows {plural(len(labels), 'label')}, {pictures}")


def _content(state: Path) -> tuple[int, dict[str, int]]:
    """Return the clock of a state, and its labels with their numbers of pictures, also UNKNOWN."""
    from robocle.store.state import State

    opened = State.open(state)
    try:
        return opened.position()[1], opened.counts()
    finally:
        opened.close()


def _create_like(files: tuple[Path, ...], state: Path, unreadable: str) -> None:
    """Create an empty state with the parts of the first file that can be read."""
    from robocle.learner.pipeline import Parts
    from robocle.store.folding import classifier_of
    from robocle.store.state import State

    for file in files:
        try:
            found = State.read(file)
            Parts.of(str(file), found.parts)
            classifier_of(found)
        except StateError:
            if unreadable == "refuse" or file == files[-1]:
                raise
            continue
        State.open(state, lambda parts=found.parts: parts).close()  # type: ignore[misc]
        return


def _remove_empty(state: Path) -> None:
    """Remove a state that was created in vain, unless another program has taught it meanwhile."""
    from robocle.learner import Learner

    with Learner.edit(state) as learner:
        is_empty = not learner.version
    if is_empty:
        state.unlink()


@main.command(short_help="Write an ONNX model, or a state file to send.")
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
@click.option("--float32", is_flag=True,
              help="Write a model without text and float64, for converters to TensorRT, LiteRT and "
              "the like.")  # fmt: skip
@false_accept_option
@replace_option
@click.pass_context
def export(
    context: click.Context,
    state: Path,
    out: Path,
    float32: bool,
    false_accept: float,
    replace: bool,
) -> None:
    """Write STATE to OUT, as a state file to send (.robocle) or as an ONNX model (.onnx).

    The ONNX model contains the backbone, the pooling, the weights, the labels and the threshold for
    unknown objects, which --false-accept sets, and needs only ONNX Runtime.

    A state file to send has no undo history; `robocle merge` adds it to the state of another
    device.
    """
    from robocle.learner import Learner

    given = context.get_parameter_source("false_accept") is not ParameterSource.DEFAULT
    if float32 and out.suffix != ".onnx":
        raise click.UsageError("--float32 is for ONNX models")
    if given and out.suffix != ".onnx":
        raise click.UsageError(
            "--false-accept is for ONNX models: a state takes it in every prediction"
        )
    if out.suffix not in (".robocle", ".onnx"):
        raise StateError(
            f"{out} ends neither in .robocle, for a state to send, nor in .onnx, for an ONNX model"
        )
    _require_target(out, state, replace)
    numbers: Literal["float64", "float32"] = "float32" if float32 else "float64"
    # A state is sent by the file itself: a copy in memory could not fold its samples.
    with Learner.load(state) if out.suffix == ".onnx" else Learner.edit(state) as learner:
        if out.suffix == ".onnx":
            learner.export_onnx(out, false_accept=false_accept, numbers=numbers, replace=replace)
        else:
            learner.save(out, replace=replace)
        echo(f"exported {plural(len(learner.labels), 'label')} to {out}")


@main.command(short_help="Save the intact pictures of a damaged state.")
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
@replace_option
@click.option("--like", type=StatePath, metavar="OTHER",
              help="A state with the same parts, if those of STATE are lost.")  # fmt: skip
def recover(state: Path, out: Path, replace: bool, like: Path | None) -> None:
    """Write every picture that is intact in a damaged STATE to OUT, and print what is lost.

    If nothing is intact, OUT is not written.
    """
    from robocle.learner.pipeline import Parts
    from robocle.store.copying import write_state
    from robocle.store.recovery import recovered
    from robocle.store.state import State

    _require_target(out, state, replace)
    found, lost = recovered(state, State.read(like).parts if like else None)
    for each in lost:
        echo(f"lost: {each}")
    query = "SELECT total(pictures) FROM samples WHERE label IS NOT NULL AND bits > 0"
    pictures = int(found.query(query)[0][0])
    if not pictures:
        raise StateError(f"nothing can be recovered from {state}: {out} is not written")
    names = {each.name for each in fields(Parts)}
    found.parts = {name: spec for name, spec in found.parts.items() if name in names}
    if len(found.parts) < len(names):
        raise StateError(
            f"{state} has lost the names of its parts: give a state with the same parts as --like"
        )
    write_state(out, found, replace=replace)
    echo(f"recovered {plural(pictures, 'picture')} to {out}")


def _require_target(out: Path, state: Path, replace: bool) -> None:
    """Raise StateError if a file may not be replaced, or is the state itself."""
    if not os.path.exists(out):
        return
    if not replace:
        raise StateError(f"{out} exists: use --replace to overwrite it, or choose another name")
    if os.path.exists(state) and os.path.samefile(out, state):
        raise StateError(f"{out} is {state} itself: choose another name")
