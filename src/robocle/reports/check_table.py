"""A check's result as plain text and as plain values."""

from dataclasses import dataclass
from typing import Any

from robocle.evaluation.check.advice import weaknesses
from robocle.evaluation.check.conditions import IN_WORDS
from robocle.evaluation.check.result import CheckResult, Tally, changed_mean
from robocle.wording import plural

STRANGERS = 'things that were not taught ("unknown" is right)'
MEAN = "mean of the four"
MOST_ADVICE = 5
BAR = 30


@dataclass(frozen=True)
class Group:
    """A table: its title, the labels that need naming, and a tally a row."""

    title: str
    named: tuple[str, ...]
    rows: dict[str, Tally]


def as_text(result: CheckResult) -> str:
    """The tables, and what to do about the labels that suffer most."""
    parts = [[result.summary], *map(_lines, groups(result)), _advice(result)]
    return "\n\n".join("\n".join(lines) for lines in parts)


def groups(result: CheckResult) -> list[Group]:
    """The things that were taught, and those that were not, as far as there are any."""
    found = []
    if any(result.labels.values()):
        found.append(Group("things that were taught", (), _rows(result, taught=True)))
    strangers = tuple(label for label, taught in result.labels.items() if not taught)
    if strangers:
        found.append(Group(STRANGERS, strangers, _rows(result, taught=False)))
    return found


def as_values(result: CheckResult) -> dict[str, Any]:
    """All tallies and the advice, ready for JSON."""
    return {
        "pictures": len(result.pictures),
        "taught": _tallies(result.by_condition(taught=True)),
        "not_taught": _tallies(result.by_condition(taught=False)),
        "labels": {
            label: {"taught": taught, **_tallies(result.of_label(label))}
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


def _tallies(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {condition: vars(tally) for condition, tally in tallies.items()}


def _rows(result: CheckResult, *, taught: bool) -> dict[str, Tally]:
    tallies = result.by_condition(taught=taught)
    named = {f"{name}, {IN_WORDS[name]}": tally for name, tally in tallies.items()}
    return {**named, MEAN: changed_mean(tallies)}


def _lines(group: Group) -> list[str]:
    heads = "".join(f"{head:>11}" for head in ("right #", "unknown ?", "wrong x"))
    named = f": {', '.join(group.named)}" if group.named else ""
    lines = [group.title + named, f"  {'':<22}{heads}"]
    for name, tally in group.rows.items():
        cells = "".join(f"{share:>10.0%} " for share in tally.shares)
        lines.append(f"  {name:<22}{cells}  {_bar(tally)}")
    return lines


def _bar(tally: Tally) -> str:
    right, unknown, _ = tally.shares
    first, second = round(BAR * right), round(BAR * (right + unknown))
    return "#" * first + "?" * (second - first) + "x" * (BAR - second)


def _advice(result: CheckResult) -> list[str]:
    found = weaknesses(result)
    if not found:
        return ["every label holds in every condition"]
    lines = ["what suffers most", *(f"  {each}" for each in found[:MOST_ADVICE])]
    more = len(found) - MOST_ADVICE
    if more > 0:
        lines.append(f"  and {plural(more, 'more label')}: see --json or --out")
    return lines
