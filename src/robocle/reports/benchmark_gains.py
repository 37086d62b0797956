"""Accuracies and gains of a benchmark: backbones across, methods and what they gain down.

The tables of accuracies have the layout of the paper's tables 1, 2 and 5, with their average over
the backbones; those of gains stand beside the paper's table 6. The means over all gains are those
that the paper claims in its introduction.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from robocle.evaluation.metrics import METRICS, mean, mean_step_gain
from robocle.evaluation.paper import paper_backbones, paper_number, paper_numbers
from robocle.reports.benchmark_tables import (
    Gain,
    Methods,
    Record,
    by_backbone,
    by_method,
    by_setting,
    by_study,
    caution_about,
    gain_cell,
    grouped,
    matrix_gains,
    mean_cell,
    metric_cell,
    paper_value,
    printed_gain,
    tested_on,
)
from robocle.reports.tables import Better, Cell, Row, Table
from robocle.spec import parse_spec

AVERAGE = "Avg"
"""The heading of the mean over the backbones."""
Column = tuple[tuple[str, ...], str]
"""The backbones that a column is over, and a test, "name/corruption"."""
GAINS = ("gain, %", "gain per step, points", "FPS change, %")
"""The columns of the table of gains."""
OVERALL = ("measured", "paper's tables", "paper's text")
"""The columns of the tables of overall gains."""
FORMS = {"root": "root", "standardised": "as printed"}
"""The forms of `moments`, as the experiments of the paper's tables name them."""


def accuracy_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study: methods down, backbones and test sets across.

    The room-aware gain of a method is in the row below it. Several backbones have their average in
    the last column, and the feature size is in the first, if the experiment shows it.
    """
    for study, of_study in by_study(records).items():
        columns = _columns(of_study)
        rows = tuple(_accuracy_rows(by_method(of_study), columns))
        heads = tuple(_heading(column, columns) for column in columns)
        better: tuple[Better, ...] = tuple("high" for _ in columns)
        caution = caution_about(of_study)
        table = Table(f"{study}: accuracy, %", heads, rows, better=better, caution=caution)
        table = table.sorted_by(next((i for i, c in enumerate(columns) if len(c[0]) > 1), 0))
        if "feature_size" in of_study[0]["shows"]:  # results of an older version have none
            table = _with_feature_sizes(table, by_method(of_study)).without_empty_columns()
        yield table


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


def _accuracy_rows(methods: Methods, columns: Sequence[Column]) -> Iterator[Row]:
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
    """Return the accuracy of each ordering."""
    return {
        record["trial"]["seed"]: value
        for record in records
        if (value := record["result"]["accuracy"].get(test)) is not None
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
    place = backbones[0] if len(backbones) == 1 else _paper_average(achieved[0], backbones)
    if two.paper is None or not place:
        return gain_cell(one, two, baseline)
    places = {"backbone": place, "test": test.split("/")[1]}
    return gain_cell(one, two, baseline, printed_gain(achieved[0], baseline[0], **places))


def _with_feature_sizes(table: Table, methods: Methods) -> Table:
    """Return the table with a first column: how many times wider than AVG's an embedding is."""
    cells = {method: _feature_size(of_method) for method, of_method in methods.items()}
    rows = (replace(row, cells=(cells.get(row.name), *row.cells)) for row in table.rows)
    heading = METRICS["feature_size"].heading
    return replace(
        table, columns=(heading, *table.columns), rows=tuple(rows), better=("", *table.better)
    )


def _feature_size(records: Sequence[Record]) -> Cell | None:
    """Return the mean over the backbones, beside the paper's if these are among its own."""
    of_each = by_backbone(records)
    sizes = [its[0]["result"].get("feature_size") for its in of_each.values()]
    known = [size for size in sizes if size is not None]
    is_the_papers = set(of_each) <= paper_backbones(records[0]["paper"].get("table", ""))
    paper = paper_value(records[0], "size_multiplier", backbone="avg") if is_the_papers else None
    return Cell(mean(known), None, paper) if known else None


def gain_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods with a gain down, kinds of gain across."""
    for where, methods in by_setting(records):
        rows = tuple(
            Row(f"{method}, over {over}", tuple(_gains(methods[over], of_method)))
            for method, of_method in methods.items()
            if (over := of_method[0]["over"]) in methods
        )
        if rows:
            every = (each for of_method in methods.values() for each in of_method)
            title = f"{where}: gains{tested_on(methods)}"
            table = Table(
                title, GAINS, rows, better=("high", "high", ""), caution=caution_about(every)
            )
            yield table.sorted_by(0)


def _gains(baseline: Sequence[Record], achieved: Sequence[Record]) -> Iterator[Cell | None]:
    """Yield the three kinds of gain; the last two pair the orderings that both were run on."""
    steps = _paired(baseline, achieved, "per_step")
    speeds = _paired(baseline, achieved, "relative_speed")
    per_step = [mean_step_gain(one, two) for one, two in steps if len(one) == len(two)]
    changes = [100 * (fast / slow - 1) for slow, fast in speeds]
    accuracies = metric_cell(baseline, "accuracy"), metric_cell(achieved, "accuracy")
    yield gain_cell(*accuracies, baseline, printed_gain(achieved[0], baseline[0]))
    yield mean_cell(per_step, paper_value(achieved[0], "per_step_gain"))
    yield mean_cell(changes, paper_value(achieved[0], "fps_change"))


def _paired(
    baseline: Sequence[Record], achieved: Sequence[Record], name: str
) -> Iterator[tuple[Any, Any]]:
    """Yield a metric of two methods for each ordering that both were run on."""
    before = {each["trial"]["seed"]: each["result"].get(name) for each in baseline}
    for each in achieved:
        one, two = before.get(each["trial"]["seed"]), each["result"].get(name)
        if one and two:
            yield one, two


def overall_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield the mean of all gains in tables 2, 3 and 4 of the paper, beside what it claims.

    The claims are beside a mean over all the gains that the paper prints, on the paper's data.
    """
    of_paper = [record for record in records if record["paper"].get("method")]
    tables = grouped(of_paper, lambda record: record["paper"].get("table"))
    if few_shots := tables.get("table2"):
        claim = paper_number("text", metric="rarg", dataset="avg", train="clean")
        yield from _overall(
            "Mean gain on other-domain data",
            _average_gains(few_shots),
            claim,
            _printed_gains(("table2",), backbone="avg"),
        )
    if corrupted := [*tables.get("table3", []), *tables.get("table4", [])]:
        claim = paper_number("text", metric="rarg", dataset="avg", test="avg_od")
        yield from _overall(
            "Mean gain on corrupted pictures",
            matrix_gains(corrupted),
            claim,
            _printed_gains(("table3", "table4"), test="avg_od"),
        )


def _printed_gains(tables: Collection[str], **place: str) -> int:
    """Return how many gains the paper prints in some tables at a place."""
    return sum(
        number.table in tables
        and number.metric == "rarg"
        and all(getattr(number, name) == value for name, value in place.items())
        for number in paper_numbers()
    )


def _average_gains(records: Sequence[Record]) -> Iterator[Gain]:
    """Yield the gain of each method that has one, on the average over the backbones of a study."""
    for of_study in by_study(records).values():
        methods = by_method(of_study)
        average = _columns(of_study)[-1]
        for of_method in methods.values():
            if gain := _gain(methods.get(of_method[0]["over"], []), of_method, average):
                yield of_method[0], gain, ""


def _overall(
    title: str, gains: Iterable[Gain], claim: float | None, printed: int
) -> Iterator[Table]:
    kinds: dict[str, list[Cell]] = {}
    others: set[str] = set()
    for record, gain, kind in gains:
        if record["paper"].get("method", "").startswith("robocle"):
            names = (f"RobOCLe, {_form(record)}", record["paper"].get("reading", ""), kind)
            name = ", ".join(filter(None, names))
            kinds.setdefault(name, []).append(gain)
            if caution_about([record]):
                others.add(name)
    rows = tuple(
        Row(
            f"{name}: mean of {len(cells)} gains",
            _overall_cells(cells, claim if len(cells) == printed and name not in others else None),
        )
        for name, cells in kinds.items()
    )
    if rows:  # the paper's tables have no gains on other backbones
        yield Table(f"{title}, %", OVERALL, rows).without_empty_columns()


def _form(record: Record) -> str:
    """Return which reading of the paper's moments a method uses."""
    pooling: str = record["trial"]["pooling"]
    return FORMS.get(str(parse_spec(pooling).options.get("form")), pooling)


def _overall_cells(gains: Sequence[Cell], claim: float | None) -> tuple[Cell | None, ...]:
    printed = [gain.paper for gain in gains if gain.paper is not None]
    of_paper = Cell(mean(printed)) if len(printed) == len(gains) else None
    claimed = Cell(claim) if claim and of_paper else None
    return Cell(mean([gain.mean for gain in gains])), of_paper, claimed
