"""The README: its figures are those of the results, and it stays short."""

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

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


@pytest.mark.exhaustive
def test_the_quickstart_of_researchers_prints_its_table(readme_figures: ModuleType) -> None:
    (table,) = (found[0] for found in re.findall(r"quickstart: .*\n((.|\n)*?)<!-- end q", README))
    assert agrees(table, readme_figures.quickstart())


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
