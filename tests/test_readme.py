"""The README: its figures are those of the results, and it stays short."""

import re
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from robocle import Learner
from robocle.backbones import Backbone
from scripts import imported_script
from transcript import agrees

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def readme_figures() -> ModuleType:
    """The script that writes the figures."""
    return imported_script("docs/readme_figures.py")


def test_the_figures_are_those_of_the_results(readme_figures: ModuleType) -> None:
    assert readme_figures.updated(README, ROOT / "docs/results") == README


def test_other_results_change_the_figures(readme_figures: ModuleType, tmp_path: Path) -> None:
    results = shutil.copytree(ROOT / "docs/results", tmp_path / "results")
    page = results / "grocery_store-unknown.md"
    heads = next(line for line in page.read_text("utf-8").splitlines() if line[:1] == "|")
    cells = " | ".join("12.34 ± 1.00" for _ in range(heads.count("|") - 2))
    page.write_text(
        f"\n## all taught\n\n{heads}\n|---|\n"
        + "".join(f"| {method} | {cells} |\n" for method in readme_figures.ROWS),
        "utf-8",
    )
    assert "**12.3 / 12.3 / 12.3**" in readme_figures.updated(README, results)


@pytest.mark.exhaustive
def test_the_quickstart_of_researchers_prints_its_table(readme_figures: ModuleType) -> None:
    (table,) = (found[0] for found in re.findall(r"quickstart: .*\n((.|\n)*?)<!-- end q", README))
    assert agrees(table, readme_figures.quickstart())


@pytest.mark.parametrize(("name", "page"), [("demo", "index.md"), ("teach-page", "teach-page.md")])
def test_the_screenshots_are_small_and_shown_in_readme_and_site(name: str, page: str) -> None:
    path = ROOT / f"docs/{name}.png"
    assert path.stat().st_size < 300_000
    with Image.open(path) as image:
        assert image.width > 1000
    assert f"](docs/{name}.png)" in README
    assert f"]({name}.png)" in (ROOT / "docs" / page).read_text("utf-8")


def test_the_readme_stays_short() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) <= 10
    assert len(README.splitlines()) < 175


def test_the_learner_of_the_readme_calls_walls_unknown(lite0: Backbone) -> None:
    """It is taught one mug and one clock."""
    clean = ROOT / "src/robocle/demo/home/clean"
    learner = Learner(lite0)
    for label in ("mug", "clock"):
        learner.teach(clean / f"{label}_01/0.jpg", label)
    rng = np.random.default_rng(0)
    for colour in ((200, 190, 170), (90, 110, 140), (235, 235, 230)):
        grain = rng.normal(0, 6, (240, 320, 1)) + np.linspace(-20, 20, 320)[None, :, None]
        wall = np.clip(np.array(colour) + grain, 0, 255).astype(np.uint8)
        assert learner.predict(wall).label is None
    assert learner.predict(clean / "mug_01/5.jpg").label == "mug"
