"""Tables in every form, and the text in plots."""

import re
from collections.abc import Iterator

import matplotlib
import pytest

from robocle.reports.benchmark import Report, as_latex, as_markdown
from robocle.reports.plots import heat_map, line_plot, scatter_plot
from robocle.reports.tables import Cell, Row, Table, text_table

TABLE = Table(
    "home_01: accuracy, %",
    ("clean", "all_but_clean"),
    (
        Row("NCM", (Cell(47.0, 1.0, 47.68), Cell(30.0))),
        Row("gain over SLDA", (Cell(-3.25), None), "gain"),
    ),
)


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


def test_a_table_without_rows_is_its_headers() -> None:
    assert text_table([], ["label", "pictures"]) == "label  pictures"
    assert text_table([]) == ""


def test_a_row_with_a_missing_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="every row must have 2 cells"):
        text_table([["mug"]], ["label", "pictures"])


NAME = re.compile(r"<text [^>]*text-anchor: (start|end|middle)\"[^>]*>([^<]*)</text>")


@pytest.fixture(autouse=True)
def readable_text() -> Iterator[None]:
    """Keep text as text: by default its glyphs are drawn as paths, which a test cannot read."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


def texts(drawing: str) -> list[str]:
    assert drawing.startswith("<svg")
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawing)]


def test_the_legend_of_lines_is_sorted_by_their_end_and_their_ticks_are_whole_numbers() -> None:
    found = texts(line_plot({"low": [9.0, 1.0], "high": [5.0, 8.0]}, "labels", "accuracy, %"))
    assert found.index("high") < found.index("low")
    assert {"labels", "accuracy, %", "1", "2"} <= set(found)
    assert "1.5" not in found


def test_a_heat_map_shows_its_numbers_and_leaves_unknown_ones_empty() -> None:
    drawing = heat_map([[80, float("nan")]], ["clean"], ["clean", "blur"], "tested", "taught")
    found = texts(drawing)
    assert "80.0" in found
    assert "nan" not in found
    assert {"tested", "taught", "blur"} <= set(found)


def test_names_in_a_scatter_plot_do_not_cover_each_other() -> None:
    names = ("iCaRL", "iCaRL (2pc)", "a name too long for the right edge")
    points = dict(zip(names, ((2.0, 50.0), (2.0, 50.2), (2.1, 60.0)), strict=True))
    drawing = scatter_plot(points | {"left": (0.1, 20.0)}, "ms", "accuracy, %")
    anchors = {name: anchor for anchor, name in NAME.findall(drawing)}
    assert [anchors[name] for name in names] == ["start", "end", "end"]
