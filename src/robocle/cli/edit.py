"""Commands that change a state: forget, rename, remove, undo, redo."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from robocle.cli.app import StatePath, main, plural
from robocle.cli.options import with_parameters
from robocle.cli.output import echo, echo_lines
from robocle.errors import StateError

if TYPE_CHECKING:
    from robocle.learner import Learner


@main.command(short_help="Make a state forget a label.")
@click.argument("state", type=StatePath)
@click.argument("label")
@click.option("--purge", is_flag=True,
              help="Also erase the undo history of STATE and everything that it could bring "
              "back.")  # fmt: skip
def forget(state: Path, label: str, purge: bool) -> None:
    """Make STATE forget LABEL, as if it had never been taught."""
    with edited(state) as learner:
        exactly = learner.forgets_exactly
        learner.forget(label)
        if purge:
            learner.purge()
        known = plural(len(learner.labels), "label")
    echo(f"forgot {label}; {state} knows {known}")
    if not exactly:
        echo("its contribution to the shared statistics stays: it is not kept separately")


@main.command(short_help="Rename a label, or join two.")
@click.argument("state", type=StatePath)
@click.argument("label")
@click.argument("new_label")
def rename(state: Path, label: str, new_label: str) -> None:
    """Rename LABEL to NEW_LABEL in STATE. If NEW_LABEL is a label already, the two become one."""
    with edited(state) as learner:
        old, before = learner.taught_label(label), learner.labels
        learner.rename(label, new_label)
        new = learner.taught_label(new_label)
        pictures = plural(learner.counts[new], "picture")
    echo(f"{new} has this name already in {state}: nothing was changed" if new == old
         else f"{label} is now part of {new}, with {pictures}, in {state}" if new in before
         else f"{label} is now {new} in {state}")  # fmt: skip


@main.command(short_help="Remove single taught pictures.")
@click.argument("state", type=StatePath)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def remove(state: Path, ids: tuple[str, ...]) -> None:
    """Remove pictures from STATE, as if they had never been taught.

    ID is the id of a picture, or its first digits; `robocle samples` lists them.
    """
    with edited(state) as learner:
        removed = learner.remove(*ids)
        known = plural(len(learner.labels), "label")
    echo(f"removed {plural(removed, 'picture')}; {state} knows {known}")


step_parameters = with_parameters(
    click.argument("state", type=StatePath),
    click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True,
                 help="How many steps."),
    click.option("--list", "only_list", is_flag=True,
                 help="Only list the steps, the next one first."),
    click.option("--step", metavar="ID",
                 help="Fail unless this is the next step. `robocle inspect --json` lists the "
                 "ids."),
)  # fmt: skip


@main.command(short_help="Undo what the last command changed.")
@step_parameters
def undo(state: Path, times: int, only_list: bool, step: str | None) -> None:
    """Undo the last step of STATE: what one command changed, or one lesson on the teach page.

    That is all pictures of one `teach`, pictures removed, a label forgotten or renamed, or a merge,
    whichever program did it. `robocle redo` redoes it.
    """
    _revert("undo", state, times, only_list, step)


@main.command(short_help="Redo what was undone.")
@step_parameters
def redo(state: Path, times: int, only_list: bool, step: str | None) -> None:
    """Redo the step of STATE that was undone last.

    Any other change of STATE makes that impossible.
    """
    _revert("redo", state, times, only_list, step)


def _revert(
    verb: Literal["undo", "redo"], state: Path, times: int, only_list: bool, step: str | None
) -> None:
    """Undo or redo some steps, or list them."""
    if step and times > 1:
        raise click.UsageError("--step is for one step: leave out --times")
    with edited(state) as learner:
        steps, revert = (
            (learner.steps, learner.undo) if verb == "undo" else (learner.undone, learner.redo)
        )
        if only_list:
            lines = [f"{n:3}  {each}" for n, each in enumerate(steps, 1)]
            echo_lines("\n".join(lines) or f"nothing can be {verb}ne")
            return
        if 0 < len(steps) < times:
            raise StateError(f"only {plural(len(steps), 'step')} of {state} can be {verb}ne")
        for expected in [step] if step or not steps else [each.id for each in steps[:times]]:
            echo(f"{verb.replace('do', 'did')} {revert(expected)}")
        echo(f"{state} knows {plural(len(learner.labels), 'label')}")


@contextmanager
def edited(state: Path) -> Iterator["Learner"]:
    """Open a state that exists, without its backbone, to read or change what was taught.

    Raises:
        StateError: There is no state file, or nothing was written to it.
    """
    from robocle.learner import Learner

    require_file(state)
    with Learner.edit(state) as learner:
        yield learner


def require_file(state: Path) -> None:
    """Raise StateError if there is no state file: only commands that teach create one."""
    from robocle.store.tables import no_file

    if not (os.path.isfile(state) and state.stat().st_size):
        raise no_file(state)
