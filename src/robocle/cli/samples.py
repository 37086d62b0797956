"""Commands for single taught pictures: samples and remove."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import StatePath, main, plural
from robocle.cli.edit import require_file
from robocle.cli.output import echo, echo_json, echo_lines

if TYPE_CHECKING:
    from robocle.recognition.readiness import TaughtSample

SHOWN_DIGITS = 8
"""How many digits of an id are shown. `remove` needs no more, unless two ids begin with them."""


@main.command(short_help="List the taught pictures one by one, or those that hurt.")
@click.argument("state", type=StatePath)
@click.option("--label", help="Only pictures of this label.")
@click.option("--doubtful", type=click.IntRange(1, 1_000_000), metavar="N",
              help="Only the N most doubtful pictures, the worst first.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per picture.")
def samples(state: Path, label: str | None, doubtful: int | None, as_json: bool) -> None:
    """List the pictures that STATE was taught: id, label, time, and how well each is recognised.

    Each picture is left out and then recognised by the others. A picture is doubtful if it is taken
    for another label, or if more of the others are recognised without it: it may have the wrong
    label, or show something else. `robocle remove` removes it.
    """
    from robocle.classifiers.labels import never_taught, spelling_of
    from robocle.learner import Learner

    require_file(state)
    with Learner.edit(state) as learner:
        known = None if label is None else spelling_of(label, learner.labels)
        if label is not None and known is None:
            raise never_taught(label, learner.labels)
        found = learner.samples if doubtful is None else learner.doubtful(doubtful, label=known)
    shown = [each for each in found if known in (None, each.label)]
    if as_json:
        for each in shown:
            echo_json(asdict(each))
        return
    echo_lines(_table(shown) if shown else "no picture is doubtful" if doubtful else "no pictures")
    if doubtful and shown:
        ids = " ".join(each.id[:SHOWN_DIGITS] for each in shown)
        echo(f"`robocle remove {state} {ids}` removes {plural(len(shown), 'picture')}", err=True)


def _table(shown: "list[TaughtSample]") -> str:
    from robocle.reports.tables import text_table

    rows = [
        [
            each.id[:SHOWN_DIGITS],
            each.label,
            f"{datetime.fromtimestamp(each.time):%Y-%m-%d %H:%M}",
            "-" if each.recognised is None else f"{each.recognised:.0%}",
            _remark(each),
        ]
        for each in shown
    ]
    return text_table(
        rows, ["id", "label", "taught", "recognised when left out", ""], align="lllrl"
    )


def _remark(sample: "TaughtSample") -> str:
    faults = [", ".join(sample.faults)] if sample.faults else []
    taken = [f"taken for {sample.taken_for}"] if sample.taken_for else []
    more = plural(sample.would_help, "more picture")
    helped = [f"without it, {more} would be recognised"] if sample.would_help > 0 else []
    return "; ".join(faults + taken + helped)


@main.command(short_help="Remove single taught pictures.")
@click.argument("state", type=StatePath)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def remove(state: Path, ids: tuple[str, ...]) -> None:
    """Remove pictures from STATE, as if they had never been taught.

    ID is the id of a picture, or its first digits; `robocle samples` lists them.
    """
    from robocle.learner import Learner

    require_file(state)
    with Learner.edit(state) as learner:
        before = sum(learner.counts.values())
        learner.remove(*ids)
        removed = before - sum(learner.counts.values())
        known = plural(len(learner.labels), "label")
    echo(f"removed {plural(removed, 'picture')}; {state} knows {known}")
