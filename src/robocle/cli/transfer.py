"""Commands that merge states or write them to another file: merge, export, import, recover."""

import os
from pathlib import Path

import click

from robocle.cli.app import StatePath, main, plural
from robocle.cli.options import unknown_option
from robocle.errors import StateError


@main.command()
@click.argument("states", nargs=-1, required=True, type=StatePath)
@click.option("-o", "--out", type=StatePath, required=True, help="The state file to write.")
def merge(states: tuple[Path, ...], out: Path) -> None:
    """Merge STATES into one state, as if it had been taught all of their pictures."""
    from robocle.learner import Learner

    _require_new(out)
    first, *others = states
    learner = Learner.load(first)
    for other in others:
        learner.merge(Learner.load(other, learner.backbone))
    learner.save(out)
    click.echo(
        f"merged {plural(len(states), 'state')} into {out}; it knows "
        f"{plural(len(learner.labels), 'label')}, {plural(sum(learner.counts.values()), 'picture')}"
    )


@main.command()
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
@unknown_option
def export(state: Path, out: Path, unknown: float) -> None:
    """Write STATE to OUT: an ONNX model if OUT ends in .onnx, otherwise a state file to send.

    The ONNX model contains the backbone, the pooling, the weights, the labels and the threshold for
    unknown objects, and needs only ONNX Runtime. --unknown applies to ONNX models only.

    A state file to send has no undo history; `robocle import` adds it to the state of another
    device.
    """
    from robocle.learner import Learner

    _require_new(out)
    learner = Learner.load(state)
    if out.suffix == ".onnx":
        from robocle.export.onnx_model import write_onnx

        write_onnx(learner, out, unknown)
    else:
        learner.save(out)
    click.echo(f"exported {plural(len(learner.labels), 'label')} to {out}")


@main.command(name="import")
@click.argument("state", type=StatePath)
@click.argument("file", type=StatePath)
def import_(state: Path, file: Path) -> None:
    """Merge an exported FILE into STATE, which is created if it does not exist."""
    from robocle.learner import Learner

    received = Learner.load(file)
    if not os.path.exists(state):
        received.save(state)
        known = plural(len(received.labels), "label")
    elif os.path.samefile(state, file):
        raise StateError(f"{file} is {state} itself: everything in it would count twice")
    else:
        with Learner.open(state, received.backbone) as learner:
            learner.merge(received)
            known = plural(len(learner.labels), "label")
    imported = plural(len(received.labels), "label")
    click.echo(f"imported {imported} of {file}; {state} knows {known}")


@main.command()
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
def recover(state: Path, out: Path) -> None:
    """Write everything that is intact in a damaged STATE to OUT, and print what is lost."""
    from robocle.store import recovered, write_state

    _require_new(out)
    undamaged, lost = recovered(state)
    write_state(out, undamaged)
    for each in lost:
        click.echo(f"lost: {each}")
    click.echo(f"recovered {plural(len(undamaged.counts), 'label')} to {out}")


def _require_new(out: Path) -> None:
    if os.path.exists(out):
        raise StateError(f"{out} exists: remove it first, or choose another name")
