"""Writes the figures in the README, from docs/results/summary.md.

python docs/readme_figures.py
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "docs/results/summary.md"
README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- begin figures: [^\n]* -->\n).*?(<!-- end figures -->)", re.DOTALL)
COLUMNS = {
    "office_caltech10 elsewhere": "photographs of 10 categories, other cameras (Office-Caltech 10)",
    "grocery_store": "photographs of 81 groceries (Grocery Store)",
    "home elsewhere": "29 rendered objects, other conditions",
}
"""The columns of the summary that the README shows, and what they are called there."""
ROWS = {
    "NCM": "nearest class mean",
    "SLDA": "SLDA, as published",
    "RobOCLe, as printed": "RobOCLe, its formula as printed",
    "RobOCLe, root": "RobOCLe, with the root of each moment",
    "**robocle default**": "**robocle**",
}


def figures(summary: str) -> str:
    """Return the table of the README, from the first table of the summary."""
    lines = [line.strip("| \n").split(" | ") for line in summary.splitlines() if line[:1] == "|"]
    header = ["", *lines[0]] if lines[0][0] else lines[0]
    shown = [header.index(column) for column in COLUMNS]
    table = [
        f"| | {' | '.join(COLUMNS.values())} |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for name, title in ROWS.items():
        row = next(line for line in lines if line[0] == name)
        cells = [f"**{row[place]}**" if title.startswith("**") else row[place] for place in shown]
        table.append(f"| {' | '.join([title, *cells])} |")
    return "\n".join(table) + "\n"


def updated(readme: str, summary: str) -> str:
    """Return the README with the figures of a summary."""
    return PLACE.sub(lambda place: place[1] + figures(summary) + place[2], readme)


if __name__ == "__main__":
    README.write_text(updated(README.read_text("utf-8"), SUMMARY.read_text("utf-8")), "utf-8")
