"""The paper's numbers: those of its source, consistent, and found by their coordinates.

The averages and gains that it prints are compared in tests/reports/test_paper_columns.py.
"""

import hashlib
from dataclasses import replace

import pytest

from robocle.evaluation.paper import PaperNumber, paper_number, paper_numbers

NUMBERS = paper_numbers()


def test_the_numbers_are_those_that_were_compared_with_the_source_of_the_paper() -> None:
    lines = sorted(repr(number) for number in NUMBERS)
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest().startswith("40d1740a3d7cfc44")


def test_what_two_tables_print_is_the_same_number_with_two_exceptions() -> None:
    printed: dict[PaperNumber, float] = {}
    differing = set()
    for each in sorted(NUMBERS, key=lambda number: number.table):
        earlier = printed.setdefault(replace(each, value=0, table=""), each.value)
        if earlier != each.value:
            differing.add((each.table, each.method, each.dataset, earlier, each.value))
    assert differing == {
        ("table4", "robocle_slda", "fsiol_5", 95.84, 95.82),
        ("table4", "robocle_slda", "fsiol_10", 97.47, 97.58),
    }


def test_the_changes_of_speed_are_those_of_the_printed_speeds_and_below_the_bound() -> None:
    value = {replace(number, value=0): number.value for number in NUMBERS}
    changes = [number for number in NUMBERS if number.metric == "fps_change"]
    bound = paper_number("text", metric="fps_drop_below")
    assert changes
    assert bound is not None
    for change in changes:
        after = replace(change, value=0, metric="fps")
        before = replace(after, method=after.method.removeprefix("robocle_"), pooling="avg")
        low, high = (100 * ((value[after] + e) / (value[before] - e) - 1) for e in (-0.05, 0.05))
        assert low - 0.005 <= change.value <= high + 0.005
        assert -bound < change.value < 0


def test_a_number_printed_for_two_methods_is_found_under_both() -> None:
    for method in ("ncm", "cbcl"):
        assert paper_number("table1", method=method, backbone="resnet50") == 84.62


def test_too_few_coordinates_are_an_error_that_names_the_missing_ones() -> None:
    with pytest.raises(LookupError, match=r"3 numbers of table2 have .*: also give dataset"):
        paper_number("table2", method="slda", backbone="resnet50")


def test_an_unknown_coordinate_is_rejected() -> None:
    with pytest.raises(TypeError, match="'methd' is not one of table, metric, method, "):
        paper_number("table2", methd="slda")
