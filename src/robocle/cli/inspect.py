"""The command that looks into a state: what it knows, and whether that is enough."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, complain, main, plural
from robocle.errors import SpecError, StateError

if TYPE_CHECKING:
    from robocle.recognition.readiness import Readiness
    from robocle.store import StoredState


@main.command()
@click.argument("state", type=StatePath)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with array shapes.")
def inspect(state: Path, as_json: bool) -> None:
    """Show what STATE knows: labels, whether each was shown enough, which are easily confused.

    A picture is left out when the state is asked what it would say of it, had it not been taught.
    """
    from robocle.learner import stored_readiness
    from robocle.store import read_state

    stored = read_state(state)
    try:
        counts = stored.counts
    except StateError as error:
        raise StateError(f"{state} is damaged: {error}") from error
    try:
        readiness = stored_readiness(str(state), stored)
    except SpecError as error:
        complain(f"cannot say whether labels were shown enough: {error}")
        readiness = None
    summary = {
        "labels": counts,
        "readiness": asdict(readiness) if readiness else None,
        "parts": vars(stored.parts),
        "arrays": {name: list(array.shape) for name, array in sorted(stored.arrays.items())},
        "undoable": len(stored.history),
        "bytes": state.stat().st_size,
    }
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(state, stored, summary, readiness)))


def _lines(
    state: Path, stored: "StoredState", summary: dict[str, Any], readiness: "Readiness | None"
) -> list[str]:
    labels = summary["labels"]
    pictures = plural(sum(labels.values()), "picture")
    lines = [
        f"{state}: {plural(len(labels), 'label')}, {pictures}, {summary['bytes'] / 1e6:.2f} MB"
    ]
    lines += _readiness_lines(readiness) if readiness else _count_lines(labels)
    lines += [f"{'can be undone':<14} {plural(summary['undoable'], 'operation')}"]
    return lines + [f"{name:<14} {value}" for name, value in vars(stored.parts).items()]


def _count_lines(labels: dict[str, int]) -> list[str]:
    return [f"  {count:>8}  {label}" for label, count in labels.items()]


def _readiness_lines(readiness: "Readiness") -> list[str]:
    widest = max((len(each.label) for each in readiness.labels), default=0)
    lines = ["  pictures  recognised when left out"] if readiness.labels else []
    for each in readiness.labels:
        told = f"{each.recognised} of {each.left_out}" if each.left_out else "-"
        line = f"  {each.pictures:>8}  {told:<10}  {each.label:<{widest}}  {each.advice}"
        lines.append(line.rstrip())
    if readiness.confusable:
        lines.append("easily confused")
    lines += [f"  {pair.advice} ({pair.likelihood:.0%})" for pair in readiness.confusable]
    return lines
