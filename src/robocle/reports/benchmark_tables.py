"""The tables of a benchmark report, from its results, with the paper's numbers beside ours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from robocle.evaluation.metrics import METRICS, Metric, mean, room_aware_gain, standard_deviation
from robocle.evaluation.paper import paper_number
from robocle.reports.tables import Cell, Row, Table

Record = dict[str, Any]
"""One line of a results file, see `robocle.evaluation.results`."""


def grouped(records: Iterable[Record], name: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Return the records by a name of theirs, in the order of appearance."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    return groups


def by_study(records: Sequence[Record], *, together: bool = False) -> dict[str, list[Record]]:
    """Return the records by study, data set, scenario and, unless together, taught corruption.

    Only records that agree in all of these may be averaged. The name of a group is that of its
    study and whatever tells it from the other groups.
    """

    def facts(record: Record) -> tuple[str, ...]:
        trial = record["trial"]
        found = (record["study"], trial["dataset"], trial["scenario"], trial["data"])
        return found if together else (*found, f"taught {trial['taught']}")

    groups = grouped(records, facts)
    differs = [len(set(column)) > 1 for column in zip(*groups, strict=True)]
    return {_group_name(names, differs): of_group for names, of_group in groups.items()}


def _group_name(names: Sequence[str], differs: Sequence[bool]) -> str:
    study, *others = names
    shown = [
        name
        for name, is_needed in zip(others, differs[1:], strict=True)
        if is_needed and name not in study
    ]
    return ", ".join([study, *shown])


def by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by method."""
    return grouped(records, lambda record: record["method"])


def by_backbone(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by backbone."""
    return grouped(records, lambda record: record["trial"]["backbone"])


def mean_cell(values: Sequence[float | None], paper: float | None = None) -> Cell | None:
    """Return the mean and the deviation over orderings; None if no value is known."""
    known = [value for value in values if value is not None and value == value]
    if not known:
        return None
    return Cell(mean(known), standard_deviation(known) if len(known) > 1 else None, paper)


def accuracy_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study: methods down, backbones and test sets across.

    The room-aware gain of a method is in the row below it.
    """
    for study, of_study in by_study(records).items():
        columns = [
            (backbone, test)
            for backbone, of_backbone in by_backbone(of_study).items()
            for test in dict.fromkeys(t for r in of_backbone for t in r["result"]["accuracy"])
        ]
        heads = [f"{backbone} {_test_name(test, columns)}".strip() for backbone, test in columns]
        rows = tuple(_accuracy_rows(by_method(of_study), columns))
        yield Table(f"{study}: accuracy, %", tuple(heads), rows)


def _accuracy_rows(
    methods: dict[str, list[Record]], columns: Sequence[tuple[str, str]]
) -> Iterator[Row]:
    accuracies = {
        method: tuple(_accuracy(of_method, *column) for column in columns)
        for method, of_method in methods.items()
    }
    for method, of_method in methods.items():
        yield Row(method, accuracies[method])
        over = of_method[0]["over"]
        if over in accuracies:
            gains = map(_gain, accuracies[over], accuracies[method])
            yield Row(f"gain over {over}", tuple(gains), "gain")


def _test_name(test: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return as much of "name/corruption" as tells the columns apart."""
    names, corruptions = zip(*(other.split("/") for _, other in columns), strict=True)
    name, corruption = test.split("/")
    shown = [name] if len(set(names)) > 1 else []
    return "/".join([*shown, corruption] if len(set(corruptions)) > 1 else shown)


def _accuracy(records: Sequence[Record], backbone: str, test: str) -> Cell | None:
    of_backbone = [r for r in records if r["trial"]["backbone"] == backbone]
    if not of_backbone:
        return None
    values = [record["result"]["accuracy"].get(test) for record in of_backbone]
    first = test == next(iter(of_backbone[0]["result"]["accuracy"]))
    return mean_cell(values, paper_value(of_backbone[0]) if first else None)


def _gain(baseline: Cell | None, achieved: Cell | None) -> Cell | None:
    """The room-aware gain of the means; None if the baseline has no errors."""
    if baseline is None or achieved is None:
        return None
    paper = None
    if baseline.paper is not None and achieved.paper is not None:
        paper = room_aware_gain(baseline.paper, achieved.paper)
    return mean_cell([room_aware_gain(baseline.mean, achieved.mean)], paper)


def paper_value(record: Record, **more: str) -> float | None:
    """Return the number that the paper prints for this result; None if it prints none."""
    paper = dict(record["paper"])
    if not paper:
        return None
    table = paper.pop("table")
    return paper_number(table, backbone=record["trial"]["backbone"], **paper, **more)


def metric_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods down, all metrics across."""
    columns = [name for name, metric in METRICS.items() if metric.table == "metrics"]
    headings = tuple(METRICS[name].heading for name in columns)
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            rows = tuple(
                Row(method, tuple(_metric_cell(of_method, name) for name in columns))
                for method, of_method in by_method(of_backbone).items()
            )
            yield Table(f"{study}, {backbone}: metrics", headings, rows)


def _metric_cell(records: Sequence[Record], name: str) -> Cell | None:
    printed = METRICS[name].paper
    paper = paper_value(records[0], metric=printed) if printed else None
    return mean_cell([first_value(record["result"], name) for record in records], paper)


def first_value(result: dict[str, Any], name: str) -> float | None:
    """Return a metric of a trial; of one that each test has, that of the first test."""
    value = result.get(name)
    return next(iter(value.values())) if isinstance(value, dict) else value


def unknown_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods down, open-set metrics across."""
    names = [name for name, metric in METRICS.items() if metric.table == "unknown"]
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            several = len(of_backbone[0]["result"][names[0]]) > 1
            columns = [(name, test) for name in names for test in ("", "elsewhere")[: 1 + several]]
            rows = tuple(
                Row(method, tuple(_open_set_cell(of_method, *column) for column in columns))
                for method, of_method in by_method(of_backbone).items()
            )
            headings = tuple(_with_test(METRICS[name], test).heading for name, test in columns)
            yield Table(f"{study}, {backbone}: known or unknown", headings, rows)


def _with_test(metric: Metric, test: str) -> Metric:
    return replace(metric, title=f"{metric.title} {test}".strip())


def _open_set_cell(records: Sequence[Record], name: str, test: str) -> Cell | None:
    """Return the value of the first test, or the mean over all others if `test` is "elsewhere"."""
    values: list[float | None] = []
    for record in records:
        first, *others = record["result"][name].values()
        found = [value for value in others if value is not None] if test else [first]
        values.append(mean(found) if found and None not in found else None)
    return mean_cell(values)


def distance_table(record: Record) -> Table:
    """Return the Wasserstein distances of a record of moment distributions."""
    measured = record["result"]
    corruptions = tuple(measured["blocks"][0]["distances"])
    rows = tuple(
        Row(block["name"], tuple(Cell(block["relative_distances"][c]) for c in corruptions))
        for block in measured["blocks"]
    )
    title = f"{record['study']}, {record['trial']['backbone']}, {measured['pooling']}"
    return Table(
        f"{title}: Wasserstein distance to clean, in standard deviations of clean",
        corruptions,
        rows,
    )


def matrix_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study, backbone and method: taught corruptions down, tested across."""
    for study, of_study in by_study(records, together=True).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            for method, of_method in by_method(of_backbone).items():
                by_taught = grouped(of_method, lambda r: r["trial"]["taught"])
                tested = of_method[0]["trial"]["tested"]
                rows = tuple(
                    Row(taught, tuple(_matrix_cells(of_taught, tested)))
                    for taught, of_taught in by_taught.items()
                )
                title = f"{study}, {backbone}, {method}: taught down, tested across, accuracy, %"
                yield Table(title, (*tested, METRICS["average_other_domain"].title), rows)


def _matrix_cells(records: Sequence[Record], tested: Sequence[str]) -> Iterator[Cell | None]:
    taught = records[0]["trial"]["taught"]
    for corruption in tested:
        values = [_of_corruption(record, corruption) for record in records]
        yield mean_cell(values, paper_value(records[0], train=taught, test=corruption))
    other = [record["result"]["average_other_domain"] for record in records]
    yield mean_cell(other, paper_value(records[0], train=taught, test="avg_od"))


def _of_corruption(record: Record, corruption: str) -> float | None:
    accuracy: dict[str, float] = record["result"]["accuracy"]
    return next((v for test, v in accuracy.items() if test.split("/")[1] == corruption), None)
