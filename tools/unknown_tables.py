"""Write the tables of docs/how-recognition-works.md, from tools/measure_unknown.py.

python tools/unknown_tables.py
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "docs/results/unknown_cells.json", ROOT / "docs/how-recognition-works.md"
CELLS = re.compile(r"(<!-- begin cells: [^\n]* -->\n).*?(<!-- end cells -->)", re.DOTALL)
SETS = {
    "office_caltech10": "Office-Caltech 10",
    "grocery_store": "Grocery Store",
    "icub_camera": "iCub camera",
    "home": "rendered home",
}
FEW_AND_HALF, SHOTS = ("4", "half"), ("1", "3", "5")
RATES = ("0.001", "0.01", "0.05", "0.2", "0.5")
Cells = dict[str, dict[str, dict[str, float]]]


class Figures:
    """The figures of one method."""

    def __init__(self, cells: Cells, method: str) -> None:
        self._cells, self._method = cells, method

    def mean(
        self,
        figure: str,
        sets: Iterable[str] = SETS,
        labels: Iterable[str] = FEW_AND_HALF,
        shots: Iterable[str] = SHOTS,
    ) -> float | None:
        """Return the mean of a figure over cells that have it; None if none has it."""
        found = [
            each[figure]
            for name in sets
            for number in labels
            for shot in shots
            if figure in (each := self._cells[f"{name}, {number}, {shot}"][self._method])
        ]
        return fmean(found) if found else None


def tables(results: dict[str, Any]) -> str:
    """Return the tables of the page as Markdown."""
    fast, accurate, alone = (
        Figures(results["cells"], name) for name in ("fast", "accurate", "without a world")
    )
    return "\n".join([
        _table("Called unknown although taught, and accepted although not taught, in percent; the "
               "mean over 4 labels and half of the labels",
               ["set", "shots", "again: unknown", "elsewhere: unknown", "photographs: accepted",
                "objects of other sets: accepted", "other labels: accepted"],
               [[title, shot, *_four(fast, [name], [shot])]
                for name, title in SETS.items() for shot in SHOTS]),
        _table("The same in the mean over the sets, by profile and number of labels",
               ["profile", "labels", "again: unknown", "elsewhere: unknown",
                "photographs: accepted", "objects of other sets: accepted",
                "other labels: accepted"],
               [[name, labels, *_four(found, SETS, SHOTS, [labels])]
                for name, found in (("fast", fast), ("accurate", accurate),
                                    ("fast, without a world", alone))
                for labels in ("1", "2", "4", "half", "all")]),
        _table("Three outcomes for taught objects, and the calibration, in percent; 3 and 5 shots",
               ["profile", "seen", "nearest label right", "right", "unknown", "wrong", "sure",
                "right if sure, among as many objects that were not taught", "ECE"],
               [[name, where, *_outcomes(found, where)]
                for name, found in (("fast", fast), ("accurate", accurate))
                for where in ("again", "elsewhere")]),
        _table("Six other objects of the set were taught as unknown, one picture each. In percent, "
               "without them in parentheses; 5 shots, profile `fast`. *Other labels* are those "
               "that were not shown",
               ["set", "labels", "again: unknown", "elsewhere: unknown", "other labels: accepted"],
               [[title, labels, *_with_examples(fast, name, labels)]
                for name, title in SETS.items() for labels in ("1", "4", "half")
                if fast.mean("unseen accepted after examples", [name], [labels], ["5"])]),
        _table("Photographs of unrelated objects that are accepted, in percent, by `false_accept`",
               ["profile", *RATES],
               [[name, *(_shown(found.mean(f"photos accepted at {rate}")) for rate in RATES)]
                for name, found in (("fast", fast), ("accurate", accurate))]),
    ])  # fmt: skip


def _four(
    found: Figures,
    sets: Iterable[str],
    shots: Sequence[str],
    labels: Sequence[str] = FEW_AND_HALF,
) -> list[str]:
    names = ("again unknown", "elsewhere unknown", "photos accepted", "objects accepted",
             "others accepted")  # fmt: skip
    return [_shown(found.mean(name, sets, labels, shots)) for name in names]


def _outcomes(found: Figures, where: str) -> list[str]:
    names = ("accuracy", "right", "unknown", "wrong", "sure", "right if sure", "ECE")
    return [_shown(found.mean(f"{where} {name}", shots=("3", "5"))) for name in names]


def _with_examples(found: Figures, name: str, labels: str) -> list[str]:
    cells = []
    for group, is_taught in (("again", True), ("elsewhere", True), ("unseen", False)):
        before, after = (
            found.mean(f"{group} accepted {when} examples", [name], [labels], ["5"])
            for when in ("before", "after")
        )
        if before is None or after is None:
            cells.append("")
        elif is_taught:
            cells.append(f"{100 - after:.1f} ({100 - before:.1f})")
        else:
            cells.append(f"{after:.1f} ({before:.1f})")
    return cells


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join([f"{title}:", "", *_lines(heads, rows), ""])


def _lines(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def updated(page: str, results: dict[str, Any]) -> str:
    """Return a page with the tables of the results."""
    return CELLS.sub(lambda place: place[1] + tables(results) + place[2], page)


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text("utf-8"))
    PAGE.write_text(updated(PAGE.read_text("utf-8"), found), "utf-8")
