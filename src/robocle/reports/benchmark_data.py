"""What the results of a benchmark are from: classes, taught and tested pictures, orderings."""

from collections.abc import Iterator, Sequence

from robocle.evaluation.metrics import mean
from robocle.reports.benchmark_tables import Record, by_study
from robocle.reports.tables import Cell, Row, Table

COUNTS = {
    "labels": "classes taught",
    "pictures_taught": "pictures taught",
    "pictures_tested": "pictures tested",
}
"""What a result counts, and the heading of its column."""
ORDERINGS = "orderings"


def data_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table: studies down, the size of their data and the number of orderings across."""
    counted = [record for record in records if COUNTS.keys() <= record["result"].keys()]
    rows = tuple(
        Row(_in_words(study, of_study[0]), tuple(_cells(of_study)))
        for study, of_study in by_study(counted, together=True).items()
    )
    if rows:  # results of an older version count nothing
        yield Table("Data", (*COUNTS.values(), ORDERINGS), rows, decimals=0)


def orderings(records: Sequence[Record]) -> int:
    """Return how many orderings there are results of."""
    return len({record["trial"]["seed"] for record in records})


def _cells(records: Sequence[Record]) -> Iterator[Cell]:
    for name in COUNTS:
        yield Cell(mean([record["result"][name] for record in records]))
    yield Cell(orderings(records))


def _in_words(study: str, record: Record) -> str:
    """Return the study with its data set and scenario, where its name does not tell them."""
    parts = (record["trial"]["dataset"], record["trial"]["scenario"])
    untold = ", ".join(part for part in parts if part not in study)
    return f"{study} ({untold})" if untold else study
