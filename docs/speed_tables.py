"""Writes the tables of docs/speed.md, from the figures that benchmarks recorded.

python docs/speed_tables.py docs/results/speed.jsonl
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("speed.md")
PLACE = re.compile(r"(<!-- begin figures: [^\n]* -->\n).*?(<!-- end figures -->)", re.DOTALL)
Figure = dict[str, Any]


def tables(figures: list[Figure]) -> str:
    """Return one row per figure, in the order in which they were measured."""
    lines = ["| workload | figure | measured | required |", "|---|---|---|---|"]
    for figure in figures:
        bound = "at least" if figure["at_least"] else "at most"
        unit = figure["unit"]
        lines.append(
            f"| {figure['workload']} | {figure['name']} | {_number(figure['value'])}{unit} | "
            f"{bound} {figure['limit']:g}{unit} |"
        )
    machines = sorted({figure["machine"] for figure in figures})
    return "\n".join([*lines, "", f"Measured on {'; '.join(machines)}.", ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def updated(page: str, figures: list[Figure]) -> str:
    """Return the page with these figures."""
    return PLACE.sub(lambda place: place[1] + tables(figures) + place[2], page)


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    PAGE.write_text(updated(PAGE.read_text("utf-8"), [json.loads(line) for line in lines]), "utf-8")
