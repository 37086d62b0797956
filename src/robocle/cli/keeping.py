"""Commands that change, combine and send what a state has learnt."""

import os
from pathlib import Path

import click

from robocle.cli.app import StatePath, counted, main
from robocle.errors import StateError


@main.command()
@click.argument("state", type=StatePath)
@click.argument("label")
@click.option("--for-good", is_flag=True, help="Leave nothing in the file that could undo it.")
def forget(state: Path, label: str, for_good: bool) -> None:
    """Make STATE forget LABEL, as if it had never been taught."""
    from robocle.learner import Learner

    _require_there(state)
    with Learner.open(state) as learner:
        exactly = learner.forgets_exactly
        learner.forget(label)
        if for_good:
            learner.purge()
        known = counted(len(learner.labels), "label")
    click.echo(f"forgot {label}; {state} knows {known}")
    if not exactly:
        click.echo("its share of what all labels have in common stays: see docs/classifiers.md")


@main.command()
@click.argument("state", type=StatePath)
@click.argument("label")
@click.argument("new")
def rename(state: Path, label: str, new: str) -> None:
    """Give LABEL in STATE the name NEW."""
    from robocle.learner import Learner

    _require_there(state)
    with Learner.open(state) as learner:
        learner.rename(label, new)
    click.echo(f"{label} is now {new} in {state}")


@main.command()
@click.argument("state", type=StatePath)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True)
def undo(state: Path, times: int) -> None:
    """Take back the last picture taught to STATE, or the last forgetting or renaming."""
    from robocle.learner import Learner

    _require_there(state)
    with Learner.open(state) as learner:
        for _ in range(times):
            click.echo(f"took back {learner.undo()}")
        known = counted(len(learner.labels), "label")
    click.echo(f"{state} knows {known}")


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
        f"merged {counted(len(states), 'state')} into {out}; it knows "
        f"{counted(len(learner.labels), 'label')}, {sum(learner.counts.values())} pictures"
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
        from robocle.onnx_export import write_onnx

        write_onnx(learner, out)
    else:
        learner.save(out)
    click.echo(f"exported {counted(len(learner.labels), 'label')} to {out}")


@main.command(name="import")
@click.argument("state", type=StatePath)
@click.argument("file", type=StatePath)
def import_(state: Path, file: Path) -> None:
    """Add what an exported FILE has learnt to STATE, which is made if it is not there."""
    from robocle.learner import Learner

    sent = Learner.load(file)
    if not os.path.exists(state):
        sent.save(state)
        known = counted(len(sent.labels), "label")
    else:
        with Learner.open(state, sent.backbone) as learner:
            learner.merge(sent)
            known = counted(len(learner.labels), "label")
    click.echo(f"imported {counted(len(sent.labels), 'label')} of {file}; {state} knows {known}")


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
    click.echo(f"recovered {counted(len(sound.counts), 'label')} to {out}")


def _require_there(state: Path) -> None:
    if not os.path.isfile(state):
        raise StateError(f"there is no state file {state}: teach something to make one")


def _require_free(out: Path) -> None:
    if os.path.exists(out):
        raise StateError(f"{out} exists: remove it first, or choose another name")
