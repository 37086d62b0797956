"""`robocle paper`: one command per table and figure, with the paper's data or without."""

from pathlib import Path

import pytest

from command_line import assert_refused, run
from robocle.cli.bench import EXPERIMENTS, RENDERED
from robocle.evaluation.experiment_file import experiment_names, load_experiment
from robocle.evaluation.paper import FULL_NAMES


def test_every_table_and_figure_is_an_experiment_on_data_that_have_a_name() -> None:
    assert set(EXPERIMENTS.values()) <= set(experiment_names())
    assert set(EXPERIMENTS) == {*"123456", "figure2", "figure5"}
    for name in EXPERIMENTS.values():
        assert {study.dataset_name for study in load_experiment(name).studies} <= set(FULL_NAMES)


@pytest.mark.parametrize("which", EXPERIMENTS)
def test_without_data_the_rendered_substitute_is_offered(which: str) -> None:
    result = run("paper", which)
    assert_refused(result, "OpenLORIS-Object", "the page on data sets", "--data openloris=DIR")
    assert "--rendered" in result.stderr
    assert "robocle sim --layout openloris DIR" in result.stderr


def test_without_a_backbone_it_is_said_how_to_add_one(tmp_path: Path, cache: Path) -> None:
    result = run("paper", "6", "--data", f"openloris={tmp_path}")
    assert_refused(result, "robocle backbones add resnet152", "--backbone efficientnet_lite0")


def test_rendered_pictures_take_no_other_data(tmp_path: Path) -> None:
    result = run("paper", "6", "--rendered", "--data", tmp_path)
    assert result.exit_code == 2
    assert "leave out --data" in result.stderr


def test_a_study_that_does_not_exist_is_an_error_of_one_line() -> None:
    assert_refused(run("paper", "2", "--study", "F-SIOL"), "no study 'F-SIOL'")


@pytest.mark.parametrize("name", EXPERIMENTS.values())
def test_on_rendered_pictures_the_title_says_so_and_nothing_is_the_papers(name: str) -> None:
    moved = load_experiment(name).changed(**RENDERED)
    assert "; on rendered pictures in place of OpenLORIS-Object" in moved.title
    assert {study.dataset for study in moved.studies} == {"home"}
    assert {study.backbones for study in moved.studies} == {("efficientnet_lite0",)}
    assert not any(study.paper for study in moved.studies)


@pytest.mark.exhaustive
def test_a_figure_is_run_on_rendered_pictures_and_says_so(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "figure.jsonl"
    result = run("paper", "figure2", "--rendered", "--out", out)
    assert result.exit_code == 0, result.output
    page = out.with_suffix(".md").read_text("utf-8")
    assert "on rendered pictures in place of OpenLORIS-Object" in page
    assert "Wasserstein distance" in page
