"""The README: its figures are those of the results, and it stays short."""

import re
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from scripts import imported_script

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def readme_figures() -> ModuleType:
    """The script that writes the figures."""
    return imported_script("docs/readme_figures.py")


def test_the_figures_are_those_of_the_results(readme_figures: ModuleType) -> None:
    summary = (ROOT / "docs/results/summary.md").read_text("utf-8")
    assert readme_figures.updated(README, summary) == README


def test_other_results_change_the_figures(readme_figures: ModuleType) -> None:
    summary = (ROOT / "docs/results/summary.md").read_text("utf-8")
    row = next(line for line in summary.splitlines() if line.startswith("| **robocle default** |"))
    cells = row.split(" | ")
    changed = summary.replace(row, " | ".join([*cells[:3], "12.3", *cells[4:]]))
    assert "**12.3**" in readme_figures.updated(README, changed)


def test_the_screenshot_is_small_and_shown_in_readme_and_site() -> None:
    path = ROOT / "docs/demo.png"
    assert path.stat().st_size < 300_000
    with Image.open(path) as image:
        assert image.width > 1000
    assert "](docs/demo.png)" in README
    assert "](demo.png)" in (ROOT / "docs/index.md").read_text("utf-8")


def test_the_code_of_the_readme_has_five_lines() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) == 5
    assert len(README.splitlines()) < 120
