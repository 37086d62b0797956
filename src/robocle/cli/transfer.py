"""Commands that combine, send, receive and recover states."""

import os
from pathlib import Path

import click

from robocle.cli.app import StatePath, main, plural
from robocle.errors import StateError


@main.command()
@click.argument("states", nargs=-1, required=True, type=StatePath)
@click.option("-o", "--out", type=StatePath, required=True, help="The new state.")
def merge(states: tuple[Path, ...], out: Path) -> None:
    """Add up what several STATES have learnt, as if one had been taught it all."""
    from robocle.learner import Learner

    _require_free(out)
    first, *others = states
    learner = Learner.load(first)
    for other in others:
        learner.merge(Learner.load(other, learner.backbone))
    learner.save(out)
    click.echo(
        f"merged {plural(len(states), 'state')} into {out}; it knows "
        f"{plural(len(learner.labels), 'label')}, {sum(learner.counts.values())} pictures"
    )


@main.command()
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
def export(state: Path, out: Path) -> None:
    """Write STATE to OUT: as one ONNX model if OUT ends in .onnx, else as a state to send.

    The ONNX model holds backbone, pooling, weights and labels, and runs with ONNX Runtime alone.
    A state to send holds what was learnt and nothing to undo; `robocle import` takes it in.
    """
    from robocle.learner import Learner

    _require_free(out)
    learner = Learner.load(state)
    if out.suffix == ".onnx":
        from robocle.export.onnx_model import write_onnx

        write_onnx(learner, out)
    else:
        learner.save(out)
    click.echo(f"exported {plural(len(learner.labels), 'label')} to {out}")


@main.command(name="import")
@click.argument("state", type=StatePath)
@click.argument("file", type=StatePath)
def import_(state: Path, file: Path) -> None:
    """Add what an exported FILE has learnt to STATE, which is made if it is not there."""
    from robocle.learner import Learner

    sent = Learner.load(file)
    if not os.path.exists(state):
        sent.save(state)
        known = plural(len(sent.labels), "label")
    else:
        with Learner.open(state, sent.backbone) as learner:
            learner.merge(sent)
            known = plural(len(learner.labels), "label")
    click.echo(f"imported {plural(len(sent.labels), 'label')} of {file}; {state} knows {known}")


@main.command()
@click.argument("state", type=StatePath)
@click.argument("out", type=StatePath)
def recover(state: Path, out: Path) -> None:
    """Write what is sound in a damaged STATE to OUT, and say what is lost."""
    from robocle.store import recovered, write_state

    _require_free(out)
    sound, lost = recovered(state)
    write_state(out, sound)
    for each in lost:
        click.echo(f"lost: {each}")
    click.echo(f"recovered {plural(len(sound.counts), 'label')} to {out}")


def _require_free(out: Path) -> None:
    if os.path.exists(out):
        raise StateError(f"{out} exists: remove it first, or choose another name")
