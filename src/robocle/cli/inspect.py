"""Commands that show the labels and the pictures of a state: inspect and samples."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, main, plural, print_error
from robocle.cli.edit import edited
from robocle.cli.output import echo, echo_json, echo_lines
from robocle.errors import BackboneError, SpecError, StateError

if TYPE_CHECKING:
    from robocle.learner import Learner
    from robocle.recognition.readiness import Readiness, TaughtSample

SHOWN_DIGITS = 8
"""How many digits of an id are shown. `remove` needs no more, unless two ids begin with them."""


@main.command(short_help="Show the labels of a state and how well they are recognised.")
@click.argument("state", type=StatePath)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the steps.")
def inspect(state: Path, as_json: bool) -> None:
    """Show the labels of STATE, which of them need more pictures, and which are easily confused.

    Some pictures of each label are left out, one at a time. The table shows how many of these are
    still recognised. A damaged STATE is refused: `robocle recover` saves what is intact.
    """
    with edited(state) as learner:
        if problems := learner.problems():
            raise StateError(
                f"{state} is damaged ({problems[0]}): `robocle recover` saves what is intact"
            )
        readiness = _readiness(learner)
        steps = learner.steps
        summary = {
            "labels": learner.counts,
            "unknown": learner.unknown_taught,
            "readiness": asdict(readiness) if readiness else None,
            "parts": vars(learner.parts),
            "undoable": len(steps),
            "steps": [asdict(step) for step in steps],
            "undone": [asdict(step) for step in learner.undone],
            "bytes": state.stat().st_size,
        }
    if as_json:
        echo_json(summary)
    else:
        echo_lines("\n".join(_lines(state, summary, readiness)))


def _readiness(learner: "Learner") -> "Readiness | None":
    """Return the readiness of the labels. The backbone is not loaded."""
    try:
        return learner.readiness()
    except (SpecError, BackboneError) as error:
        print_error(f"cannot determine which labels need more pictures: {error}")
        return None


def _lines(state: Path, summary: dict[str, Any], readiness: "Readiness | None") -> list[str]:
    from robocle.reports.tables import text_table

    labels = summary["labels"]
    pictures = plural(sum(labels.values()), "picture")
    if summary["unknown"]:
        pictures += f" and {summary['unknown']} of what is unknown"
    head = f"{state}: {plural(len(labels), 'label')}, {pictures}, {summary['bytes'] / 1e6:.2f} MB"
    parts = {name.replace("_", " "): spec for name, spec in summary["parts"].items()}
    rows = {"can be undone": plural(summary["undoable"], "step"), **parts}
    about = text_table(list(rows.items()), align="ll")
    counts = text_table(list(labels.items()), ["label", "pictures"], indent=2)
    known = _readiness_lines(readiness) if readiness else [counts]
    return [head, "", *known, "", about]


def _readiness_lines(readiness: "Readiness") -> list[str]:
    from robocle.reports.tables import text_table

    rows = [
        [
            each.label,
            each.pictures,
            f"{each.recognised} of {each.left_out}" if each.left_out else "-",
            each.advice,
        ]
        for each in readiness.labels
    ]
    heads = ["label", "pictures", "recognised when left out", ""]
    lines = [text_table(rows, heads, align="lrrl", indent=2)]
    if readiness.confusable:
        lines += ["", "easily confused"]
    lines += [f"  {pair.advice} ({pair.likelihood:.0%})" for pair in readiness.confusable]
    if readiness.advice:
        lines += ["", readiness.advice]
    return lines


@main.command(short_help="List the taught pictures, or the doubtful ones.")
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
    with edited(state) as learner:
        known = None if label is None else learner.taught_label(label)
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
