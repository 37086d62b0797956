"""The paper's numbers: those of its source, and found by their coordinates."""

import hashlib

import pytest

from robocle.evaluation.paper import paper_number, paper_numbers

NUMBERS = paper_numbers()


def test_the_numbers_are_those_that_were_compared_with_the_source_of_the_paper() -> None:
    lines = sorted(repr(number) for number in NUMBERS)
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest().startswith("40d1740a3d7cfc44")


def test_a_number_printed_for_two_methods_is_found_under_both() -> None:
    for method in ("ncm", "cbcl"):
        assert paper_number("table1", method=method, backbone="resnet50") == 84.62


def test_too_few_coordinates_are_an_error_that_names_the_missing_ones() -> None:
    with pytest.raises(LookupError, match=r"3 numbers of table2 have .*: also give dataset"):
        paper_number("table2", method="slda", backbone="resnet50")


def test_an_unknown_coordinate_is_rejected() -> None:
    with pytest.raises(TypeError, match="'methd' is not one of table, metric, method, "):
        paper_number("table2", methd="slda")
