"""The tables of the demo, and its result as plain text."""

from typing import get_args

from robocle.demo.pictures import CONDITIONS
from robocle.demo.run import DemoResult
from robocle.demo.unknown import KINDS, Outcome
from robocle.reports.tables import Cell, Row, Table

MEAN = "mean without clean"
ALL = "all conditions"


def as_text(result: DemoResult) -> str:
    """Return the tables: taught objects, other objects of their categories, unknown objects."""
    categories = {picture.category for picture in result.taught}
    shots = len(result.taught) // len(categories)
    parts = [
        f"Taught {shots} pictures of each of {len(categories)} objects. "
        f"Accuracy on {len(result.tested)} other pictures, in percent:"
    ]
    parts += [f"{table.title}\n{table.as_text()}" for table in tables(result)]
    parts += [
        "Taught only two thirds of the objects at a time. Pictures called unknown by the default "
        f"learner, in percent:\n\n{unknown_table(result).as_text()}",
        "What it answered for the taught objects, in percent:\n\n"
        f"{outcome_table(result).as_text()}",
    ]
    return "\n\n".join(parts)


def tables(result: DemoResult) -> tuple[Table, Table]:
    """Return accuracy by method and condition: of taught instances, and of other instances."""
    return (
        _table(result, "The taught objects", other_instance=False),
        _table(result, "Other objects of the same categories", other_instance=True),
    )


def _table(result: DemoResult, title: str, *, other_instance: bool) -> Table:
    rows = []
    for each in result.methods:
        accuracies = result.accuracies(each, other_instance=other_instance)
        mean = result.mean_of_others(each, other_instance=other_instance)
        cells = tuple(Cell(value) for value in (*accuracies.values(), mean))
        rows.append(Row(each.method.name, cells))
    return Table(title, (*CONDITIONS, MEAN), tuple(rows), decimals=1)


def outcome_table(result: DemoResult) -> Table:
    """Return the percentage of each answer for the taught objects, by condition."""
    rows = tuple(
        Row(outcome, tuple(Cell(result.share_of(outcome, each)) for each in (*CONDITIONS, "")))
        for outcome in get_args(Outcome)
    )
    return Table("Answers for the taught objects", (*CONDITIONS, ALL), rows, decimals=1)


def unknown_table(result: DemoResult) -> Table:
    """Return the percentage of pictures that are called unknown, by kind and condition."""
    rows = tuple(
        Row(words, tuple(Cell(result.called_unknown(kind, each)) for each in (*CONDITIONS, "")))
        for kind, words in KINDS.items()
    )
    return Table("Unknown objects", (*CONDITIONS, ALL), rows, decimals=1)
