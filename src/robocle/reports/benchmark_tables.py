"""The results of a benchmark as tables: grouped, averaged over orderings, beside the paper's.

The tables of taught against tested corruptions have the layout of the paper's tables 3 and 4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from robocle.errors import DataError
from robocle.evaluation.metrics import (
    METRICS,
    Difference,
    Paired,
    load_pictures,
    mean,
    paired_difference,
    right_predictions,
    room_aware_gain,
    standard_deviation,
)
from robocle.evaluation.paper import other_data, paper_number, printed_as
from robocle.evaluation.results import Record as Record
from robocle.evaluation.results import grouped as grouped
from robocle.reports.tables import Better, Cell, Row, Table

Methods = dict[str, list[Record]]
"""The records of each method."""
OTHER_DOMAIN = METRICS["average_other_domain"].title
"""The heading of the mean over the corruptions that were not taught."""
GAIN_OVER = "OD gain over"
"""The heading of the gain on that mean starts with this."""
OTHERS = "avg_od"
"""What the paper calls the test on the other corruptions."""
Gain = tuple[Record, Cell, str]
"""A record of a method, a gain of the method, and what the gain is on, if there are several."""
NEAREST = replace(METRICS["accuracy"], title="nearest label right")
"""The accuracy in the tables of known or unknown objects."""
ENOUGH_PICTURES, ENOUGH_ERRORS = 100, 10
"""A gain in percent of a method's errors needs so many test pictures, and so many errors in all."""
COUNTS = {
    "labels": "classes taught",
    "pictures_taught": "pictures taught",
    "pictures_tested": "pictures tested",
}
"""What a result counts, and the heading of its column."""
ORDERINGS = "orderings"
DIFFERENCES = "differences with 95 % interval"
DIFFERENCE_COLUMNS = ("difference, points", "95 % from", "to")


def by_study(records: Sequence[Record], *, together: bool = False) -> dict[str, list[Record]]:
    """Return the records by study, data set, scenario and, unless together, taught corruption.

    Only records that agree in all of these may be averaged. The name of a group is that of its
    study and whatever tells it from other groups of that study.
    """

    def facts(record: Record) -> tuple[str, ...]:
        trial = record["trial"]
        found = (record["study"], trial["dataset"], trial["scenario"], f"data {trial['data'][:8]}")
        return found if together else (*found, f"taught {trial['taught']}")

    groups = grouped(records, facts)
    return {_group_name(names, list(groups)): of_group for names, of_group in groups.items()}


def _group_name(names: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    study, *others = names
    of_study = [group[1:] for group in groups if group[0] == study]
    several = [len(set(column)) > 1 for column in zip(*of_study, strict=True)]
    shown = [name for name, differs in zip(others, several, strict=True) if differs]
    return ", ".join([study, *(name for name in shown if name not in study)])


def by_method(records: Iterable[Record]) -> Methods:
    """Return the records by method."""
    return grouped(records, lambda record: record["method"])


def by_backbone(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by backbone."""
    return grouped(records, lambda record: record["trial"]["backbone"])


def by_setting(
    records: Sequence[Record], *, together: bool = False
) -> Iterator[tuple[str, Methods]]:
    """Yield each study and backbone in words, and its records by method."""
    for study, of_study in by_study(records, together=together).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            yield f"{study}, {backbone}", by_method(of_backbone)


def mean_cell(values: Sequence[float | None], paper: float | None = None) -> Cell | None:
    """Return the mean and the deviation over orderings; None if no value is known."""
    known = [value for value in values if value is not None and value == value]
    if not known:
        return None
    return Cell(mean(known), standard_deviation(known) if len(known) > 1 else None, paper)


def metric_cell(records: Sequence[Record], name: str) -> Cell | None:
    """Return the mean of a metric over the orderings of a method."""
    printed = METRICS[name].paper
    paper = paper_value(records[0], printed) if printed else None
    return mean_cell([_first_value(record, name) for record in records], paper)


def tested_on(methods: Methods) -> str:
    """Return which test set numbers are from that use the first one only; "" if it is the only."""
    tests = list(next(iter(methods.values()))[0]["result"]["accuracy"])
    return f", tested on {tests[0]}" if len(tests) > 1 else ""


def caution_about(records: Iterable[Record]) -> str:
    """Return why the paper's numbers are from other data than these results, or ""."""
    for record in records:
        result, dataset = record["result"], record["paper"].get("dataset", "")
        if dataset and "pictures_tested" in result:
            return other_data(dataset, result["labels"], result["pictures_tested"])
    return ""


def has_enough_errors(records: Sequence[Record], accuracy: Cell) -> bool:
    """Return whether a percentage of a method's errors says more than a handful of pictures do."""
    result = records[0]["result"]
    if "pictures_tested" not in result:  # of an older version
        return True
    tests = len({name.split("/")[0] for name in result["accuracy"]})
    tested = result["pictures_tested"] / tests
    orderings = len({record["trial"]["seed"] for record in records})
    errors = (1 - accuracy.mean / 100) * tested * orderings
    return bool(tested >= ENOUGH_PICTURES and errors >= ENOUGH_ERRORS)


def _first_value(record: Record, name: str) -> float | None:
    """Return a metric of a trial; of one that each test has, that of the first test."""
    value: float | dict[str, float] | None = record["result"].get(name)
    return next(iter(value.values())) if isinstance(value, dict) else value


def gain_cell(
    baseline: Cell | None,
    achieved: Cell | None,
    of_baseline: Sequence[Record],
    printed: float | None = None,
) -> Cell | None:
    """Return the room-aware gain of the means; None if the baseline has too few errors.

    Args:
        baseline: The accuracy of the method that the gain is over.
        achieved: The accuracy of the method with the gain.
        of_baseline: The records of the method that the gain is over.
        printed: The gain that the paper prints. Without one, it is computed from the accuracies
            that the paper prints.
    """
    if baseline is None or achieved is None or not has_enough_errors(of_baseline, baseline):
        return None
    if printed is None and baseline.paper is not None and achieved.paper is not None:
        printed = room_aware_gain(baseline.paper, achieved.paper)
    return mean_cell([room_aware_gain(baseline.mean, achieved.mean)], printed)


def paper_value(record: Record, metric: str = "accuracy", **places: str) -> float | None:
    """Return the number that the paper prints for this result; None if it prints none.

    Args:
        record: The result, with its place in the paper.
        metric: The paper's name of the metric.
        places: Coordinates other than those of the result, such as backbone="avg".

    Raises:
        DataError: The place fits several numbers, or has an unknown coordinate.
    """
    trial = record["trial"]
    conditions = {"train": trial["taught"], "test": next(iter(trial["tested"]), "")}
    found = {"backbone": trial["backbone"], **conditions, **record["paper"], **places}
    found |= {name: printed_as(found[name]) for name in conditions}
    found.pop("reading", "")
    table = found.pop("table", "")
    tables = [table, "text"] if "method" in found else [table]
    try:
        numbers = [paper_number(each, metric=metric, **found) for each in tables if table]
    except (LookupError, TypeError) as error:
        raise DataError(
            f"the place of {record['method']!r} ({record['study']}) in the paper is wrong: {error}"
        ) from error
    return next((number for number in numbers if number is not None), None)


def printed_gain(record: Record, baseline: Record, **places: str) -> float | None:
    """Return the gain that the paper prints for a method over this baseline, if it does."""
    method = record["paper"].get("method", "")
    is_the_papers = method and method.removeprefix("robocle_") == baseline["paper"].get("method")
    return paper_value(record, "rarg", **places) if is_the_papers else None


def metric_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods down, all metrics that they have across."""
    for where, methods in by_setting(records):
        columns = {
            metric.heading: (partial(metric_cell, name=name), metric.better)
            for name, metric in METRICS.items()
            if metric.table == "metrics"
        }  # a stream that repeats labels has no transfer
        title = f"{where}: metrics{tested_on(methods)}"
        yield _table(title, methods, columns).without_empty_columns().sorted_by(0)


def _table(
    title: str,
    methods: Methods,
    columns: Mapping[str, tuple[Callable[[list[Record]], Cell | None], Better]],
) -> Table:
    """Return a table with one row per method; a column makes a cell of the method's records."""
    rows = (
        Row(method, tuple(cell(of_method) for cell, _ in columns.values()))
        for method, of_method in methods.items()
    )
    better = tuple(better for _, better in columns.values())
    caution = caution_about(each for of_method in methods.values() for each in of_method)
    return Table(title, tuple(columns), tuple(rows), better=better, caution=caution)


def unknown_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods down, open-set metrics across.

    The accuracy, for which the nearest label counts even if it is called unknown, is beside them.
    """
    metrics = {"accuracy": NEAREST}
    metrics |= {name: metric for name, metric in METRICS.items() if metric.table == "unknown"}
    for where, methods in by_setting(records):
        tests = ("", " elsewhere")[: len(next(iter(methods.values()))[0]["result"]["accuracy"])]
        columns = {
            replace(metric, title=metric.title + test).heading: (
                partial(_open_set_cell, name=name, elsewhere=bool(test)),
                metric.better,
            )
            for name, metric in metrics.items()
            for test in tests
        }
        yield _table(f"{where}: known or unknown", methods, columns).sorted_by(0)


def _open_set_cell(records: Sequence[Record], name: str, *, elsewhere: bool) -> Cell | None:
    """Return the value of the first test, or elsewhere the mean over all others."""

    def value(record: Record) -> float | None:
        first, *others = record["result"][name].values()
        found = [each for each in others if each is not None] if elsewhere else [first]
        return mean(found) if found and None not in found else None

    return mean_cell(list(map(value, records)))


def distance_table(record: Record) -> Table:
    """Return the Wasserstein distances of a record of moment distributions."""
    measured = record["result"]
    corruptions = tuple(measured["blocks"][0]["distances"])
    rows = tuple(
        Row(block["name"], tuple(Cell(block["relative_distances"][c]) for c in corruptions))
        for block in measured["blocks"]
    )
    title = f"{record['study']}, {record['trial']['backbone']}, {measured['pooling']}"
    title += f", {measured['pictures']} pictures"
    unit = "Wasserstein distance to clean, in standard deviations of clean"
    return Table(f"{title}: {unit}", corruptions, rows)


def matrix_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study, backbone and method: taught corruptions down, tested across.

    The last column is the gain of the method on the other domains, if it has one.
    """
    for where, methods in by_setting(records, together=True):
        for method, of_method in methods.items():
            over, tested = of_method[0]["over"], of_method[0]["trial"]["tested"]
            gain = (f"{GAIN_OVER} {over}, %",) if over in methods else ()
            rows = []
            for taught, of_taught, baseline in _by_taught(methods, of_method):
                cells = [_accuracy(of_taught, test) for test in (*tested, OTHERS)]
                if gain:
                    cells.append(_gain(baseline, of_taught, OTHERS))
                rows.append(Row(taught, tuple(cells)))
            title = f"{where}, {method}: taught down, tested across, accuracy, %"
            columns = (*tested, OTHER_DOMAIN, *gain)
            yield Table(title, columns, tuple(rows), caution=caution_about(of_method))


def matrix_gains(records: Sequence[Record]) -> Iterator[Gain]:
    """Yield the gains of each method and taught corruption: on other domains, then on clean."""
    for _, methods in by_setting(records, together=True):
        for of_method in methods.values():
            for _, of_taught, baseline in _by_taught(methods, of_method):
                for test, words in ((OTHERS, "other domains"), ("clean", "tested clean")):
                    if gain := _gain(baseline, of_taught, test):
                        yield of_taught[0], gain, words


def _by_taught(
    methods: Methods, of_method: Sequence[Record]
) -> Iterator[tuple[str, list[Record], list[Record]]]:
    """Yield each taught corruption with the records of a method and of the one its gain is over."""

    def taught(record: Record) -> str:
        return str(record["trial"]["taught"])

    baselines = grouped(methods.get(of_method[0]["over"], []), taught)
    for name, of_taught in grouped(of_method, taught).items():
        yield name, of_taught, baselines.get(name, [])


def _accuracy(records: Sequence[Record], test: str) -> Cell | None:
    """Return the accuracy under a corruption, or the mean under those that were not taught."""
    values = [_value(record["result"], test) for record in records]
    return mean_cell(values, paper_value(records[0], test=test))


def _value(result: dict[str, Any], test: str) -> float | None:
    found = (value for name, value in result["accuracy"].items() if name.split("/")[1] == test)
    return result["average_other_domain"] if test == OTHERS else next(found, None)


def _gain(baseline: Sequence[Record], achieved: Sequence[Record], test: str) -> Cell | None:
    if not baseline:
        return None
    printed = printed_gain(achieved[0], baseline[0], test=test)
    return gain_cell(_accuracy(baseline, test), _accuracy(achieved, test), baseline, printed)


def data_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table: studies down, the size of their data and the number of orderings across."""
    counted = [record for record in records if COUNTS.keys() <= record["result"].keys()]
    rows = tuple(
        Row(_with_data(study, of_study[0]), tuple(_data_cells(of_study)))
        for study, of_study in by_study(counted, together=True).items()
    )
    if rows:  # results of an older version count nothing
        yield Table("Data", (*COUNTS.values(), ORDERINGS), rows, decimals=0)


def orderings(records: Sequence[Record]) -> int:
    """Return how many orderings there are results of."""
    return len({record["trial"]["seed"] for record in records})


def _data_cells(records: Sequence[Record]) -> Iterator[Cell]:
    for name in COUNTS:
        yield Cell(mean([record["result"][name] for record in records]))
    yield Cell(orderings(records))


def _with_data(study: str, record: Record) -> str:
    """Return the study with its data set and scenario, where its name does not tell them."""
    parts = (record["trial"]["dataset"], record["trial"]["scenario"])
    untold = ", ".join(part for part in parts if part not in study)
    return f"{study} ({untold})" if untold else study


def difference_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: pairs of methods, their difference and its interval.

    The second method of a pair is the one that the gain is computed over, or the first of all.
    Results of older versions have no predictions, and so no differences.
    """
    for where, methods in by_setting(records):
        rows = []
        for method, of_method in methods.items():
            reference = _reference(methods, method)
            found = _difference(methods[reference], of_method) if reference != method else None
            if found:
                rows.append(Row(f"{method}, minus {reference}", tuple(map(Cell, found))))
        if rows:
            yield Table(
                f"{where}: {DIFFERENCES}{tested_on(methods)}", DIFFERENCE_COLUMNS, tuple(rows)
            )


def _reference(methods: Methods, method: str) -> str:
    over: str = methods[method][0]["over"]
    return over if over in methods else next(iter(methods))


def _difference(baseline: Sequence[Record], achieved: Sequence[Record]) -> Difference | None:
    """Return the difference over the orderings that both methods have; None if there are none."""
    of_seed = {record["trial"]["seed"]: record for record in baseline}
    pairs = (
        _paired(of_seed[record["trial"]["seed"]], record)
        for record in achieved
        if record["trial"]["seed"] in of_seed
    )
    orderings = [pair for pair in pairs if pair is not None]
    return paired_difference(orderings) if orderings else None


def _paired(baseline: Record, achieved: Record) -> Paired | None:
    """Return the predictions of both for the first test; None if it is not the same test."""
    one, two = (record["result"].get("measured") for record in (baseline, achieved))
    if one is None or two is None:
        return None
    test = next(iter(two["tests"]))
    name = test.partition("/")[0]
    pictures = load_pictures(two, name)
    if test not in one["tests"] or load_pictures(one, name).digest != pictures.digest:
        return None
    return Paired(pictures.places, right_predictions(one, test), right_predictions(two, test))
