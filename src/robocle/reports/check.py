"""The report of a robustness check: as text, as plain values, and as a page with pictures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocle._internal.wording import plural
from robocle.backbones import Backbone
from robocle.evaluation.check_result import (
    IN_WORDS,
    CheckedPrediction,
    CheckResult,
    Conditions,
    Tally,
    under_corruption,
    weaknesses,
)
from robocle.images.square import thumbnail
from robocle.reports import render_page, write_page
from robocle.reports.tables import text_table

ALL_CORRUPTED = "all but clean"
SHOWN_LABELS = 5
"""How many labels the text gives advice on."""
SHOWN_PICTURES = 6
"""How many pictures the page shows under each corruption."""
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
    blocks = [result.summary, *map(_group_text, _groups(result))]
    if result.nothing:
        unknown, total = result.nothing
        blocks.append(f"walls, darkness, noise and patterns: {unknown} of {total} called unknown")
    return "\n\n".join([*blocks, _advice(result)])


def _groups(result: CheckResult) -> list[Group]:
    """Return the taught labels and the others, as far as there are any."""
    found = []
    if any(result.labels.values()):
        found.append(Group("taught objects", (), _rows(result, taught=True)))
    not_taught = tuple(label for label, taught in result.labels.items() if not taught)
    if not_taught:
        title = 'objects that were not taught ("unknown" is right)'
        found.append(Group(title, not_taught, _rows(result, taught=False)))
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


def write_report(
    result: CheckResult, conditions: Conditions, backbone: Backbone, path: Path
) -> None:
    """Write the page of a check.

    Args:
        result: The result of the check.
        conditions: The conditions it was made with: a few pictures are corrupted again.
        backbone: The backbone it was made with.
        path: The file to write.

    Raises:
        RobocleError: The file cannot be written.
    """
    html = render_page(
        "check",
        result=result,
        in_words=IN_WORDS,
        groups=_groups(result),
        heat_map=_heat_map(result),
        weaknesses=weaknesses(result),
        shown=[_shown(predictions, conditions, backbone) for predictions in _worst(result)],
    )
    write_page(path, html)


def _heat_map(result: CheckResult) -> list[tuple[str, list[float]]]:
    """Shares of right predictions by label and condition, the weakest label first."""
    shares = {
        label: [tally.shares[0] for tally in result.of_label(label).values()]
        for label in result.labels
    }
    return sorted(shares.items(), key=lambda row: sum(row[1][1:]))


def _worst(result: CheckResult) -> list[list[CheckedPrediction]]:
    """The first draws of one picture per label, those with most mistakes first."""
    worst: list[list[CheckedPrediction]] = []
    for label in result.labels:
        by_picture: dict[Path, list[CheckedPrediction]] = {}
        for each in result.predictions_of(label):
            if each.draw == 0:
                by_picture.setdefault(each.picture.path, []).append(each)
        worst.append(max(by_picture.values(), key=_mistakes))
    return sorted(worst, key=_mistakes, reverse=True)[:SHOWN_PICTURES]


def _mistakes(predictions: list[CheckedPrediction]) -> int:
    return sum(each.outcome != "right" for each in predictions)


def _shown(
    predictions: list[CheckedPrediction], conditions: Conditions, backbone: Backbone
) -> list[tuple[CheckedPrediction, str]]:
    """The prediction for a picture in each condition, with a small copy as a data URL."""
    corrupted = conditions.apply(predictions[0].picture.path, backbone)
    copies = [thumbnail(each.pixels) for each in corrupted if each.draw == 0]
    return list(zip(predictions, copies, strict=True))
