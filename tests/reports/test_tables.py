"""Tables in every form: text, Markdown, LaTeX."""

from robocle.reports.tables import Cell, Row, Table, latex_text

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
        "| | clean | all_but_clean |",
        "|---|---|---|",
        "| NCM | 47.00 ± 1.00 (paper 47.68, -0.68) | 30.00 |",
        "| gain over SLDA | -3.25 | - |",
    ]


def test_latex_has_the_title_as_caption_and_escapes_every_cell() -> None:
    text = TABLE.as_latex()
    assert r"\caption{home\_01: accuracy, \%}" in text
    assert r"\begin{tabular}{lcc}" in text
    assert r"NCM & 47.00 $\pm$ 1.00 (paper 47.68, -0.68) & 30.00 \\" in text


def test_the_number_of_decimals_is_that_of_the_table() -> None:
    table = Table("", ("a",), (Row("b", (Cell(2.345, 0.55),)),), decimals=1)
    assert table.as_text().splitlines()[1] == "b  2.3 ± 0.6"


def test_latex_prints_special_characters() -> None:
    assert latex_text(r"a_b & 5 % of {x}^2 ~ $1 \ #") == (
        r"a\_b \& 5 \% of \{x\}\textasciicircum{}2 \textasciitilde{} \$1 \textbackslash{} \#"
    )
