"""The page of a check: tables, plots and a few pictures as they were tested."""

from pathlib import Path

from robocle.backbones import Backbone
from robocle.evaluation.check.advice import weaknesses
from robocle.evaluation.check.conditions import IN_WORDS, Conditions
from robocle.evaluation.check.result import CheckedPrediction, CheckResult
from robocle.images.square import thumbnail
from robocle.reports.check_table import groups
from robocle.reports.pages import render_page, write_page

SHOWN_PICTURES = 6

Shown = list[tuple[CheckedPrediction, str]]
"""A picture in each condition: the prediction, and a small copy as a data URL."""


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
        groups=groups(result),
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
) -> Shown:
    corrupted = conditions.apply(predictions[0].picture.path, backbone)
    copies = [thumbnail(each.pixels) for each in corrupted if each.draw == 0]
    return list(zip(predictions, copies, strict=True))
