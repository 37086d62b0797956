"""Plain-text tables for the terminal."""

import pytest

from robocle.reports.text_table import text_table


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


def test_cells_are_printed_as_they_are() -> None:
    assert text_table([["0012", "1e3"], [None, 0.5]]).splitlines() == ["0012  1e3", "      0.5"]


def test_a_table_without_rows_is_its_headers() -> None:
    assert text_table([], ["label", "pictures"]) == "label  pictures"
    assert text_table([]) == ""


def test_a_row_with_a_missing_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="every row must have 2 cells"):
        text_table([["mug"]], ["label", "pictures"])
