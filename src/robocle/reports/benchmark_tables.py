"""Further tables of a benchmark report: all metrics, known or unknown, moment distances."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from robocle.evaluation.metrics import METRICS, Metric, mean
from robocle.reports.benchmark_records import (
    Record,
    by_backbone,
    by_method,
    by_study,
    first_value,
    mean_cell,
    paper_value,
)
from robocle.reports.tables import Cell, Row, Table


def metric_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods down, all metrics that they have across."""
    names = [name for name, metric in METRICS.items() if metric.table == "metrics"]
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            columns = [name for name in names if _is_known(name, of_backbone)]
            headings = tuple(METRICS[name].heading for name in columns)
            rows = tuple(
                Row(method, tuple(_metric_cell(of_method, name) for name in columns))
                for method, of_method in by_method(of_backbone).items()
            )
            yield Table(f"{study}, {backbone}: metrics", headings, rows)


def _is_known(name: str, records: Sequence[Record]) -> bool:
    """Whether any record has the metric: a stream that repeats labels has no transfer."""
    return any(first_value(record["result"], name) is not None for record in records)


def _metric_cell(records: Sequence[Record], name: str) -> Cell | None:
    printed = METRICS[name].paper
    paper = paper_value(records[0], printed) if printed else None
    return mean_cell([first_value(record["result"], name) for record in records], paper)


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
