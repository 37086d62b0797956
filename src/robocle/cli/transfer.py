"""Commands that merge states or write them to another file: merge, export, import, recover."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from robocle.cli.app import StatePath, main, plural
from robocle.cli.options import unknown_option
from robocle.cli.output import echo
from robocle.errors import AlreadyMergedError, StateError

if TYPE_CHECKING:
    from robocle.learner import Learner

replace_option = click.option(
    "--replace", is_flag=True, help="Overwrite OUT if it exists and no program has it open."
)
again_option = click.option(
    "--again", is_flag=True, help="Do so even if they were merged before. Kept pictures count once."
)  # fmt: skip


@main.command(short_help="Merge several states into one.")
@click.argument("states", nargs=-1, required=True, type=StatePath)
@click.option("-o", "--out", type=StatePath, required=True, help="The state file to write.")
@replace_option
@again_option
def merge(states: tuple[Path, ...], out: Path, replace: bool, again: bool) -> None:
    """Merge STATES into one state, as if it had been taught all of their pictures.

    The merged state has no undo history; to merge into a state and keep its history, use `robocle
    import`.
    """
    from robocle.learner import Learner

    _require_new(out, replace)
    first, *others = states
    learner = Learner.load(first)
    for other in others:
        _merge(learner, Learner.load(other, learner.backbone), other, again)
    learner.save(out)
    echo(
        f"merged {plural(len(states), 'state')} into {out}; it knows "
        f"{plural(len(learner.labels), 'label')}, {plural(sum(learner.counts.values()), 'picture')}"
    )


@main.command(short_help="Write an ONNX model, or a state file to send.")
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
@unknown_option
@replace_option
@click.pass_context
def export(context: click.Context, state: Path, out: Path, unknown: float, replace: bool) -> None:
    """Write STATE to OUT: an ONNX model if OUT ends in .onnx, otherwise a state file to send.

    The ONNX model contains the backbone, the pooling, the weights, the labels and the threshold for
    unknown objects, which --unknown sets, and needs only ONNX Runtime.

    A state file to send has no undo history; `robocle import` adds it to the state of another
    device.
    """
    from robocle.learner import Learner

    given = context.get_parameter_source("unknown") is not ParameterSource.DEFAULT
    if given and out.suffix != ".onnx":
        raise click.UsageError("--unknown is for ONNX models: a state takes it in every prediction")
    _require_new(out, replace)
    _require_other(out, state)
    learner = Learner.load(state)
    if out.suffix == ".onnx":
        from robocle.export.onnx_model import write_onnx

        write_onnx(learner, out, unknown)
    else:
        learner.save(out)
    echo(f"exported {plural(len(learner.labels), 'label')} to {out}")


@main.command(name="import", short_help="Merge an exported state into another.")
@click.argument("state", type=StatePath)
@click.argument("file", type=StatePath)
@again_option
def import_(state: Path, file: Path, again: bool) -> None:
    """Merge an exported FILE into STATE, which is created if it does not exist.

    `robocle undo` undoes it. A FILE that was imported before is refused, and so is a newer export
    of the same state, because the pictures that are in both would count twice.
    """
    from robocle.learner import Learner

    received = Learner.load(file)
    if not os.path.exists(state):
        received.save(state)
        known = plural(len(received.labels), "label")
    else:
        with Learner.open(state, received.backbone) as learner:
            _merge(learner, received, file, again)
            known = plural(len(learner.labels), "label")
    imported = plural(len(received.labels), "label")
    echo(f"imported {imported} of {file}; {state} knows {known}")


@main.command(short_help="Save what is intact in a damaged state.")
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
@replace_option
def recover(state: Path, out: Path, replace: bool) -> None:
    """Write everything that is intact in a damaged STATE to OUT, and print what is lost.

    If nothing is intact, OUT is not written.
    """
    from robocle.store import StateStore, recovered

    _require_new(out, replace)
    _require_other(out, state)
    undamaged, lost = recovered(state)
    for each in lost:
        echo(f"lost: {each}")
    if not undamaged.counts:
        raise StateError(f"nothing can be recovered from {state}: {out} is not written")
    StateStore.replace(out, undamaged)
    echo(f"recovered {plural(len(undamaged.counts), 'label')} to {out}")


def _merge(learner: "Learner", other: "Learner", path: Path, again: bool) -> None:
    """Merge the learner of a state file into another, as a step that names the file."""
    pictures = plural(sum(other.counts.values()), "picture")
    merged = f"merging {plural(len(other.labels), 'label')}, {pictures} of {path}"
    try:
        with learner.step(merged):
            learner.merge(other, again=again)
    except AlreadyMergedError as error:
        raise AlreadyMergedError(str(path), "--again") from error


def _require_new(out: Path, replace: bool) -> None:
    if os.path.exists(out) and not replace:
        raise StateError(f"{out} exists: use --replace to overwrite it, or choose another name")


def _require_other(out: Path, state: Path) -> None:
    if os.path.exists(out) and os.path.exists(state) and os.path.samefile(out, state):
        raise StateError(f"{out} is {state} itself: choose another name")
