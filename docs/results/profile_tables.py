"""The tables of the profiles: all data sets side by side, for each number of shots."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robocle.evaluation.metrics import mean, room_aware_gain
from robocle.evaluation.results import read_results
from robocle.profiles import PROFILES

DATA = ("office_caltech10", "grocery_store", "icub_camera", "home")
BEFORE = "default of 0.1.0"
SHOTS = (1, 3, 5, 10)
INTRODUCTION = """
The gain is the room-aware gain over the default learner of version 0.1.0: the percentage of its
errors that is gone, averaged over the columns. "home same" are the taught objects in all
conditions, "home others" are other objects of their kinds. The objects of icub_camera stand on a
turntable: the first ten views are taught, and the others are tested. Lite1 and larger sisters of
Lite2 were not measured.
"""

Row = tuple[str, str]
"""A method and a backbone."""
Figures = dict[Row, dict[str, float]]


def profile_tables(results: Path) -> list[str]:
    """Return the tables as lines of Markdown, from the results files in a folder."""
    values: dict[int, dict[Row, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for data in DATA:
        for record in read_results(results / f"{data}-profiles.jsonl"):
            if record.get("kind", "trial") == "trial":
                trial = record["trial"]
                row = record["method"], trial["backbone"]
                for column, value in _cells(data, trial["scenario"], record["result"]["accuracy"]):
                    values[_shots(trial["scenario"])][row][column].append(value)
    lines = ["", "## Profiles", INTRODUCTION.rstrip()]
    for shots in SHOTS:
        figures: Figures = {
            row: {column: mean(each) for column, each in columns.items()}
            for row, columns in values[shots].items()
        }
        lines += ["", f"### {shots} shot{'s' * (shots > 1)} per label", "", *_table(figures)]
    return lines


def _shots(scenario: str) -> int:
    found = re.search(r"shots=(\d+)", scenario)
    return int(found[1]) if found else 0


def _cells(data: str, scenario: str, accuracy: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the column and the accuracy of each test, or of the mean over several tests."""
    same, *others = accuracy.values()
    if data == "home":
        yield f"home {'others' if 'disjoint' in scenario else 'same'}", mean([same, *others])
    elif others:
        yield f"{data} same", same
        yield f"{data} elsewhere", mean(others)
    else:
        yield data, same


def _table(figures: Figures) -> list[str]:
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    before = figures[BEFORE, PROFILES["fast"].backbone]
    lines = [f"| profile | backbone | {' | '.join(columns)} | mean gain |"]
    lines.append("|---" * (len(columns) + 3) + "|")
    for (method, backbone), row in figures.items():
        cells = [f"{row[column]:.1f}" for column in columns]
        gain = mean([room_aware_gain(before[column], row[column]) for column in columns])
        shown = "" if row is before else f"{gain:+.1f} %"
        lines.append(f"| {_named(method, backbone)} | {backbone} | {' | '.join(cells)} | {shown} |")
    return lines


def _named(method: str, backbone: str) -> str:
    """Return the profile that a method is with a backbone, or the method if it is none."""
    for name, profile in PROFILES.items():
        views = {"fast": "plain", "accurate": "centre"}.get(method)
        if (profile.backbone, profile.prediction_views) == (backbone, views):
            return f"**{name}**"
    return method
