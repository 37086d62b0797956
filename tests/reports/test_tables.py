"""Tables in every form: text, Markdown, LaTeX, and plain text for the terminal."""

import re

import pytest

from robocle.reports.benchmark import Report, as_latex, as_markdown
from robocle.reports.tables import Cell, Row, Table, markdown_text, text_table

TABLE = Table(
    "home_01: accuracy, %",
    ("clean", "all_but_clean"),
    (
        Row("NCM", (Cell(47.0, 1.0, 47.68), Cell(30.0))),
        Row("gain over SLDA", (Cell(-3.25), None), "gain"),
    ),
)


def test_text_has_its_columns_in_line() -> None:
    assert TABLE.as_text().splitlines() == [
        "                                            clean  all_but_clean",
        "NCM             47.00 ± 1.00 (paper 47.68, -0.68)          30.00",
        "gain over SLDA                              -3.25              -",
    ]


def test_markdown_has_one_line_per_row() -> None:
    assert TABLE.as_markdown().splitlines() == [
        "|                |                             clean |   all_but_clean |",
        "|:---------------|----------------------------------:|----------------:|",
        "| NCM            | 47.00 ± 1.00 (paper 47.68, -0.68) |           30.00 |",
        "| gain over SLDA |                             -3.25 |               - |",
    ]


def test_latex_has_the_title_as_caption_and_escapes_every_cell() -> None:
    lines = [" ".join(line.split()) for line in TABLE.as_latex().splitlines()]
    assert lines == [
        r"\begin{table}[t]",
        r"\centering",
        r"\caption{home\_01: accuracy, \%}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"& clean & all\_but\_clean \\",
        r"\midrule",
        r"NCM & 47.00 $\pm$ 1.00 (paper 47.68, -0.68) & 30.00 \\",
        r"gain over SLDA & -3.25 & - \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_the_number_of_decimals_is_that_of_the_table() -> None:
    table = Table("", ("a",), (Row("b", (Cell(2.345, 0.55),)),), decimals=1)
    assert table.as_text().splitlines()[1] == "b  2.3 ± 0.6"


def test_a_small_number_is_not_printed_as_zero() -> None:
    small, noise = Cell(0.0042, 0.0011, 3.93), Cell(1e-9)
    table = Table("", ("a", "b"), (Row("c", (small, noise)),))
    assert table.as_text().splitlines()[1] == "c  0.004 ± 0.001 (paper 3.930, -3.926)  0.00"


def test_there_is_no_negative_zero() -> None:
    cells = (Cell(-1e-9), Cell(47.679, None, 47.68))
    table = Table("", ("a", "b"), (Row("c", cells),), decimals=1)
    assert table.as_text().splitlines()[1] == "c  0.0  47.7 (paper 47.7, +0.0)"


HOSTILE = "_a_ & 5% $x$ #1 | *b* `c` <img> [d](e) ~f~ ^ \\ &lt; {g}\n\\input{h}\x1b[2J"


def test_a_hostile_name_is_one_cell_of_a_markdown_table() -> None:
    table = Table("", (HOSTILE,), (Row(HOSTILE, (Cell(1.0),)),))
    head, rule, row = table.as_markdown().splitlines()
    assert re.fullmatch(r"\|:-+\|-+:\|", rule)
    for line in (head, row):
        assert len(re.findall(r"(?<!\\)\|", line)) == 3
        assert re.search(r"(?<!\\)[`*\[\]<>$~]", line.replace("\\\\", "")) is None
        assert r"\&lt;" in line
        assert "\x1b" not in line


def test_underscores_within_words_stay_as_they_are_in_markdown() -> None:
    assert markdown_text("all_but_clean _all_ __init__") == (r"all_but_clean \_all\_ \_\_init\_\_")


def test_a_hostile_name_is_one_cell_of_a_latex_table() -> None:
    table = Table(HOSTILE, (HOSTILE,), (Row("[a", (Cell(1.0),)), Row(f"*{HOSTILE}", (None,))))
    lines = table.as_latex().splitlines()
    rows = [" ".join(line.split()) for line in lines if line.endswith(r"\\")]
    assert len(rows) == 3
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)
    assert rows[1].startswith("{[}a &")
    assert rows[2].startswith("{*}")
    assert r"\input" not in table.as_latex()
    assert re.search(r"[\x1b|`]|(?<!\\ensuremath\{)[<>]", table.as_latex()) is None


def test_a_title_with_a_newline_stays_in_its_comment_and_heading() -> None:
    report = Report("a\n\\input{b}\n# c", (), (), {}, (), 1, 1)
    assert as_latex(report) == "% a \\textbackslash{}input\\{b\\} \\# c. " + report.lead + "\n"
    assert as_markdown(report).splitlines()[0] == r"# a \\input{b} \# c"


def test_the_first_column_is_aligned_left_and_the_others_right() -> None:
    table = text_table([["mug", 1, "100%"], ["football", 22, "5%"]], ["", "n", "right"])
    assert table.splitlines() == [
        "           n  right",
        "mug        1   100%",
        "football  22     5%",
    ]


def test_columns_can_be_aligned_one_by_one_and_lines_indented() -> None:
    table = text_table([[1, "a", "x"], [22, "bbb", ""]], align="rll", indent=2)
    assert table.splitlines() == ["   1  a    x", "  22  bbb"]


def test_a_table_without_rows_is_its_headers() -> None:
    assert text_table([], ["label", "pictures"]) == "label  pictures"
    assert text_table([]) == ""


def test_a_row_with_a_missing_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="every row must have 2 cells"):
        text_table([["mug"]], ["label", "pictures"])
