"""A check's page: table, plots and a few pictures as they were met, in one HTML file."""

from pathlib import Path

import numpy as np

from robocle.backbones import Backbone
from robocle.evaluation.check.advice import weaknesses
from robocle.evaluation.check.conditions import IN_WORDS, Conditions
from robocle.evaluation.check.result import Answer, CheckResult, Tally
from robocle.images.thumbnails import thumbnail
from robocle.reports.check_table import groups
from robocle.reports.pages import page, write_page
from robocle.reports.plots import new_axes, svg

COLOURS = {"right": "#1a7f37", "called unknown": "#b8bec8", "wrong": "#b42318"}
MOST_SHOWN = 6
"""Pictures on the page."""

Shown = list[tuple[Answer, str]]
"""A picture in each condition: the answer, and the small copy."""


def write_report(
    result: CheckResult, conditions: Conditions, backbone: Backbone, path: Path
) -> None:
    """Write the page to a file."""
    html = page(
        "check",
        result=result,
        in_words=IN_WORDS,
        groups=[(group, _bars(group.rows)) for group in groups(result)],
        heat_map=_heat_map(result),
        weaknesses=weaknesses(result),
        shown=[_shown(answers, conditions, backbone) for answers in _most_mistaken(result)],
    )
    write_page(path, html)


def _bars(tallies: dict[str, Tally]) -> str:
    """Right, unknown and wrong answers, a bar a row."""
    figure, axes = new_axes(0.6 + 0.38 * len(tallies), width=8)
    places = np.arange(len(tallies))[::-1]
    percents = 100 * np.array([tally.shares for tally in tallies.values()])
    starts = np.cumsum(percents, axis=1) - percents
    for part, (name, colour) in enumerate(COLOURS.items()):
        bars = axes.barh(places, percents[:, part], 0.7, starts[:, part], color=colour, label=name)
        written = [f"{value:.0f}" if value >= 4 else "" for value in percents[:, part]]
        axes.bar_label(bars, written, label_type="center", size=8,
                       color="black" if part == 1 else "white")  # fmt: skip
    axes.set_yticks(places, tallies)
    axes.set_xlim(0, 100)
    axes.set_xlabel("answers, %")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return svg(figure)


def _heat_map(result: CheckResult) -> list[tuple[str, list[float]]]:
    """Shares of right answers by label and condition, the label that suffers most first.

    The page draws it as a table: a browser has the letters of all languages, a plot has not.
    """
    shares = {
        label: [tally.shares[0] for tally in result.of_label(label).values()]
        for label in result.labels
    }
    return sorted(shares.items(), key=lambda row: sum(row[1][1:]))


def _most_mistaken(result: CheckResult) -> list[list[Answer]]:
    """The first draws of pictures, one a label, those with most mistakes first."""
    worst: list[list[Answer]] = []
    for label in result.labels:
        by_picture: dict[Path, list[Answer]] = {}
        for answer in result.answers_of(label):
            if answer.draw == 0:
                by_picture.setdefault(answer.picture.path, []).append(answer)
        worst.append(max(by_picture.values(), key=_mistakes))
    return sorted(worst, key=_mistakes, reverse=True)[:MOST_SHOWN]


def _mistakes(answers: list[Answer]) -> int:
    return sum(answer.outcome != "right" for answer in answers)


def _shown(answers: list[Answer], conditions: Conditions, backbone: Backbone) -> Shown:
    meetings = conditions.meetings(answers[0].picture.path, backbone)
    firsts = [thumbnail(met.pixels) for met in meetings if met.draw == 0]
    return list(zip(answers, firsts, strict=True))
