"""`robocle bench` and `robocle report` from the command line."""

from pathlib import Path

import pytest

from command_line import assert_refused, run

EXPERIMENT = """
title = "Two methods"
shows = ["accuracy", "metrics", "unknown"]

[[studies]]
name = "tiny"
dataset = "folder"
scenario = "class_iid:shots=1,known=half"

[[methods]]
name = "NCM"
pooling = "avg"
classifier = "ncm"

[[methods]]
name = "SLDA"
pooling = "avg"
classifier = "slda"
over = "NCM"
"""


@pytest.fixture
def experiment(tmp_path: Path, cache: Path) -> Path:
    """An experiment file, and an empty cache."""
    path = tmp_path / "tiny.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.mark.slow
def test_an_experiment_on_a_folder_of_pictures_is_run_and_reported(
    experiment: Path, objects: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results" / "tiny.jsonl"
    command = ("bench", experiment, "--seeds", "2", "--out", out, "--data")
    result = run(*command, objects)
    assert result.exit_code == 0, result.output
    assert f"4 of 4 trials run; results in {out}" in result.stdout
    for suffix in ("md", "tex", "html"):
        assert f"report in {out.with_suffix('.' + suffix)}" in result.stdout
    page = " ".join(out.with_suffix(".md").read_text("utf-8").split())
    assert "| gain over NCM |" in page
    outcomes = "right, % | false rejections, % | wrong, %"
    assert (
        f"| | nearest label right, % | {outcomes} | AUROC, % | unknown detected, % | ECE, % |"
        in page
    )
    again = run(*command, f"folder={objects}")
    assert "0 of 4 trials run, the others had results already" in again.stdout
    result = run("report", out, "--out", tmp_path / "reports")
    assert result.exit_code == 0, result.output
    assert "# Two methods" in result.stdout
    assert (tmp_path / "reports" / "tiny.html").is_file()


def test_files_of_the_user_are_neither_appended_to_nor_replaced(
    experiment: Path, objects: Path, tmp_path: Path
) -> None:
    command = ("bench", experiment, "--data", objects, "--out")
    (tmp_path / "mine.jsonl").write_text('{"label": "mug"}\n', "utf-8")
    for suffix in ("md", "tex", "html"):
        (tmp_path / f"{suffix}.{suffix}").write_text("my own notes", "utf-8")
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    assert_refused(run(*command, experiment), "tiny.toml: give a name that ends in .jsonl")
    assert_refused(run(*command, tmp_path / "mine.jsonl"), "mine.jsonl exists and holds no results")
    for suffix in ("md", "tex", "html"):
        refused = run(*command, tmp_path / f"{suffix}.jsonl")
        assert_refused(refused, f"{suffix}.{suffix} exists and was not written by robocle")
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == before


def test_a_report_of_another_file_says_which_file_has_the_results(tmp_path: Path) -> None:
    (tmp_path / "tiny.jsonl").touch()
    (tmp_path / "tiny.md").touch()
    for name, complaint in (
        ("tiny.jsonl", "there are no results in"),
        ("nope.jsonl", "nope.jsonl: run `robocle bench` first"),
        ("tiny.md", f"is not the results: give {tmp_path / 'tiny.jsonl'}"),
    ):
        assert_refused(run("report", tmp_path / name), complaint)
    assert "there is no file " in run("report", tmp_path / "nope.jsonl").stderr


def test_a_data_folder_that_does_not_exist_is_an_error_of_one_line(experiment: Path) -> None:
    result = run("bench", experiment, "--data", "folder=/nowhere")
    assert result.exit_code == 1
    assert result.stderr == "robocle: there is no folder /nowhere: give --data folder=DIR\n"
