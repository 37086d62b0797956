"""The accuracy tables of a benchmark report: backbones across, with their average.

They have the layout of the paper's tables 1, 2 and 5.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from robocle.evaluation.metrics import METRICS, mean
from robocle.evaluation.paper import paper_backbones
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

AVERAGE = "Avg"
"""The heading of the mean over the backbones."""
Column = tuple[tuple[str, ...], str]
"""The backbones that a column is over, and a test, "name/corruption"."""


def accuracy_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study: methods down, backbones and test sets across.

    The room-aware gain of a method is in the row below it. Several backbones have their average in
    the last column, and the feature size is in the first, if the experiment shows it.
    """
    for study, of_study in by_study(records).items():
        columns = _columns(of_study)
        rows = tuple(_accuracy_rows(by_method(of_study), columns))
        heads = tuple(_heading(column, columns) for column in columns)
        table = Table(f"{study}: accuracy, %", heads, rows)
        shown = "feature_size" in of_study[0]["shows"]
        yield _with_feature_sizes(table, by_method(of_study)) if shown else table


def average_gains(records: Sequence[Record]) -> Iterator[tuple[Record, Cell]]:
    """Yield the gain of each method that has one, on the average over the backbones of a study.

    Yields:
        A record of the method, and its gain.
    """
    for of_study in by_study(records).values():
        methods = by_method(of_study)
        average = _columns(of_study)[-1]
        for of_method in methods.values():
            gain = _gain(methods.get(of_method[0]["over"], []), of_method, average)
            if gain:
                yield of_method[0], gain


def _columns(records: Sequence[Record]) -> list[Column]:
    """Return a column per backbone and test, and one per test over all backbones, if several."""
    of_each = by_backbone(records)
    columns: list[Column] = [
        ((backbone,), test) for backbone, its in of_each.items() for test in _tests(its)
    ]
    return columns + [(tuple(of_each), test) for test in _tests(records) if len(of_each) > 1]


def _tests(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(test for each in records for test in each["result"]["accuracy"]))


def _heading(column: Column, columns: Sequence[Column]) -> str:
    """Return the backbone and as much of "name/corruption" as tells the columns apart."""
    backbones, test = column
    names, corruptions = zip(*(other.split("/") for _, other in columns), strict=True)
    name, corruption = test.split("/")
    shown = [name] if len(set(names)) > 1 else []
    shown += [corruption] if len(set(corruptions)) > 1 else []
    return f"{backbones[0] if len(backbones) == 1 else AVERAGE} {'/'.join(shown)}".strip()


def _accuracy_rows(methods: dict[str, list[Record]], columns: Sequence[Column]) -> Iterator[Row]:
    for method, of_method in methods.items():
        yield Row(method, tuple(_accuracy(of_method, column) for column in columns))
        over = of_method[0]["over"]
        if over in methods:
            gains = (_gain(methods[over], of_method, column) for column in columns)
            yield Row(f"gain over {over}", tuple(gains), "gain")


def _accuracy(records: Sequence[Record], column: Column) -> Cell | None:
    """Return the accuracy of a method; None unless it was run on all backbones of the column."""
    backbones, test = column
    of_each = by_backbone(records)
    if not set(backbones) <= set(of_each):
        return None
    by_seed = [_by_seed(of_each[backbone], test) for backbone in backbones]
    common = [seed for seed in by_seed[0] if all(seed in each for each in by_seed)]
    values = [mean([each[seed] for each in by_seed]) for seed in common]
    return mean_cell(values, _paper_accuracy(of_each, column))


def _by_seed(records: Sequence[Record], test: str) -> dict[int, float]:
    """Return the accuracy of each ordering; the mean, if it was run more than once."""
    return {
        seed: mean(values)
        for seed, of_seed in grouped(records, lambda record: record["trial"]["seed"]).items()
        if None not in (values := [each["result"]["accuracy"].get(test) for each in of_seed])
    }


def _paper_accuracy(of_each: dict[str, list[Record]], column: Column) -> float | None:
    """Return the paper's number over the same backbones, if this is its test set."""
    backbones, test = column
    firsts = [of_each[backbone][0] for backbone in backbones]
    name, corruption = test.split("/")
    if name != _tests(firsts)[0].split("/")[0]:
        return None
    if average := _paper_average(firsts[0], backbones):
        return paper_value(firsts[0], test=corruption, backbone=average)
    values = [paper_value(each, test=corruption) for each in firsts]
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def _paper_average(record: Record, backbones: Sequence[str]) -> str:
    """Return the paper's name for its average if it is over these backbones, "" otherwise."""
    same = set(backbones) == paper_backbones(record["paper"].get("table", ""))
    return "avg" if same and len(backbones) > 1 else ""


def _gain(baseline: Sequence[Record], achieved: Sequence[Record], column: Column) -> Cell | None:
    one, two = _accuracy(baseline, column), _accuracy(achieved, column)
    if one is None or two is None:
        return None
    backbones, test = column
    place = _paper_average(achieved[0], backbones) or "".join(backbones[:1])
    known = two.paper is not None and (len(backbones) == 1 or place == "avg")
    places = {"backbone": place, "test": test.split("/")[1]}
    printed = printed_gain(achieved[0], baseline[0], **places) if known else None
    return gain_cell(one, two, printed)


def _with_feature_sizes(table: Table, methods: dict[str, list[Record]]) -> Table:
    """Return the table with a first column: how many times wider than AVG's an embedding is."""
    cells = {method: _feature_size(of_method) for method, of_method in methods.items()}
    if not any(cells.values()):  # results of an older version
        return table
    rows = (replace(row, cells=(cells.get(row.name), *row.cells)) for row in table.rows)
    heading = METRICS["feature_size"].heading
    return replace(table, columns=(heading, *table.columns), rows=tuple(rows))


def _feature_size(records: Sequence[Record]) -> Cell | None:
    """Return the mean over the backbones, beside the paper's if these are among its own."""
    of_each = by_backbone(records)
    sizes = [its[0]["result"].get("feature_size") for its in of_each.values()]
    known = [size for size in sizes if size is not None]
    is_the_papers = set(of_each) <= paper_backbones(records[0]["paper"].get("table", ""))
    paper = paper_value(records[0], "size_multiplier", backbone="avg") if is_the_papers else None
    return Cell(mean(known), None, paper) if known else None
