"""The tables of a check, and its result as plain text and as plain values."""

from dataclasses import dataclass
from typing import Any

from robocle._internal.wording import plural
from robocle.evaluation.check_result import (
    IN_WORDS,
    CheckResult,
    Tally,
    under_corruption,
    weaknesses,
)
from robocle.reports.text_table import text_table

TAUGHT = "taught objects"
NOT_TAUGHT = 'objects that were not taught ("unknown" is right)'
ALL_CORRUPTED = "all but clean"
SHOWN_LABELS = 5
"""How many labels the text gives advice on."""
BAR_WIDTH = 30


@dataclass(frozen=True)
class Group:
    """The labels that were taught, or those that were not.

    Attributes:
        title: What the labels have in common.
        named: The labels, if they are to be listed.
        rows: One tally per condition, and that of all corruptions.
    """

    title: str
    named: tuple[str, ...]
    rows: dict[str, Tally]


def as_text(result: CheckResult) -> str:
    """Return the tables, and what to do about the weakest labels."""
    blocks = [result.summary, *map(_group_text, groups(result)), *nothing(result), _advice(result)]
    return "\n\n".join(blocks)


def nothing(result: CheckResult) -> list[str]:
    """Return how many pictures of nothing were called unknown, in at most one line."""
    if result.nothing is None:
        return []
    unknown, total = result.nothing
    return [f"walls, darkness, noise and patterns: {unknown} of {total} called unknown"]


def groups(result: CheckResult) -> list[Group]:
    """Return the taught labels and the others, as far as there are any."""
    found = []
    if any(result.labels.values()):
        found.append(Group(TAUGHT, (), _rows(result, taught=True)))
    not_taught = tuple(label for label, taught in result.labels.items() if not taught)
    if not_taught:
        found.append(Group(NOT_TAUGHT, not_taught, _rows(result, taught=False)))
    return found


def as_values(result: CheckResult) -> dict[str, Any]:
    """Return all tallies and the advice as plain values, for JSON."""
    return {
        "pictures": len(result.pictures),
        "taught": _values(result.by_condition(taught=True)),
        "not_taught": _values(result.by_condition(taught=False)),
        "nothing": dict(zip(("unknown", "total"), result.nothing or (), strict=False)),
        "labels": {
            label: {"taught": taught, **_values(result.of_label(label))}
            for label, taught in result.labels.items()
        },
        "advice": [
            {"label": each.label, "condition": each.condition, "taken_for": each.taken_for,
             "advice": each.advice}
            for each in weaknesses(result)
        ],
        "unreadable": result.unreadable,
        "copies": result.copies,
    }  # fmt: skip


def _values(tallies: dict[str, Tally]) -> dict[str, dict[str, int]]:
    return {condition: vars(tally) for condition, tally in tallies.items()}


def _rows(result: CheckResult, *, taught: bool) -> dict[str, Tally]:
    tallies = result.by_condition(taught=taught)
    named = {f"{name}, {IN_WORDS[name]}": tally for name, tally in tallies.items()}
    return {**named, ALL_CORRUPTED: under_corruption(tallies)}


def _group_text(group: Group) -> str:
    title = f"{group.title}: {', '.join(group.named)}" if group.named else group.title
    rows = [
        [name, *(f"{share:.0%}" for share in tally.shares), _bar(tally)]
        for name, tally in group.rows.items()
    ]
    headers = ["", "right #", "unknown ?", "wrong x", ""]
    return f"{title}\n{text_table(rows, headers, align='lrrrl', indent=2)}"


def _bar(tally: Tally) -> str:
    right, unknown, _ = tally.shares
    first, second = round(BAR_WIDTH * right), round(BAR_WIDTH * (right + unknown))
    return "#" * first + "?" * (second - first) + "x" * (BAR_WIDTH - second)


def _advice(result: CheckResult) -> str:
    found = weaknesses(result)
    if not found:
        return "every label is recognised well in every condition"
    lines = ["weakest labels", *(f"  {each}" for each in found[:SHOWN_LABELS])]
    more = len(found) - SHOWN_LABELS
    if more > 0:
        lines.append(f"  and {plural(more, 'more label')}: see --json or --out")
    return "\n".join(lines)
