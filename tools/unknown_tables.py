"""Write the tables of docs/recognition.md, from the results of tools/measure_unknown.py.

python tools/unknown_tables.py
"""

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "docs/results/unknown_cells.json", ROOT / "docs/recognition.md"
PLACE = re.compile(r"(<!-- begin cells: [^\n]* -->\n).*?(<!-- end cells -->)", re.DOTALL)
BEFORE, AFTER = "without a world", "with a world"
METHODS = ("default of 0.1.0", BEFORE, AFTER)
Cells = dict[str, dict[str, dict[str, float]]]
AUROCS = {"others": "others", "unrelated": "unrelated", "nothing": "nothing"}
ACCEPTED = ("again", "elsewhere", "others", "unrelated", "nothing")


def tables(results: dict[str, Any]) -> str:
    """Return all tables as Markdown."""
    cells: Cells = results["cells"]
    names = [key.split(", ") for key in cells]
    sets = list(dict.fromkeys(name for name, *_ in names))
    grid = list(dict.fromkeys((labels, shots) for _, labels, shots in names))
    every = [_mean(cells, sets, *cell) for cell in grid]
    return "\n".join([
        _table("Percent: default of 0.1.0 / without a world / with one; AUROC first",
               ["labels", "shots", *AUROCS, "accuracy", "ECE"],
               [[*cell, *_gains(found)] for cell, found in zip(grid, every, strict=True)]),
        _table("Accepted at the default level, in percent, with a world (without one)",
               ["labels", "shots", "seen again", "elsewhere", "others", "unrelated", "nothing"],
               [[*cell, *_accepted(found)] for cell, found in zip(grid, every, strict=True)]),
        _table("Each set, half of its labels, 5 shots, with a world",
               ["set", "seen again", *ACCEPTED[1:], "accuracy", "ECE"],
               [[name, *_alone(cells[f"{name}, half, 5"][AFTER])] for name in sets]),
    ])  # fmt: skip


def _mean(cells: Cells, sets: list[str], labels: str, shots: str) -> dict[str, dict[str, float]]:
    """Return the mean of each figure over the sets that have it."""
    found = [cells[f"{name}, {labels}, {shots}"] for name in sets]
    return {
        method: {
            figure: fmean(each[method][figure] for each in found if figure in each[method])
            for figure in {name: 0 for each in found for name in each[method]}
        }
        for method in METHODS
    }


def _gains(found: dict[str, dict[str, float]]) -> list[str]:
    figures = [*(f"{name} AUROC" for name in AUROCS), "again accuracy", "again ECE"]
    return [
        " / ".join(f"{found[method][name]:.1f}" for method in METHODS)
        if name in found[AFTER]
        else ""
        for name in figures
    ]


def _accepted(found: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"{found[AFTER][figure]:.1f} ({found[BEFORE][figure]:.1f})"
        if figure in found[AFTER]
        else ""
        for figure in (f"{name} accepted" for name in ACCEPTED)
    ]


def _alone(found: dict[str, float]) -> list[str]:
    names = [*(f"{name} accepted" for name in ACCEPTED), "again accuracy", "again ECE"]
    return [f"{found[name]:.1f}" if name in found else "" for name in names]


def _table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    lines = [f"{title}:", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def updated(page: str, results: dict[str, Any]) -> str:
    """Return the page with the tables of the results."""
    return PLACE.sub(lambda place: place[1] + tables(results) + place[2], page)


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text("utf-8"))
    PAGE.write_text(updated(PAGE.read_text("utf-8"), found), "utf-8")
