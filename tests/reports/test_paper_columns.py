"""The derived columns of the paper's tables in a report, against plain computations."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_results import record, written
from robocle.errors import DataError
from robocle.evaluation.experiment import Method
from robocle.evaluation.experiment_file import load_experiment
from robocle.evaluation.paper import PAPER_TABLES, paper_number, paper_numbers
from robocle.reports.benchmark import Report, build_report
from robocle.reports.tables import Cell, Table

RNG = np.random.default_rng(0)
SMALL = {"table": "table2", "dataset": "openloris_small"}
OF_TABLE_2 = ("resnet50", "resnet101", "resnet152", "vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32")


def rarg(one: float, two: float) -> float:
    return 100 * (two - one) / (100 - one)


def result(method: str, backbone: str, seed: int, **values: Any) -> dict[str, Any]:
    """A result of NCM, or of RobOCLe NCM over it, with some values and without plots."""
    names = {"NCM": "ncm", "RobOCLe NCM": "robocle_ncm"}
    over = "NCM" if method != "NCM" else ""
    made = record(method, 0.0, seed, key=f"{method} {backbone} {seed}", over=over)
    made["shows"] = ["accuracy", "metrics"]
    made["paper"] = {**SMALL, "method": names[method]}
    made["trial"] |= {"backbone": backbone}
    made["result"] |= values
    return made


def table_of(report: Report, title: str) -> Table:
    (table,) = [each for each in report.tables if title in each.title]
    return table


def cell(table: Table, row: str, column: str) -> Cell:
    (found,) = [each for each in table.rows if each.name == row]
    value = found.cells[table.columns.index(column)]
    assert value is not None
    return value


# ---- tables 1, 2 and 5: the average over the backbones, its gain, and the feature size


def results_on(backbones: tuple[str, ...], path: Path) -> tuple[Report, dict[str, Any]]:
    """Random accuracies of two methods with three orderings each: (backbone, ordering)."""
    drawn = {name: RNG.uniform(40, 60, (len(backbones), 3)) for name in ("NCM", "RobOCLe NCM")}
    records = [
        result(name, backbone, seed, accuracy={"test/clean": float(values[place, seed])})
        for name, values in drawn.items()
        for (place, backbone), seed in product(enumerate(backbones), range(3))
    ]
    return build_report(written(path / "some.jsonl", records)), drawn


def test_the_average_over_backbones_varies_with_the_orderings_only(tmp_path: Path) -> None:
    report, drawn = results_on(("resnet50", "vit_b_16"), tmp_path)
    found = cell(report.tables[0], "NCM", "Avg")
    assert found.mean == pytest.approx(drawn["NCM"].mean())
    assert found.deviation == pytest.approx(drawn["NCM"].mean(axis=0).std(ddof=1))


def test_the_gain_of_the_average_is_that_of_the_two_averages(tmp_path: Path) -> None:
    report, drawn = results_on(("resnet50", "vit_b_16"), tmp_path)
    found = cell(report.tables[0], "gain over NCM", "Avg")
    assert found.mean == pytest.approx(rarg(drawn["NCM"].mean(), drawn["RobOCLe NCM"].mean()))
    ours, theirs = (55.67 + 36.39) / 2, (50.59 + 34.58) / 2
    assert found.paper == pytest.approx(rarg(theirs, ours))


def test_the_papers_average_is_over_the_same_backbones(tmp_path: Path) -> None:
    some, _ = results_on(("resnet50", "vit_b_16"), tmp_path)
    assert cell(some.tables[0], "NCM", "Avg").paper == pytest.approx((50.59 + 34.58) / 2)
    every, _ = results_on(OF_TABLE_2, tmp_path)
    assert cell(every.tables[0], "NCM", "Avg").paper == 41.17
    assert cell(every.tables[0], "gain over NCM", "Avg").paper == 5.5
    others, _ = results_on(("resnet50", "efficientnet_lite0"), tmp_path)
    assert cell(others.tables[0], "NCM", "Avg").paper is None


def test_an_ordering_that_was_run_twice_counts_once(tmp_path: Path) -> None:
    runs = [("a", 0, 50.0), ("b", 0, 60.0), ("c", 1, 70.0)]
    records = [
        result("NCM", backbone, seed, accuracy={"test/clean": value}) | {"key": key + backbone}
        for (key, seed, value), backbone in product(runs, ("resnet50", "vit_b_16"))
    ]
    report = build_report(written(tmp_path / "again.jsonl", records))
    (row,) = report.tables[0].rows
    assert [each.mean for each in row.cells if each] == [65.0, 65.0, 65.0]  # the newer of the two
    assert report.notes[0].startswith("2 older results are not shown")


def test_a_method_without_one_of_the_backbones_has_no_average(tmp_path: Path) -> None:
    records = [result("NCM", "resnet50", 0), result("NCM", "vit_b_16", 0)]
    records += [result("RobOCLe NCM", "vit_b_16", 0)]
    table = build_report(written(tmp_path / "some.jsonl", records)).tables[0]
    assert [row.cells[-1] is None for row in table.rows] == [False, True, True]


@pytest.mark.parametrize(("other", "paper"), [("vit_b_16", 2.8), ("efficientnet_lite0", None)])
def test_a_feature_size_is_averaged_over_the_backbones(
    other: str, paper: float | None, tmp_path: Path
) -> None:
    """It is beside the paper's number if the paper has these backbones."""
    records = [
        result("NCM", backbone, seed, feature_size=size)
        for (backbone, size), seed in product((("resnet50", 1.0), (other, 2.0)), range(2))
    ]
    for each in records:
        each |= {"shows": ["accuracy", "feature_size"]}
        each["paper"] = {"table": "table5", "dataset": "openloris_small", "pooling": "rap1"}
    (table,) = build_report(written(tmp_path / "some.jsonl", records)).tables
    assert table.columns == ("feature size, x AVG", "resnet50", other, "Avg")
    assert cell(table, "NCM", "feature size, x AVG") == Cell(1.5, None, paper)


def test_results_of_an_older_version_have_no_feature_size(tmp_path: Path) -> None:
    records = [record("NCM", 50, 0, shows=["accuracy", "feature_size"])]
    (table,) = build_report(written(tmp_path / "old.jsonl", records)).tables
    assert table.columns == ("resnet152",)


# ---- table 6: relative gain, gain per step, change of FPS


def test_gains_over_another_method_are_beside_the_papers(tmp_path: Path) -> None:
    accuracies, speeds = RNG.uniform(40, 60, (2, 3)), RNG.uniform(0.9, 1, (2, 3))
    steps = RNG.uniform(0, 100, (2, 3, 5))
    records = [
        result(
            method,
            "resnet152",
            seed,
            accuracy={"test/clean": float(accuracies[place, seed])},
            relative_speed=float(speeds[place, seed]),
            per_step=steps[place, seed].tolist(),
        )
        for (place, method), seed in product(enumerate(("NCM", "RobOCLe NCM")), range(3))
    ]
    for each in records:
        each["paper"] |= {"table": "table6"}
    table = table_of(build_report(written(tmp_path / "some.jsonl", records)), "gains")
    (row,) = table.rows
    assert row.name == "RobOCLe NCM, over NCM"
    gain, per_step, speed = row.cells
    assert gain
    assert per_step
    assert speed
    assert gain.mean == pytest.approx(rarg(*accuracies.mean(axis=1)))
    of_orderings = (steps[1] - steps[0]).mean(axis=1)
    assert per_step.mean == pytest.approx(of_orderings.mean())
    assert per_step.deviation == pytest.approx(of_orderings.std(ddof=1))
    changes = 100 * (speeds[1] - speeds[0]) / speeds[0]
    assert speed.mean == pytest.approx(changes.mean())
    assert speed.deviation == pytest.approx(changes.std(ddof=1))
    assert (gain.paper, per_step.paper, speed.paper) == (13.8, 5.81, -0.36)


def test_the_gain_per_step_pairs_the_orderings(tmp_path: Path) -> None:
    records = [
        result("NCM", "resnet152", 0, per_step=[50.0, 40.0]),
        result("NCM", "resnet152", 1, per_step=[90.0]),  # a label was skipped
        result("RobOCLe NCM", "resnet152", 1, per_step=[95.0, 80.0]),
        result("RobOCLe NCM", "resnet152", 0, per_step=[53.0, 41.0]),
        result("RobOCLe NCM", "resnet152", 2, per_step=[0.0, 0.0]),
    ]
    table = table_of(build_report(written(tmp_path / "some.jsonl", records)), "gains")
    assert cell(table, "RobOCLe NCM, over NCM", "gain per step, points").mean == 2.0


def test_metrics_that_no_method_has_get_no_column(tmp_path: Path) -> None:
    made = result("NCM", "resnet152", 0)
    for name in ("backward_transfer", "forgetting", "plasticity", "paper_bwt", "paper_forg"):
        made["result"][name] = None
    table = table_of(build_report(written(tmp_path / "some.jsonl", [made])), "metrics")
    assert not [column for column in table.columns if "transfer" in column or "BwT" in column]
    assert all(each is not None for each in table.rows[0].cells)


# ---- the paper's own numbers as results: a report derives what the paper prints


def spelt_otherwise(method: Method) -> bool:
    """Whether another row of the table has the same numbers."""
    return method.name in ("SQDA, shared=0", "L2, as printed", "L3, as printed")


def papers_results(table: str) -> Iterator[dict[str, Any]]:
    """The paper's accuracies, as if an experiment had measured them."""
    experiment = load_experiment(table)
    shows = [show for show in experiment.shows if show != "cost"]  # plots take long
    for study, method in product(experiment.studies, experiment.methods):
        is_usual = "standardised" not in method.pooling and not study.reading
        if not (method.paper and is_usual) or spelt_otherwise(method):
            continue
        place = {**study.paper, **method.paper}
        for backbone, train in product(study.backbones, study.taught):
            about = {"backbone": backbone, "train": train, **place}
            values = {test: paper_number(table, test=test, **about) for test in study.tested}
            if None in values.values():
                continue
            made = record(method.name, 0, 0, key=f"{study.name} {method.name} {about}")
            made |= {"study": study.name, "over": method.over, "shows": shows}
            made["paper"] = {"table": table, **place}
            made["trial"] |= {"backbone": backbone, "taught": train, "tested": list(study.tested)}
            made["trial"] |= {"pooling": method.pooling, "scenario": study.scenario}
            others = [value for test, value in values.items() if value and test != train]
            made["result"] |= {
                "accuracy": {f"test/{test}": value for test, value in values.items()},
                "average_other_domain": np.mean(others) if others else None,
                "feature_size": 1.0,
            }
            yield made


@pytest.fixture(scope="module")
def report_of_the_paper(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """Returns the report of the paper's own accuracies in one table, which takes long to build."""
    folder = tmp_path_factory.mktemp("paper")

    @cache
    def report(table: str) -> Report:
        return build_report(written(folder / f"{table}.jsonl", [*papers_results(table)]))

    return report


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_TABLES[:5])
def test_derived_columns_are_as_printed(
    name: str, report_of_the_paper: Callable[[str], Report]
) -> None:
    checked = 0
    terms = dict(report_of_the_paper(name).terms)
    for table in report_of_the_paper(name).tables:
        averages = {"Avg", "measured", "paper's tables", "paper's text"}
        assert averages & set(table.columns) <= set(terms)
        for row, (place, column) in product(table.rows, enumerate(table.columns)):
            found = row.cells[place]
            is_gain = row.kind == "gain" or column.startswith("OD gain over")
            if found is None or found.paper is None or not (is_gain or column.startswith("Avg")):
                continue
            rounding = 0.011
            if is_gain:  # computed from accuracies that are rounded themselves
                over = row.name.removeprefix("gain over ")
                room = 100 - cell(table, over, column).mean if row.kind == "gain" else 25
                rounding = 0.05 + 1.0 / room
            if found.paper != 16.0:  # printed as (+16.), with a digit lost
                assert found.mean == pytest.approx(found.paper, abs=rounding), (row.name, column)
            checked += 1
    assert checked >= 12


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_TABLES)
def test_every_number_of_a_table_has_its_place_in_the_report(
    name: str, report_of_the_paper: Callable[[str], Report]
) -> None:
    """No column of the paper's table is missing: accuracies, averages, gains, sizes and speeds."""
    tables = report_of_the_paper(name).tables
    cells = [each for table in tables for row in table.rows for each in row.cells if each]
    shown = Counter(each.paper for each in cells if each.paper is not None)
    printed = Counter(number.value for number in paper_numbers() if number.table == name)
    assert printed - shown == Counter()


def overall(report: Report, title: str) -> dict[str, list[float]]:
    rows = table_of(report, title).rows
    return {row.name: [each.mean for each in row.cells if each] for row in rows}


@pytest.mark.slow
def test_the_mean_gain_on_other_domain_data_is_the_one_that_the_paper_claims(
    report_of_the_paper: Callable[[str], Report],
) -> None:
    report = report_of_the_paper("table2")
    (found,) = overall(report, "Mean gain on other-domain data").items()
    assert found[0] == "RobOCLe, root: mean of 6 gains"
    printed = np.mean([5.5, 1.8, 21.7, 19.5, 32.6, 17.5])
    assert found[1] == pytest.approx([printed, printed, 16.4], abs=0.05)
    assert found[1][1] == pytest.approx(printed)


@pytest.mark.slow
def test_the_mean_gain_on_corrupted_pictures_is_not_the_one_that_the_paper_claims(
    tmp_path: Path,
) -> None:
    records = [*papers_results("table3"), *papers_results("table4")]
    for number, each in enumerate(records):
        each["order"] = number
    report = build_report(written(tmp_path / "paper.jsonl", records))
    rows = overall(report, "Mean gain on corrupted pictures")
    name = "RobOCLe, root"
    assert len(rows) == 2
    others, clean = (
        rows[f"{name}, other domains: mean of 35 gains"],
        rows[f"{name}, tested clean: mean of 35 gains"],
    )
    assert others == pytest.approx([5.0, 5.0, 18.3], abs=0.05)
    assert clean == pytest.approx([18.24, 18.24, 18.3], abs=0.01)


@pytest.mark.slow
def test_on_other_backbones_there_is_no_mean_of_the_papers_gains(tmp_path: Path) -> None:
    records = [*papers_results("table4")]
    for each in records:
        each["trial"] |= {"backbone": "efficientnet_lite0"}
    report = build_report(written(tmp_path / "other.jsonl", records))
    assert table_of(report, "Mean gain on corrupted pictures").columns == ("measured",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "title"),
    [
        (("table4",), "Mean gain on corrupted pictures"),  # without table 3
        (("table2",), "Mean gain on other-domain data"),
    ],
)
def test_a_claim_of_the_text_is_only_beside_a_mean_over_all_gains_on_the_papers_data(
    tables: tuple[str, ...], title: str, tmp_path: Path
) -> None:
    records = [each for name in tables for each in papers_results(name)]
    for each in records:  # 22 classes are F-SIOL's, not those of OpenLORIS
        each["result"] |= {"labels": 22, "pictures_taught": 110, "pictures_tested": 510}
    table = table_of(build_report(written(tmp_path / "some.jsonl", records)), title)
    assert table.columns == ("measured", "paper's tables")


# ---- what cannot be looked up


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda paper: paper.pop("dataset"), "3 numbers of table2 have .*: also give dataset"),
        (lambda paper: paper.update(methd="x"), "'methd' is not one of table, metric, method"),
    ],
)
def test_a_place_that_fits_no_one_number_is_an_error_of_one_line(
    change: Callable[[dict[str, str]], object], complaint: str, tmp_path: Path
) -> None:
    made = result("NCM", "resnet50", 0)
    change(made["paper"])
    with pytest.raises(DataError, match=complaint) as caught:
        build_report(written(tmp_path / "some.jsonl", [made]))
    assert str(caught.value).startswith("the place of 'NCM' (OpenLORIS-small) in the paper")
    assert "\n" not in str(caught.value)
