"""The README: its figures are those of the results, and it stays short."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def readme_figures() -> ModuleType:
    """The script that writes the figures."""
    path = ROOT / "docs/readme_figures.py"
    spec = importlib.util.spec_from_file_location("readme_figures", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_are_those_of_the_results(readme_figures: ModuleType) -> None:
    summary = (ROOT / "docs/results/summary.md").read_text("utf-8")
    assert readme_figures.updated(README, summary) == README


def test_other_results_change_the_figures(readme_figures: ModuleType) -> None:
    summary = (ROOT / "docs/results/summary.md").read_text("utf-8")
    (row,) = re.findall(r"^\| \*\*robocle default\*\* \|.*\+30\.9 \|$", summary, re.MULTILINE)
    changed = summary.replace(row, row.replace(" | 64.5 | ", " | 12.3 | "))
    assert "**12.3**" in readme_figures.updated(README, changed)


@pytest.mark.parametrize(("name", "page"), [("demo", "index.md"), ("teach-page", "teach-page.md")])
def test_the_screenshots_are_small_and_shown_in_readme_and_site(name: str, page: str) -> None:
    path = ROOT / f"docs/{name}.png"
    assert path.stat().st_size < 300_000
    with Image.open(path) as image:
        assert image.width > 1000
    assert f"](docs/{name}.png)" in README
    assert f"]({name}.png)" in (ROOT / "docs" / page).read_text("utf-8")


def test_the_code_of_the_readme_has_five_lines() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) == 5
    assert len(README.splitlines()) < 120
