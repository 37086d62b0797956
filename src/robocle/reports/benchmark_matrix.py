"""The tables of taught against tested corruptions, as the paper's tables 3 and 4."""

from collections.abc import Iterator, Sequence

from robocle.evaluation.metrics import METRICS
from robocle.reports.benchmark_records import (
    Record,
    by_backbone,
    by_method,
    by_study,
    gain_cell,
    grouped,
    mean_cell,
    paper_value,
    printed_gain,
)
from robocle.reports.tables import Cell, Row, Table

OTHER_DOMAIN = METRICS["average_other_domain"].title
"""The heading of the mean over the corruptions that were not taught."""
GAIN_OVER = "OD gain over"
"""The heading of the gain on that mean starts with this."""
MatrixGain = tuple[Record, Cell, str]
"""A record of a method, a gain of the method, and what the gain is on."""


def matrix_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study, backbone and method: taught corruptions down, tested across.

    The last column is the gain of the method on the other domains, if it has one.
    """
    for study, of_study in by_study(records, together=True).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            methods = by_method(of_backbone)
            for method, of_method in methods.items():
                over = of_method[0]["over"]
                baseline = methods.get(over, [])
                tested = of_method[0]["trial"]["tested"]
                columns = (*tested, OTHER_DOMAIN, *([f"{GAIN_OVER} {over}, %"] if baseline else []))
                title = f"{study}, {backbone}, {method}: taught down, tested across, accuracy, %"
                yield Table(title, columns, tuple(_rows(of_method, baseline, tested)))


def matrix_gains(records: Sequence[Record]) -> Iterator[MatrixGain]:
    """Yield the gains of each method and taught corruption: on other domains, then on clean."""
    for of_study in by_study(records, together=True).values():
        for of_backbone in by_backbone(of_study).values():
            methods = by_method(of_backbone)
            for of_method in methods.values():
                baselines = _by_taught(methods.get(of_method[0]["over"], []))
                for taught, of_taught in _by_taught(of_method).items():
                    baseline = baselines.get(taught, [])
                    if gain := _other_domain_gain(baseline, of_taught):
                        yield of_taught[0], gain, "other domains"
                    if gain := _gain_on(baseline, of_taught, "clean"):
                        yield of_taught[0], gain, "tested clean"


def _by_taught(records: Sequence[Record]) -> dict[str, list[Record]]:
    return grouped(records, lambda record: record["trial"]["taught"])


def _rows(
    records: Sequence[Record], baseline: Sequence[Record], tested: Sequence[str]
) -> Iterator[Row]:
    baselines = _by_taught(baseline)
    for taught, of_taught in _by_taught(records).items():
        cells = [*(_tested(of_taught, each) for each in tested), _other_domain(of_taught)]
        if baseline:
            cells.append(_other_domain_gain(baselines.get(taught, []), of_taught))
        yield Row(taught, tuple(cells))


def _tested(records: Sequence[Record], corruption: str) -> Cell | None:
    if not records:
        return None
    values = [_of_corruption(record, corruption) for record in records]
    return mean_cell(values, paper_value(records[0], test=corruption))


def _of_corruption(record: Record, corruption: str) -> float | None:
    accuracy: dict[str, float] = record["result"]["accuracy"]
    return next((v for test, v in accuracy.items() if test.split("/")[1] == corruption), None)


def _other_domain(records: Sequence[Record]) -> Cell | None:
    if not records:
        return None
    values = [record["result"]["average_other_domain"] for record in records]
    return mean_cell(values, paper_value(records[0], test="avg_od"))


def _other_domain_gain(baseline: Sequence[Record], achieved: Sequence[Record]) -> Cell | None:
    printed = printed_gain(achieved[0], baseline[0], test="avg_od") if baseline else None
    return gain_cell(_other_domain(baseline), _other_domain(achieved), printed)


def _gain_on(
    baseline: Sequence[Record], achieved: Sequence[Record], corruption: str
) -> Cell | None:
    return gain_cell(_tested(baseline, corruption), _tested(achieved, corruption))
