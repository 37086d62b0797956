"""The report of a benchmark: its results as Markdown, LaTeX and one HTML page."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from robocle._internal.wording import plural
from robocle.errors import DataError, RobocleError
from robocle.evaluation.results import read_results
from robocle.reports.benchmark_accuracy import accuracy_tables
from robocle.reports.benchmark_gains import gain_tables, overall_tables
from robocle.reports.benchmark_matrix import matrix_tables
from robocle.reports.benchmark_plots import (
    Plot,
    cost_plots,
    matrix_plots,
    moment_plots,
    per_step_plots,
)
from robocle.reports.benchmark_records import Record
from robocle.reports.benchmark_tables import distance_table, metric_tables, unknown_tables
from robocle.reports.benchmark_terms import Term, terms_of
from robocle.reports.pages import render_page
from robocle.reports.tables import Table, latex_text, markdown_text

TABLES: dict[str, Callable[[Sequence[Record]], Iterable[Table]]] = {
    "accuracy": accuracy_tables,
    "metrics": lambda records: (*metric_tables(records), *gain_tables(records)),
    "unknown": unknown_tables,
    "matrix": matrix_tables,
}
"""The tables that an experiment can list under `shows`."""
PLOTS: dict[str, Callable[[Sequence[Record]], Iterable[Plot]]] = {
    "matrix": matrix_plots,
    "per_step": per_step_plots,
    "cost": cost_plots,
}
"""The plots that an experiment can list under `shows`."""


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes:
        title: The title of the experiment, or of each of several.
        tables: The tables.
        plots: Plots as SVG, each with its title.
        examples: A few pictures per corruption, as data URLs.
        origins: The commits and versions that the results come from, as JSON.
        trials: How many trials the tables are made of.
    """

    title: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    examples: dict[str, list[str]]
    origins: tuple[str, ...]
    trials: int

    @property
    def terms(self) -> list[Term]:
        """What the abbreviations, columns and units of the tables mean."""
        return terms_of(self.tables)

    @property
    def has_paper(self) -> bool:
        """Whether a table shows numbers of the paper."""
        rows = (row for table in self.tables for row in table.rows)
        return any(cell.paper is not None for row in rows for cell in row.cells if cell)


def write_report(results: Path, folder: Path) -> list[Path]:
    """Write a report as .md, .tex and .html files named like the results file.

    Args:
        results: A results file of `robocle bench`.
        folder: Where to write the files; it is made if it is not there.

    Returns:
        The paths of the written files.

    Raises:
        DataError: There are no results in the file.
        RobocleError: The folder cannot be written to.
    """
    report = build_report(results)
    texts = {"md": as_markdown(report), "tex": as_latex(report), "html": as_html(report)}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            path = folder / f"{results.stem}.{suffix}"
            path.write_text(text, "utf-8")
            written.append(path)
    except OSError as error:
        raise RobocleError(f"cannot write to {folder}: {error.strerror}") from error
    return written


def build_report(results: Path) -> Report:
    """Return the report of a results file, with all that its experiments show.

    Args:
        results: A results file of `robocle bench`.

    Raises:
        DataError: There are no results in the file.
    """
    records = sorted(read_results(results), key=lambda record: record["order"])
    if not records:
        raise DataError(f"there are no results in {results}: run `robocle bench` first")
    trials = _of_kind(records, "trial")
    moments = _of_kind(records, "moments")
    shown = {show for record in records for show in record["shows"]}
    tables = [table for show in TABLES if show in shown for table in TABLES[show](trials)]
    plots = [plot for show in PLOTS if show in shown for plot in PLOTS[show](trials)]
    return Report(
        title="; ".join(dict.fromkeys(record["experiment"] for record in records)),
        tables=(*tables, *overall_tables(trials), *map(distance_table, moments)),
        plots=(*plots, *(plot for each in moments for plot in moment_plots(each))),
        examples=next((each["result"] for each in _of_kind(records, "examples")), {}),
        origins=tuple(dict.fromkeys(json.dumps(r["origin"], sort_keys=True) for r in records)),
        trials=len(trials),
    )


def _of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if record.get("kind", "trial") == kind]


def as_markdown(report: Report) -> str:
    """Return the tables of a report and their origin as Markdown."""
    lines = [f"# {markdown_text(report.title)}", "", f"{plural(report.trials, 'trial')}."]
    for table in report.tables:
        lines += ["", f"## {markdown_text(table.title)}", "", table.as_markdown()]
    lines += ["", "## Origin", "", *(f"    {origin}" for origin in report.origins)]
    return "\n".join(lines) + "\n"


def as_latex(report: Report) -> str:
    """Return the tables of a report as LaTeX, to be included in a document with booktabs."""
    head = f"% {latex_text(report.title)}: {plural(report.trials, 'trial')}"
    return "\n".join([head, *(table.as_latex() for table in report.tables)]) + "\n"


def as_html(report: Report) -> str:
    """Return a report as one HTML page with its plots and pictures inside."""
    return render_page("benchmark", report=report)
