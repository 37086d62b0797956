"""The records of a benchmark report: grouped, averaged, and compared with the paper."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from robocle.errors import DataError
from robocle.evaluation.metrics import mean, room_aware_gain, standard_deviation
from robocle.evaluation.paper import paper_number
from robocle.reports.tables import Cell

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
    study and whatever tells it from other groups of that study.
    """

    def facts(record: Record) -> tuple[str, ...]:
        trial = record["trial"]
        found = (record["study"], trial["dataset"], trial["scenario"], trial["data"])
        return found if together else (*found, f"taught {trial['taught']}")

    groups = grouped(records, facts)
    return {_group_name(names, list(groups)): of_group for names, of_group in groups.items()}


def _group_name(names: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    study, *others = names
    of_study = [group[1:] for group in groups if group[0] == study]
    several = [len(set(column)) > 1 for column in zip(*of_study, strict=True)]
    shown = [name for name, differs in zip(others, several, strict=True) if differs]
    return ", ".join([study, *(name for name in shown if name not in study)])


def by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by method."""
    return grouped(records, lambda record: record["method"])


def by_backbone(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by backbone."""
    return grouped(records, lambda record: record["trial"]["backbone"])


def first_value(result: dict[str, Any], name: str) -> float | None:
    """Return a metric of a trial; of one that each test has, that of the first test."""
    value = result.get(name)
    return next(iter(value.values())) if isinstance(value, dict) else value


def mean_cell(values: Sequence[float | None], paper: float | None = None) -> Cell | None:
    """Return the mean and the deviation over orderings; None if no value is known."""
    known = [value for value in values if value is not None and value == value]
    if not known:
        return None
    return Cell(mean(known), standard_deviation(known) if len(known) > 1 else None, paper)


def gain_cell(
    baseline: Cell | None, achieved: Cell | None, printed: float | None = None
) -> Cell | None:
    """Return the room-aware gain of the means; None if the baseline has no errors.

    Args:
        baseline: The accuracy of the method that the gain is over.
        achieved: The accuracy of the method with the gain.
        printed: The gain that the paper prints. Without one, it is computed from the accuracies
            that the paper prints.
    """
    if baseline is None or achieved is None:
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
