"""Differences of methods on the same pictures and orderings, with their confidence intervals."""

from collections.abc import Iterator, Sequence

from robocle.evaluation.metrics import (
    Difference,
    Paired,
    load_pictures,
    paired_difference,
    right_predictions,
)
from robocle.reports.benchmark_tables import Methods, Record, by_setting, tested_on
from robocle.reports.tables import Cell, Row, Table

TITLE = "differences with 95 % interval"
COLUMNS = {
    "difference, points": "the accuracy minus that of the other method on the same orderings and "
    "pictures, in percentage points",
    "95 % from": "the 95 % confidence interval of the difference, by a bootstrap over orderings "
    "and pictures: if 0 is inside, either method may be the better one",
    "to": "the other end of that interval",
}
"""The columns of the tables of differences, and what they mean."""


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
            yield Table(f"{where}: {TITLE}{tested_on(methods)}", tuple(COLUMNS), tuple(rows))


def difference_terms(tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Yield what the columns of the tables of differences mean, if there are any."""
    if any(TITLE in table.title for table in tables):
        yield from COLUMNS.items()


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
