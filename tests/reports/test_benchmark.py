"""Benchmark reports from results written by hand: the right numbers in the right places."""

import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from benchmark_results import record, written
from robocle.errors import DataError, MissingExtraError, RobocleError
from robocle.evaluation.experiment import SHOWS
from robocle.evaluation.metrics import METRICS
from robocle.reports import require_report_extra
from robocle.reports.benchmark import (
    PLOTS,
    TABLES,
    WORDS,
    as_html,
    as_latex,
    as_markdown,
    build_report,
    terms_of,
    write_report,
)
from robocle.reports.benchmark_gains import AVERAGE, GAINS, OVERALL
from robocle.reports.benchmark_tables import DIFFERENCE_COLUMNS
from robocle.reports.plots import line_plot
from robocle.reports.tables import Cell, Row, Table

SMALL = {"table": "table6", "dataset": "openloris_small"}
OF_PAPER = {"labels": 40, "pictures_taught": 1000, "pictures_tested": 37_000}
RENDERED = {"labels": 3, "pictures_taught": 60, "pictures_tested": 540}


def two_methods(counts: dict[str, int], **changes: Any) -> list[dict[str, Any]]:
    """Three orderings of NCM and of RobOCLe NCM, on data of a size."""
    records = []
    for seed in range(3):
        for name, accuracy, over in (("NCM", 46, ""), ("RobOCLe NCM", 54, "NCM")):
            paper = SMALL | {"method": name.lower().replace(" ", "_")}
            made = record(name, accuracy + seed, seed, over=over, paper=paper, **changes)
            made["result"] |= counts
            records.append(made)
    return records


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return written(tmp_path / "an.jsonl", two_methods({}))


def cells(table: Table, name: str) -> tuple[Cell | None, ...]:
    """The cells of the row with a name."""
    return next(row.cells for row in table.rows if row.name == name)


@pytest.mark.slow
def test_a_cell_has_the_mean_the_deviation_and_the_papers_number(results: Path) -> None:
    table = build_report(results).tables[0]
    assert table.columns == ("resnet152",)
    assert cells(table, "NCM") == (Cell(47.0, 1.0, 47.68),)


def test_further_metrics_are_shown_beside_the_papers(results: Path) -> None:
    table = build_report(results).tables[1]
    row = dict(zip(table.columns, cells(table, "NCM"), strict=True))
    assert row["BwT as printed, %"] == Cell(80.0, 0.0, 57.34)
    assert row["forgetting, points"] == Cell(5.0, 0.0)
    assert row["state, MB"] == Cell(2.0, 0.0)


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


def test_columns_name_the_test_set_and_the_corruption(tmp_path: Path) -> None:
    made = record("NCM", 0, 0, shows=["accuracy"])
    made["result"]["accuracy"] = {"same/clean": 90.0, "dslr/clean": 80.0, "dslr/noise": 70.0}
    (table,) = build_report(written(tmp_path / "several.jsonl", [made])).tables
    assert table.columns == ("resnet152 same/clean", "resnet152 dslr/clean", "resnet152 dslr/noise")


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


def test_every_column_of_averages_gains_and_differences_is_explained() -> None:
    columns = AVERAGE, *GAINS[1:], *OVERALL, *DIFFERENCE_COLUMNS  # a gain is explained by itself
    assert set(columns) == set(WORDS["columns"])


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


def test_every_report_has_the_numbers_of_classes_pictures_and_orderings(tmp_path: Path) -> None:
    report = build_report(written(tmp_path / "some.jsonl", two_methods(RENDERED)))
    data = report.tables[0]
    assert data.title == "Data"
    assert data.columns == ("classes taught", "pictures taught", "pictures tested", "orderings")
    assert data.rows == (
        Row(
            "OpenLORIS-small (openloris, low_shot_instance)",
            (Cell(3), Cell(60), Cell(540), Cell(3)),
        ),
    )
    assert "6 trials on 3 orderings." in as_markdown(report)


def test_numbers_of_the_paper_are_shown_with_a_caution_if_the_data_are_not_the_papers(
    tmp_path: Path,
) -> None:
    rendered = build_report(written(tmp_path / "rendered.jsonl", two_methods(RENDERED)))
    text, page = as_markdown(rendered), as_html(rendered)
    assert "47.00 ± 1.00 (paper 47.68)" in text
    assert "3 classes and 540 test pictures; the paper's data have 40 classes" in text
    assert page.count('<p class="caution">Caution: these are not the paper') == 3
    assert "(-0.68)" not in page

    papers = build_report(written(tmp_path / "papers.jsonl", two_methods(OF_PAPER)))
    assert "47.00 ± 1.00 (paper 47.68, -0.68)" in as_markdown(papers)
    assert "Caution" not in as_html(papers)


@pytest.mark.slow
def test_what_uses_the_first_test_set_says_which(tmp_path: Path) -> None:
    made = record("NCM", 90, 0)
    made["result"]["accuracy"] = {"same/clean": 90.0, "dslr/clean": 80.0}
    report = build_report(written(tmp_path / "several.jsonl", [made]))
    titles = [table.title for table in report.tables] + [title for title, _ in report.plots]
    of_one = [title for title in titles if "accuracy, %" not in title]
    assert len(of_one) == 3
    assert all(title.endswith(", tested on same/clean") for title in of_one)


def test_the_best_number_is_bold_and_rows_are_sorted_with_their_gains_below(tmp_path: Path) -> None:
    report = build_report(written(tmp_path / "some.jsonl", two_methods(OF_PAPER)))
    accuracy, metrics = report.tables[1:3]
    assert [row.name for row in accuracy.rows] == ["RobOCLe NCM", "gain over NCM", "NCM"]
    assert [row.name for row in metrics.rows] == ["RobOCLe NCM", "NCM"]
    assert accuracy.best == {(0, 0)}
    assert "**55.00** ± 1.00 (paper" in as_markdown(report)
    assert r"\textbf{55.00} $\pm$ 1.00" in as_latex(report)
    assert "<b>55.00</b><small>± 1.00</small>" in as_html(report)
    assert "<b>47.00</b>" not in as_html(report)


def test_a_low_number_is_the_best_where_low_is_good_and_equal_ones_are_not_bold() -> None:
    rows = tuple(Row(name, (Cell(low), Cell(1.0), None)) for name, low in (("a", 2.0), ("b", 1.0)))
    table = Table("x", ("forgetting", "same", "none"), rows, better=("low", "high", "high"))
    assert table.best == {(1, 0)}
    assert [row.name for row in table.sorted_by(0).rows] == ["b", "a"]


def test_lines_that_coincide_are_one_line_with_both_names() -> None:
    drawing = line_plot({"NCM": [90, 80], "SLDA": [95, 85], "also NCM": [90, 80]}, "x", "y")
    assert "<!-- NCM -->" in drawing
    assert "<!-- = also NCM -->" in drawing
    assert "<!-- SLDA -->" in drawing


def test_many_lines_that_coincide_leave_room_for_the_plot() -> None:
    lines = {f"a method with a long name {number}": [90, 80] for number in range(30)}
    drawing = line_plot(lines, "x", "y")  # matplotlib would warn, and warnings are errors
    assert "method with a long name 29" in drawing


@pytest.mark.parametrize(
    ("tested", "accuracy", "has_gain"), [(99, 50, False), (400, 99.5, False), (400, 97, True)]
)
def test_a_handful_of_pictures_is_no_percentage(
    tested: int, accuracy: float, has_gain: bool, tmp_path: Path
) -> None:
    records = [record("NCM", accuracy, 0), record("SLDA", 99.9, 0, over="NCM")]
    for each in records:
        each["result"] |= {"labels": 5, "pictures_taught": 25, "pictures_tested": tested}
    report = build_report(written(tmp_path / "few.jsonl", records))
    (gain,) = next(row.cells for row in report.tables[1].rows if row.kind == "gain")
    assert (gain is not None) == has_gain
    assert "fewer than 100 pictures or made fewer than 10 errors" in as_html(report)


def test_right_unknown_and_wrong_are_beside_the_accuracy_of_the_nearest_label(
    tmp_path: Path,
) -> None:
    made = record("NCM", 90, 0, shows=["unknown"])
    rates = {"right_rate": 80, "false_rejection_rate": 15, "wrong_rate": 5, "auroc": 99}
    rates |= {"unknown_detection_rate": 70, "calibration_error": 3}
    made["result"] |= {name: {"test/clean": float(value)} for name, value in rates.items()}
    report = build_report(written(tmp_path / "open.jsonl", [made]))
    (table,) = report.tables
    numbers = dict(zip(table.columns, table.rows[0].cells, strict=True))
    assert table.columns[0] == "nearest label right, %"
    assert numbers["nearest label right, %"] == Cell(90)
    assert numbers["right, %"] == Cell(80)
    assert numbers["false rejections, %"] == Cell(15)
    assert numbers["wrong, %"] == Cell(5)
    assert "nearest label right, %" in dict(report.terms)
