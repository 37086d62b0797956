"""How many test pictures the printed F-SIOL accuracies were computed from; docs/paper-and-code.md.

A mean over runs with equally many test pictures is a whole number of right predictions out of the
pictures of all runs. Printed with two decimals, most numbers do not fit a given total.
"""

import math
import tomllib
from pathlib import Path

import pytest

from robocle.evaluation import paper

PRINTED = tomllib.loads(Path(paper.__file__).with_name("paper_numbers.toml").read_text("utf-8"))
PICTURES, CLASSES = 620, 22
RUNS = {"fsiol_5": 3 * (PICTURES - 5 * CLASSES), "fsiol_10": 3 * (PICTURES - 10 * CLASSES)}
"""The test pictures of three runs."""


def fits(printed: float, total: int) -> bool:
    """Whether some whole number of right predictions out of a total is printed like this."""
    right = printed * total / 100
    nearby = (math.floor(right), math.ceil(right))
    return any(abs(100 * k / total - printed) <= 0.005 + 1e-9 for k in nearby)


def table2(dataset: str, is_ours: bool) -> list[float]:
    rows = PRINTED["table2"]["numbers"][dataset]["accuracy"]
    chosen = [row for name, row in rows.items() if name.startswith("robocle") == is_ours]
    return [number for row in chosen for number in row[:-1]]  # the last one is the average


def table4(dataset: str, method: str) -> list[float]:
    rows = PRINTED["table4"]["numbers"][dataset][method]
    return [number for row in rows.values() for number in row[:5]]


@pytest.mark.parametrize(("dataset", "total"), [("fsiol_5", 1530), ("fsiol_10", 1200)])
def test_every_baseline_of_table_2_fits_three_runs_and_no_smaller_total(
    dataset: str, total: int
) -> None:
    assert total == RUNS[dataset]
    baselines = table2(dataset, is_ours=False)
    assert len(baselines) == 63
    fitting = [n for n in range(50, 2 * total) if all(fits(number, n) for number in baselines)]
    assert fitting == [total]
    by_chance = sum(fits(number / 100, total) for number in range(10_001)) / 10_001
    assert by_chance < 0.16


def test_as_many_of_robocles_numbers_in_table_2_fit_as_by_chance() -> None:
    found = [fits(number, RUNS[name]) for name in RUNS for number in table2(name, is_ours=True)]
    assert (sum(found), len(found)) == (4, 28)


def test_table_4_fits_three_runs_but_for_two_numbers_of_robocle() -> None:
    slda = [fits(number, RUNS[name]) for name in RUNS for number in table4(name, "slda")]
    ours = [fits(number, RUNS[name]) for name in RUNS for number in table4(name, "robocle_slda")]
    assert (sum(slda), len(slda)) == (50, 50)
    assert (sum(ours), len(ours)) == (48, 50)


def test_the_number_of_robocle_in_table_2_is_not_that_of_table_4() -> None:
    """The same method, network, data and shots."""
    for name, printed in {"fsiol_5": (95.84, 95.82), "fsiol_10": (97.47, 97.58)}.items():
        resnet152 = PRINTED["table2"]["columns"]["backbone"].index("resnet152")
        found = PRINTED["table2"]["numbers"][name]["accuracy"]["robocle_slda"][resnet152]
        assert (found, table4(name, "robocle_slda")[0]) == printed
