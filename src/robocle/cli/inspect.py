"""The command that shows what a state knows."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, main, plural, print_error
from robocle.cli.edit import require_file
from robocle.cli.output import echo_json, echo_lines
from robocle.errors import BackboneError, SpecError, StateError

if TYPE_CHECKING:
    from robocle.learner import Learner
    from robocle.recognition.readiness import Readiness


@main.command(short_help="Show the labels of a state and how well they are recognised.")
@click.argument("state", type=StatePath)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the steps.")
def inspect(state: Path, as_json: bool) -> None:
    """Show the labels of STATE, which of them need more pictures, and which are easily confused.

    Some pictures of each label are left out, one at a time. The table shows how many of these are
    still recognised. A damaged STATE is refused: `robocle recover` saves what is intact.
    """
    from robocle.learner import Learner

    require_file(state)
    with Learner.edit(state) as learner:
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
    known = _readiness_lines(readiness) if readiness else _count_lines(labels)
    return [head, "", *known, "", about]


def _count_lines(labels: dict[str, int]) -> list[str]:
    from robocle.reports.tables import text_table

    return [text_table(list(labels.items()), ["label", "pictures"], indent=2)]


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
