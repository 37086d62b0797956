"""Tables in the documents are those that their scripts write from results, experiments and code."""

import json
from pathlib import Path
from types import ModuleType

import pytest

from parity import CLASSIFIER_CASES
from robocle.cli.bench import EXPERIMENTS
from robocle.evaluation.experiment_file import load_experiment
from scripts import imported_script

DOCS = Path(__file__).parents[1] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def test_the_page_on_speed_has_the_recorded_figures() -> None:
    figures = [json.loads(line) for line in page("results/speed.jsonl").splitlines()]
    written = imported_script("docs/speed_tables.py").updated(page("speed.md"), figures)
    assert written == page("speed.md")
    assert "| 200 labels x 20 | median |" in page("speed.md")


@pytest.mark.slow
def test_the_table_of_agreement_is_that_of_the_code_and_the_references() -> None:
    written = imported_script("docs/parity_table.py").updated(page("paper-and-code.md"))
    assert written == page("paper-and-code.md")
    for case in CLASSIFIER_CASES:
        assert f"| {case.method} | `{case.spec}` |" in written


@pytest.fixture(scope="module")
def paper_costs() -> ModuleType:
    """The script that writes the costs of the paper's tables."""
    return imported_script("docs/paper_costs.py")


@pytest.mark.slow
def test_the_costs_of_the_papers_tables_are_those_of_the_experiments(
    paper_costs: ModuleType,
) -> None:
    assert paper_costs.with_table(page("paper-tables.md")) == page("paper-tables.md")
    for which in EXPERIMENTS:
        assert f"| `{which}` | OpenLORIS-Object" in page("paper-tables.md")


@pytest.mark.slow
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
