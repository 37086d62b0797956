"""The costs of the paper's tables in docs/paper-tables.md are those of the experiments."""

from pathlib import Path
from types import ModuleType

import pytest

from robocle.cli.bench import EXPERIMENTS
from robocle.evaluation.experiment_file import load_experiment
from scripts import imported_script

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs/paper-tables.md").read_text("utf-8")


@pytest.fixture(scope="module")
def paper_costs() -> ModuleType:
    """The script that writes the table."""
    return imported_script("docs/paper_costs.py")


def test_the_table_is_up_to_date(paper_costs: ModuleType) -> None:
    assert paper_costs.with_table(PAGE) == PAGE
    for which in EXPERIMENTS:
        assert f"| `{which}` | OpenLORIS-Object" in PAGE


def test_pictures_that_two_studies_share_are_embedded_once(paper_costs: ModuleType) -> None:
    table = load_experiment("table2")
    shots = [study.name for study in table.studies if study.name.startswith("F-SIOL")]
    both, one = (paper_costs.gigabytes(table.only(names)) for names in (shots, shots[:1]))
    assert both == one > 0


def test_hours_grow_with_the_backbone_and_halve_with_two_cores(paper_costs: ModuleType) -> None:
    figure = load_experiment("moments").changed(backbones=("resnet50",))
    costs = {"embedding": {"resnet50": 1000.0, "resnet152": 3000.0}, "classifying": {}}
    pictures = 400 * len(figure.studies[0].tested)
    assert paper_costs.hours(figure, costs) == pytest.approx(pictures / 2 / 3600)
    slower = figure.changed(backbones=("resnet152",))
    assert paper_costs.hours(slower, costs) == pytest.approx(3 * pictures / 2 / 3600)
