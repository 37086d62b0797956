"""Benchmark reports from results written by hand: the right numbers in the right places."""

import re
import sys
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from benchmark_results import record, written
from robocle.errors import DataError, MissingExtraError, RobocleError
from robocle.evaluation.experiment import SHOWS
from robocle.evaluation.metrics import METRICS
from robocle.reports.benchmark import (
    PLOTS,
    TABLES,
    as_html,
    as_markdown,
    build_report,
    terms_of,
    write_report,
)
from robocle.reports.pages import require_report_extra
from robocle.reports.tables import Cell, Row, Table

OURS = "RobOCLe NCM"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    records = []
    for seed, (name, accuracy, over) in product(range(3), [("NCM", 46, ""), (OURS, 54, "NCM")]):
        paper = {"table": "table6", "dataset": "openloris_small"}
        paper["method"] = name.lower().replace(" ", "_")
        records.append(record(name, accuracy + seed, seed, over=over, paper=paper))
    return written(tmp_path / "an.jsonl", records)


def cells(table: Table, name: str) -> tuple[Cell | None, ...]:
    """The cells of the row with a name."""
    return next(row.cells for row in table.rows if row.name == name)


@pytest.mark.slow
def test_a_cell_has_the_mean_the_deviation_and_the_papers_number(results: Path) -> None:
    table = build_report(results).tables[0]
    assert table.columns == ("resnet152",)
    assert cells(table, "NCM") == (Cell(47.0, 1.0, 47.68),)


def test_our_gain_and_the_papers_gain_are_room_aware(results: Path) -> None:
    table = build_report(results).tables[0]
    (gain,) = cells(table, "gain over NCM")
    assert gain is not None
    assert gain.mean == pytest.approx(100 * (55 - 47) / (100 - 47))
    assert gain.paper == 13.8  # as printed: 100 * (54.89 - 47.68) / (100 - 47.68)


def test_further_metrics_are_shown_beside_the_papers(results: Path) -> None:
    table = build_report(results).tables[1]
    row = dict(zip(table.columns, cells(table, "NCM"), strict=True))
    assert row["BwT as printed, %"] == Cell(80.0, 0.0, 57.34)
    assert row["forgetting, points"] == Cell(5.0, 0.0)
    assert row["state, MB"] == Cell(2.0, 0.0)


def test_markdown_shows_every_cell(results: Path) -> None:
    text = as_markdown(build_report(results))
    assert re.search(r"\| NCM +\| +47.00 ± 1.00 \(paper 47.68, -0.68\) \|", text)
    assert "abc" in text


def test_the_page_needs_no_other_file_and_escapes_names(tmp_path: Path) -> None:
    records = [record("<script>alert(1)</script>", 50, 0)]
    html = as_html(build_report(written(tmp_path / "bad.jsonl", records)))
    assert "<script>" not in html
    assert html.count("<svg") == 2
    assert "standard deviation" not in html  # of one ordering
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)


def test_taught_and_tested_corruptions_become_a_table_and_a_heat_map(tmp_path: Path) -> None:
    records = []
    for taught in ("clean", "noise"):
        made = record("SLDA", 0, 0, shows=["matrix"], key=taught)
        made["trial"] |= {"taught": taught, "tested": ["clean", "noise"]}
        made["result"] |= {
            "accuracy": {"test/clean": 80.0, "test/noise": 40.0},
            "average_other_domain": 40.0 if taught == "clean" else 80.0,
        }
        records.append(made)
    report = build_report(written(tmp_path / "matrix.jsonl", records))
    (table,) = report.tables
    assert table.columns == ("clean", "noise", "Avg OD")
    assert table.rows[1] == Row("noise", (Cell(80.0), Cell(40.0), Cell(80.0)))
    assert len(report.plots) == 1


def test_markdown_latex_and_html_are_written(results: Path, tmp_path: Path) -> None:
    paths = write_report(results, tmp_path / "out")
    assert [path.name for path in paths] == ["an.md", "an.tex", "an.html"]
    assert all(path.stat().st_size > 500 for path in paths)


@pytest.mark.slow
def test_results_on_different_data_are_never_averaged(tmp_path: Path) -> None:
    ours, theirs = record("NCM", 90, 0), record("NCM", 50, 0, key="other")
    theirs["trial"] |= {"data": "ffff"}
    tables = build_report(written(tmp_path / "mixed.jsonl", [ours, theirs])).tables
    titles = [table.title for table in tables if "accuracy, %" in table.title]
    names = ("OpenLORIS-small, data 0a1b", "OpenLORIS-small, data ffff")
    assert titles == [f"{name}: accuracy, %" for name in names]
    assert [table.rows[0].cells for table in tables[:2]] == [(Cell(90.0),), (Cell(50.0),)]


def test_a_title_names_no_more_than_tells_studies_apart(tmp_path: Path) -> None:
    ours, theirs = record("NCM", 90, 0), record("NCM", 50, 0, key="other", study="F-SIOL")
    theirs["trial"] |= {"data": "ffff", "dataset": "fsiol", "scenario": "class_iid:shots=5"}
    theirs["experiment"] = "Another"
    report = build_report(written(tmp_path / "two.jsonl", [ours, theirs]))
    titles = [table.title for table in report.tables if "accuracy, %" in table.title]
    assert titles == ["OpenLORIS-small: accuracy, %", "F-SIOL: accuracy, %"]
    assert report.title == "An experiment; Another"


def test_a_gain_does_not_depend_on_the_order_of_the_results(results: Path) -> None:
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(reversed(lines)))
    table = build_report(results).tables[0]
    assert cells(table, "gain over NCM")[0] is not None


def test_columns_name_the_test_set_and_the_corruption(tmp_path: Path) -> None:
    made = record("NCM", 0, 0, shows=["accuracy"])
    made["result"]["accuracy"] = {"same/clean": 90.0, "dslr/clean": 80.0, "dslr/noise": 70.0}
    (table,) = build_report(written(tmp_path / "several.jsonl", [made])).tables
    assert table.columns == (
        "resnet152 same/clean",
        "resnet152 dslr/clean",
        "resnet152 dslr/noise",
    )


def test_everything_an_experiment_can_show_has_a_table_or_a_plot() -> None:
    columns = {"feature_size"}  # of the accuracy table
    assert {*TABLES, *PLOTS, "moments"} | columns == set(SHOWS)


def test_a_missing_results_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run `robocle bench` first"):
        build_report(tmp_path / "missing.jsonl")


def test_the_page_explains_every_metric_it_shows(results: Path) -> None:
    report = build_report(results)
    terms = dict(report.terms)
    assert set(report.tables[1].columns) <= set(terms)
    assert {"NCM", "RobOCLe", "gain over ..., %"} <= set(terms)
    assert "SQDA" not in terms
    page = unescape(as_html(report))
    assert all(f"<dd>{meaning}</dd>" in page for meaning in terms.values())


def test_every_metric_with_a_column_is_explained_with_its_unit() -> None:
    shown = {name for name, metric in METRICS.items() if metric.table}
    assert all(METRICS[name].meaning for name in shown)
    without_unit = {name for name in shown if not METRICS[name].unit}
    assert without_unit == {"frames_per_second"}  # FPS is a unit itself


def test_the_page_explains_the_corruptions_and_the_average_over_other_domains() -> None:
    table = Table("SLDA", ("clean", "noise", "Avg OD"), (Row("clean", (Cell(80.0),) * 3),))
    terms = dict(terms_of([table]))
    assert terms["noise"] == "a test condition: pictures grainy"
    assert "average over the other domains" in terms["Avg OD, %"]


def test_a_report_that_cannot_be_written_is_an_error_of_one_line(
    results: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RobocleError, match=r"cannot write .*an\.md: "):
        write_report(results, tmp_path / "file")


@pytest.mark.parametrize("library", ["joblib", "matplotlib"])
def test_a_missing_library_names_the_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_report_extra()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"{library}: pip install 'robocle\[bench\]'"):
        require_report_extra()
