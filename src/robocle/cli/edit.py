"""Commands that change what a state has learned: forget, rename, undo."""

import os
from pathlib import Path

import click

from robocle.cli.app import StatePath, main, plural
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
        known = plural(len(learner.labels), "label")
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
        known = plural(len(learner.labels), "label")
    click.echo(f"{state} knows {known}")


def _require_there(state: Path) -> None:
    if not os.path.isfile(state):
        raise StateError(f"there is no state file {state}: teach something to make one")
