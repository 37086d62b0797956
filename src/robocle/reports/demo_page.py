"""The page of the demo: tables, plots and example pictures."""

from collections.abc import Iterator
from pathlib import Path

from robocle.demo.pictures import CONDITIONS, DemoPicture
from robocle.demo.run import DemoResult
from robocle.images.thumbnails import jpeg_address
from robocle.reports.demo_table import tables
from robocle.reports.pages import render_page, write_page
from robocle.reports.plots import grouped_bars
from robocle.reports.tables import Table

COLOURS = ("#b8bec8", "#8d97a8", "#c9a86a", "#d9822b", "#1f6feb")
EXAMPLES = 8


def write_report(result: DemoResult, path: Path) -> None:
    """Write the page of the demo.

    Raises:
        RobocleError: The file cannot be written.
    """
    html = render_page(
        "demo",
        result=result,
        categories=sorted({picture.category for picture in result.taught}),
        tables=[(table, _plot(table)) for table in tables(result)],
        taught=_taught_examples(result),
        examples={condition: list(_examples(result, condition)) for condition in CONDITIONS},
        data_url=lambda picture: jpeg_address(picture.path.read_bytes()),
    )
    write_page(path, html)


def _taught_examples(result: DemoResult) -> list[DemoPicture]:
    """The first taught picture of each category."""
    return list({picture.category: picture for picture in reversed(result.taught)}.values())[::-1]


def _examples(result: DemoResult, condition: str) -> Iterator[tuple[DemoPicture, str]]:
    """Test pictures of one condition with the default's predictions, spread over the categories."""
    default = result.methods[-1]
    tested = [
        pair
        for pair in zip(result.tested, default.predicted, strict=True)
        if pair[0].condition == condition
    ]
    step = max(1, len(tested) // EXAMPLES)
    yield from tested[step // 2 :: step][:EXAMPLES]


def _plot(table: Table) -> str:
    """Accuracy by condition and method, without the mean."""
    series = {row.name: [cell.mean for cell in row.cells[:-1] if cell] for row in table.rows}
    return grouped_bars(series, table.columns[:-1], COLOURS)
