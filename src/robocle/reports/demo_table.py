"""The tables of the demo, and its result as plain text."""

from robocle.demo.pictures import CONDITIONS
from robocle.demo.run import DemoResult
from robocle.reports.tables import Cell, Row, Table

MEAN = "mean without clean"


def as_text(result: DemoResult) -> str:
    """Return two tables: the taught instances, and other instances of the taught categories."""
    categories = {picture.category for picture in result.taught}
    shots = len(result.taught) // len(categories)
    parts = [
        f"Taught {shots} pictures of each of {len(categories)} objects. "
        f"Accuracy on {len(result.tested)} other pictures, in percent:"
    ]
    parts += [f"{table.title}\n{table.as_text()}" for table in tables(result)]
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
