"""A report says what it is from, which numbers are best, and what may not be compared."""

import re
from pathlib import Path
from typing import Any

import pytest

from benchmark_results import record, written
from robocle.reports.benchmark import as_html, as_latex, as_markdown, build_report
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


def test_an_ordering_that_was_run_twice_has_no_deviation(tmp_path: Path) -> None:
    records = [record("NCM", accuracy, 0, key=str(accuracy)) for accuracy in (50, 60)]
    report = build_report(written(tmp_path / "twice.jsonl", records))
    assert all(cell.deviation is None for table in report.tables for cell in every_cell(table))
    assert "With one ordering there is no deviation." in as_markdown(report)
    assert "±" not in as_html(report)


def every_cell(table: Table) -> list[Cell]:
    return [cell for row in table.rows for cell in row.cells if cell]


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
    assert "<!-- NCM = also NCM -->" in drawing
    assert "<!-- SLDA -->" in drawing


def test_neighbouring_lines_have_different_styles() -> None:
    drawing = line_plot({"NCM": [90, 80], "SLDA": [90, 79]}, "x", "y")
    assert len(set(re.findall(r"stroke-dasharray: [\d., ]+", drawing))) == 1  # and one is solid


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
