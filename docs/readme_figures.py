"""Writes the figures in the README, from the generated pages and files of docs/results.

    python docs/readme_figures.py
    python docs/readme_figures.py --measure    # also runs the experiment of the quickstart

Each cell counts three outcomes for pictures of taught objects: right, unknown and wrong.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results"
README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- begin figures: [^\n]* -->\n).*?(<!-- end figures -->)", re.DOTALL)
QUICKSTART = re.compile(
    r"(<!-- begin quickstart: [^\n]* -->\n).*?(<!-- end quickstart -->)", re.DOTALL
)
SETS = {
    "office_caltech10": "10 categories in photographs of other cameras (Office-Caltech 10)",
    "grocery_store": "81 groceries in photographs (Grocery Store)",
    "home": "29 rendered objects in other conditions",
}
ROWS = {
    "NCM": "nearest class mean",
    "SLDA": "SLDA, as published",
    "RobOCLe, as printed": "RobOCLe, its formula as printed",
    "RobOCLe, root": "RobOCLe, with the root of each moment",
    "robocle default": "**robocle**",
}
OUTCOMES = ("right", "false rejections", "wrong")
"""The columns of a page "known or unknown" that make up a cell."""
Row = dict[str, str]


def rows(page: str, method: str) -> Iterator[Row]:
    """Yield the figures of a method by column, from each table in which all labels are taught."""
    for section in page.split("\n## ")[1:]:
        lines = [line.strip("|").split("|") for line in section.splitlines() if line[:1] == "|"]
        for line in lines[2:] if section.startswith("all taught") else []:
            if line[0].strip() == method:
                yield {
                    head.strip(): cell.strip().replace("*", "")  # the best is bold
                    for head, cell in zip(lines[0], line, strict=True)
                }


def outcomes(page: str, method: str) -> list[float]:
    """Return the percentages of right, unknown and wrong answers, in other places if possible."""
    found = list(rows(page, method))
    return [
        fmean(
            float((row.get(f"{name} elsewhere, %") or row[f"{name}, %"]).split()[0])
            for row in found
        )
        for name in OUTCOMES
    ]


def accuracies(summary: str) -> list[float]:
    """Return how often the nearest label of the default learner is right, by set."""
    lines = [line.strip("|").split(" | ") for line in summary.splitlines() if line[:1] == "|"]
    heads = [head.strip() for head in lines[0]]
    row = next(line for line in lines if line[0].strip() == "**robocle default**")
    places = (heads.index(f"{n} elsewhere") if f"{n} elsewhere" in heads else heads.index(n)
              for n in SETS)  # fmt: skip
    return [float(row[place]) for place in places]


def _cell(*percent: float) -> str:
    return " / ".join(f"{each:.1f}" for each in percent)


def figures(results: Path) -> str:
    """Return the table of the README."""
    pages = [(results / f"{name}-unknown.md").read_text("utf-8") for name in SETS]
    lines = [f"| right / unknown / wrong | {' | '.join(SETS.values())} |", "|---" * 4 + "|"]
    for method, title in ROWS.items():
        strong = "**" if title.startswith("**") else ""
        cells = [f"{strong}{_cell(*outcomes(page, method))}{strong}" for page in pages]
        lines.append(f"| {' | '.join([title, *cells])} |")
    nearest = accuracies((results / "summary.md").read_text("utf-8"))
    cells = [_cell(each, 0, 100 - each) for each in nearest]
    lines.append(f"| {' | '.join(['robocle, if nothing may be unknown', *cells])} |")
    unknown = json.loads((results / "unknown_cells.json").read_text("utf-8"))["cells"]
    accepted = [unknown[f"{name}, all, 5"]["fast"]["photos accepted"] for name in SETS]
    return "\n".join([
        *lines,
        "",
        f"robocle takes {min(accepted):.0f} to {max(accepted):.0f} percent of photographs of "
        "unrelated objects for a taught one. The other methods take all of them.",
        "",
    ])  # fmt: skip


def updated(readme: str, results: Path) -> str:
    """Return the README with the figures of a folder of results."""
    return PLACE.sub(lambda place: place[1] + figures(results) + place[2], readme)


def quickstart() -> str:
    """Run the experiment of the quickstart, and return the table of its report."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "robocle", "bench", "quickstart"]
        subprocess.run(command, cwd=folder, check=True)
        report = (Path(folder) / "results/quickstart.md").read_text("utf-8")
    table = report.partition(": known or unknown\n")[2].partition("\n## ")[0]
    return "".join(_narrow(line) for line in table.splitlines() if line[:1] == "|")


def _narrow(line: str) -> str:
    """Return a row of a table without the blanks that align its columns.

    >>> _narrow("|   mug |  1.0 |"), _narrow("|:-----|-----:|")
    ('| mug | 1.0 |\\n', '|---|---|\\n')
    """
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if all(set(cell) <= set(":-") and cell for cell in cells):
        return "|---" * len(cells) + "|\n"
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def main() -> None:
    """Write the README again."""
    readme = updated(README.read_text("utf-8"), RESULTS)
    if "--measure" in sys.argv[1:]:
        table = quickstart()
        readme = QUICKSTART.sub(lambda place: place[1] + table + place[2], readme)
    README.write_text(readme, "utf-8")


if __name__ == "__main__":
    main()
