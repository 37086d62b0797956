"""Paired differences of two methods: the right mean, and an interval that covers the true one."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark_results import record, written
from robocle.evaluation.metrics import (
    Costs,
    Difference,
    Measured,
    Paired,
    Pictures,
    paired_difference,
    stored,
)
from robocle.evaluation.teach_and_test import Evaluation
from robocle.reports.benchmark import build_report

COSTS = Costs(0.1, 0.1, 1.0, 0.1, 2, 100, 100.0, 1.0, 1.0)


def drawn(orderings: int, pictures: int, gain: float, seed: int) -> list[Paired]:
    """Two methods of which the second is right on a share of the other's errors."""
    rng = np.random.default_rng(seed)
    hard = rng.random(pictures)
    found = []
    for _ in range(orderings):
        places = np.sort(rng.permutation(pictures)[: pictures * 3 // 4])
        baseline = rng.random(len(places)) > hard[places]
        achieved = baseline | (rng.random(len(places)) < gain)
        found.append(Paired(places, baseline, achieved))
    return found


def test_the_mean_is_that_of_the_differences_of_the_orderings() -> None:
    orderings = drawn(3, 200, 0.1, seed=1)
    by_hand = [100 * (each.achieved.mean() - each.baseline.mean()) for each in orderings]
    found = paired_difference(orderings)
    assert found.mean == pytest.approx(np.mean(by_hand))
    assert found.low < found.mean < found.high


def test_equal_methods_have_no_difference_and_the_draws_are_keyed() -> None:
    same = [each._replace(achieved=each.baseline) for each in drawn(3, 100, 0.1, seed=2)]
    assert paired_difference(same) == Difference(0.0, 0.0, 0.0)
    orderings = drawn(3, 100, 0.2, seed=3)
    assert paired_difference(orderings) == paired_difference(orderings)


def written_out(orderings: list[Paired], replicates: int) -> NDArray[np.float64]:
    """The same bootstrap, with each picture and ordering drawn one by one."""
    rng = np.random.default_rng(0)
    pictures = np.unique(np.concatenate([each.places for each in orderings]))
    means = []
    for _ in range(replicates):
        times = np.bincount(rng.integers(0, len(pictures), len(pictures)), minlength=len(pictures))
        values = []
        for place in rng.integers(0, len(orderings), len(orderings)):
            each = orderings[place]
            weight = times[np.searchsorted(pictures, each.places)]
            gain = each.achieved.astype(float) - each.baseline
            values.append(100 * (weight * gain).sum() / weight.sum())
        means.append(np.mean(values))
    return np.asarray(np.percentile(means, [2.5, 97.5]))


@pytest.mark.slow
def test_the_interval_is_that_of_drawing_pictures_and_orderings_one_by_one() -> None:
    orderings = drawn(5, 400, 0.15, seed=5)
    found = paired_difference(orderings)
    low, high = written_out(orderings, 2000)
    assert found.low == pytest.approx(low, abs=0.5)
    assert found.high == pytest.approx(high, abs=0.5)


def measured(right: list[bool], digest: str = "d") -> dict[str, object]:
    truth = ("mug", "mug", "pen", "pen")
    other = {"mug": "pen", "pen": "mug"}
    pairs = zip(truth, right, strict=True)
    predicted = tuple(label if is_right else other[label] for label, is_right in pairs)
    whole = Measured({"test/clean": Evaluation(truth, predicted, 0.0)}, "test/clean", COSTS)
    return stored(whole, {"test": Pictures(digest, np.arange(4))})


def test_the_report_shows_the_difference_to_the_method_that_the_gain_is_over(
    tmp_path: Path,
) -> None:
    records = []
    for seed in range(3):
        for method, over, right in (
            ("NCM", "", [True, True, False, False]),
            ("SLDA", "NCM", [True, True, True, False]),
            ("CBCL", "", [False, True, False, False]),
        ):
            made = record(method, 0, seed, over=over, shows=["accuracy"])
            made["result"]["measured"] = measured(right)
            made["result"]["accuracy"] = {"test/clean": 50.0, "test/blur": 50.0}
            records.append(made)
    table = build_report(written(tmp_path / "some.jsonl", records)).tables[1]
    shows = "OpenLORIS-small, resnet152: differences with 95 % interval, tested on test/clean"
    assert table.title == shows
    rows = {row.name: [cell.mean for cell in row.cells if cell] for row in table.rows}
    assert rows.keys() == {"SLDA, minus NCM", "CBCL, minus NCM"}
    assert rows["CBCL, minus NCM"][0] == -25
    difference, low, high = rows["SLDA, minus NCM"]
    assert low <= difference == 25 <= high


def test_methods_that_were_tested_on_other_pictures_are_not_compared(tmp_path: Path) -> None:
    records = [record("NCM", 0, 0, shows=["accuracy"]), record("SLDA", 0, 0, shows=["accuracy"])]
    records[0]["result"]["measured"] = measured([True] * 4)
    records[1]["result"]["measured"] = measured([True] * 4, digest="others")
    assert len(build_report(written(tmp_path / "some.jsonl", records)).tables) == 1
