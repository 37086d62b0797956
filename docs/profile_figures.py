"""Writes the table of docs/profiles.md: python docs/profile_figures.py [--measure].

Accuracies come from docs/results/profiles.md. Speeds come from docs/results/profiles-speed.jsonl,
which --measure writes by running benchmarks/bench_profiles.py.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results/profiles.md"
SPEEDS = ROOT / "docs/results/profiles-speed.jsonl"
PAGE = ROOT / "docs/profiles.md"
PLACE = re.compile(r"(<!-- begin figures: [^\n]* -->\n).*?(<!-- end figures -->)", re.DOTALL)
FIGURE = re.compile(r"(.+): frames per second")


def measure() -> None:
    """Run the benchmark, and keep its figures."""
    SPEEDS.unlink(missing_ok=True)
    script = ROOT / "benchmarks/bench_profiles.py"
    environment = {**os.environ, "ROBOCLE_BENCH_RECORD": str(SPEEDS)}
    subprocess.run([sys.executable, script], env=environment, check=True)


def speeds() -> dict[str, float]:
    """Return the frames per second of each profile."""
    found = {}
    for line in SPEEDS.read_text("utf-8").splitlines():
        figure = json.loads(line)
        if name := FIGURE.fullmatch(figure["name"]):
            found[name[1]] = float(figure["value"])
    return found


def table(results: str, measured: dict[str, float]) -> str:
    """Return the table: the rows of the results that are profiles, each with its speed."""
    section = results.partition("## 5 shots per label")[2].partition("##")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    header, _, *body = rows
    lines = [
        f"| | {' | '.join(header[2:])} | ms per frame | frames per second |",
        "|---" * (len(header) + 1) + "|",
    ]
    for name, backbone, *cells in body:
        plain = name.strip("*")
        is_shown = name != plain or backbone == "efficientnet_lite0"
        if is_shown and plain in measured:
            title = f"`{plain}`" if name != plain else plain
            cells = [cell.rstrip(" |") for cell in cells]
            speed = measured[plain]
            lines.append(f"| {title} | {' | '.join(cells)} | {1e3 / speed:.0f} | {speed:.0f} |")
    return "\n".join(lines) + "\n"


def updated(page: str, results: str, measured: dict[str, float]) -> str:
    """Return the page with the table of results."""
    return PLACE.sub(lambda place: place[1] + table(results, measured) + place[2], page)


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure()
    new = updated(PAGE.read_text("utf-8"), RESULTS.read_text("utf-8"), speeds())
    PAGE.write_text(new, "utf-8")
