"""Commands that change a state: forget, rename, undo."""

import os
from pathlib import Path

import click

from robocle.cli.app import StatePath, main, plural
from robocle.cli.output import echo, echo_lines
from robocle.errors import StateError


@main.command(short_help="Make a state forget a label.")
@click.argument("state", type=StatePath)
@click.argument("label")
@click.option("--for-good", is_flag=True, help="Also erase the undo history of STATE.")
def forget(state: Path, label: str, for_good: bool) -> None:
    """Make STATE forget LABEL, as if it had never been taught."""
    from robocle.learner import Learner

    require_file(state)
    with Learner.open(state) as learner:
        exactly = learner.forgets_exactly
        learner.forget(label)
        if for_good:
            learner.purge()
        known = plural(len(learner.labels), "label")
    echo(f"forgot {label}; {state} knows {known}")
    if not exactly:
        echo("its contribution to the shared statistics stays: it is not kept separately")


@main.command(short_help="Rename a label, or join two.")
@click.argument("state", type=StatePath)
@click.argument("label")
@click.argument("new")
def rename(state: Path, label: str, new: str) -> None:
    """Rename LABEL to NEW in STATE. If NEW is a label already, the two become one."""
    from robocle.classifiers.labels import spelling_of
    from robocle.learner import Learner

    require_file(state)
    with Learner.open(state) as learner:
        before = len(learner.labels)
        learner.rename(label, new)
        joined = len(learner.labels) < before
        new = spelling_of(new, learner.labels) or new
        pictures = plural(learner.counts[new], "picture")
    echo(f"{label} is now part of {new}, with {pictures}, in {state}" if joined
         else f"{label} is now {new} in {state}")  # fmt: skip


@main.command(short_help="Undo what the last command changed.")
@click.argument("state", type=StatePath)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="How many steps to undo.")  # fmt: skip
@click.option("--list", "only_list", is_flag=True,
              help="Only list what can be undone, the last step first.")  # fmt: skip
def undo(state: Path, times: int, only_list: bool) -> None:
    """Undo the last step of STATE, which is what the last command changed.

    That is all pictures of one `teach`, pictures removed, a label forgotten or renamed, or an
    import.
    """
    from robocle.learner import Learner
    from robocle.store import read_state

    require_file(state)
    if only_list:
        steps = [f"{n:3}  {step}" for n, step in enumerate(read_state(state).steps, 1)]
        echo_lines("\n".join(steps) or "nothing can be undone")
        return
    with Learner.open(state) as learner:
        if 0 < learner.undoable < times:
            raise StateError(f"only {plural(learner.undoable, 'step')} of {state} can be undone")
        for _ in range(times):
            echo(f"undid {learner.undo()}")
        known = plural(len(learner.labels), "label")
    echo(f"{state} knows {known}")


def require_file(state: Path) -> None:
    """Raise StateError if there is no state file: a command that changes one must not create it."""
    if not os.path.isfile(state):
        raise StateError(
            f"there is no state file {state}: check the name, or teach something to make it"
        )
