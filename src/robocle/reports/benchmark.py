"""The report of a benchmark: its results as Markdown, LaTeX and one HTML page.

The page explains the abbreviations, columns and units that its tables use, and no others.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from robocle._internal.wording import plural
from robocle.errors import DataError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption
from robocle.evaluation.metrics import METRICS
from robocle.evaluation.results import newest_results
from robocle.reports import MADE, render_page, require_replaceable, write_page
from robocle.reports.benchmark_gains import (
    AVERAGE,
    GAINS,
    accuracy_tables,
    gain_tables,
    overall_tables,
)
from robocle.reports.benchmark_tables import (
    ENOUGH_ERRORS,
    ENOUGH_PICTURES,
    GAIN_OVER,
    NEAREST,
    OTHER_DOMAIN,
    Record,
    data_tables,
    difference_tables,
    distance_table,
    matrix_tables,
    metric_tables,
    orderings,
    unknown_tables,
)
from robocle.reports.plots import Plot, cost_plots, matrix_plots, moment_plots, per_step_plots
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
CAUTION = "Caution: these are not the paper's data. "
"""What precedes how the data of a table differ from the paper's."""
ELSEWHERE = " elsewhere"
Term = tuple[str, str]
"""A word and what it means."""

WORDS = tomllib.loads(files("robocle.reports").joinpath("words.toml").read_text("utf-8"))
"""What words of methods and columns mean."""


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
        orderings: How many orderings these have.
        notes: One line about each kind of results in the file that is not shown.
    """

    title: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    examples: dict[str, list[str]]
    origins: tuple[str, ...]
    trials: int
    orderings: int
    notes: tuple[str, ...] = ()

    @property
    def lead(self) -> str:
        """What a reader should know before looking at the numbers."""
        said = {
            f"{plural(self.trials, 'trial')} on {plural(self.orderings, 'ordering')}.": self.trials,
            "Numbers are means over the orderings ± the standard deviation.": self.has("deviation"),
            "With one ordering there is no deviation.": self.orderings == 1,
            "Rows are sorted, and the best number of a column is bold.": any(
                table.best for table in self.tables
            ),
            "With the paper's number is the difference, ours minus the paper's.": self.has("paper"),
        }
        return " ".join(sentence for sentence, holds in said.items() if holds)

    @property
    def terms(self) -> list[Term]:
        """What the abbreviations, columns and units of the tables mean."""
        return terms_of(self.tables)

    def has(self, part: Literal["deviation", "paper"]) -> bool:
        """Return whether a table shows deviations, or numbers of the paper."""
        rows = (row for table in self.tables for row in table.rows)
        return any(getattr(cell, part) is not None for row in rows for cell in row.cells if cell)


def write_report(results: Path, folder: Path) -> list[Path]:
    """Write a report as .md, .tex and .html files named like the results file.

    Args:
        results: A results file of `robocle bench`.
        folder: Where to write the files; it is made if it is not there.

    Returns:
        The paths of the written files.

    Raises:
        DataError: There are no results in the file.
        RobocleError: The folder cannot be written to, or has files of these names that robocle did
            not write.
    """
    report, paths = build_report(results), report_paths(results, folder)
    texts = f"{as_markdown(report)}\n{MADE}\n", f"% {MADE}\n{as_latex(report)}", as_html(report)
    for path, text in zip(paths, texts, strict=True):
        write_page(path, text)
    return paths


def report_paths(results: Path, folder: Path) -> list[Path]:
    """Return where the report of a results file is written.

    Raises:
        RobocleError: There is a file that robocle did not write.
    """
    paths = [folder / f"{results.stem}.{suffix}" for suffix in ("md", "tex", "html")]
    for path in paths:
        require_replaceable(path)
    return paths


def build_report(results: Path) -> Report:
    """Return the report of a results file, with all that its experiments show.

    Args:
        results: A results file of `robocle bench`.

    Raises:
        DataError: There are no results in the file.
    """
    newest, notes = newest_results(results)
    records = sorted(newest, key=lambda record: record["order"])
    if not records:
        lines = results.with_suffix(".jsonl")
        if lines != results and lines.exists():
            raise DataError(f"{results} is not the results: give {lines}")
        there_is = f"are no results in {results}" if results.exists() else f"is no file {results}"
        raise DataError(f"there {there_is}: run `robocle bench` first")
    trials = _of_kind(records, "trial")
    moments = _of_kind(records, "moments")
    shown = {show for record in records for show in record["shows"]}
    tables = [table for show in TABLES if show in shown for table in TABLES[show](trials)]
    plots = [plot for show in PLOTS if show in shown for plot in PLOTS[show](trials)]
    return Report(
        title="; ".join(dict.fromkeys(record["experiment"] for record in records)),
        tables=(
            *data_tables(trials),
            *tables,
            *difference_tables(trials),
            *overall_tables(trials),
            *map(distance_table, moments),
        ),
        plots=(*plots, *(plot for each in moments for plot in moment_plots(each))),
        examples=next((each["result"] for each in _of_kind(records, "examples")), {}),
        origins=tuple(dict.fromkeys(json.dumps(r["origin"], sort_keys=True) for r in records)),
        trials=len(trials),
        orderings=orderings(trials),
        notes=tuple(notes),
    )


def _of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if record.get("kind", "trial") == kind]


def as_markdown(report: Report) -> str:
    """Return the tables of a report and their origin as Markdown."""
    lines = [f"# {markdown_text(report.title)}", "", report.lead]
    lines += [line for note in report.notes for line in ("", f"{markdown_text(note)}.")]
    for table in report.tables:
        caution = [f"{CAUTION}{table.caution}.", ""] if table.caution else []
        lines += ["", f"## {markdown_text(table.title)}", "", *caution, table.as_markdown()]
    lines += ["", "## Origin", "", *(f"    {origin}" for origin in report.origins)]
    return "\n".join(lines) + "\n"


def as_latex(report: Report) -> str:
    """Return the tables of a report as LaTeX, to be included in a document with booktabs."""
    head = f"% {latex_text(report.title)}. {latex_text(report.lead)}"
    notes = (f"% {latex_text(note)}" for note in report.notes)
    return "\n".join([head, *notes, *(table.as_latex() for table in report.tables)]) + "\n"


def as_html(report: Report) -> str:
    """Return a report as one HTML page with its plots and pictures inside."""
    return render_page("benchmark", report=report, caution=CAUTION)


def terms_of(tables: Sequence[Table]) -> list[Term]:
    """Return the words that some tables use, in the order in which a reader meets them."""
    return list(dict([*_columns(tables), *_metrics(tables), *_names(tables)]).items())


def _columns(tables: Sequence[Table]) -> Iterator[Term]:
    columns = {column for table in tables for column in table.columns}
    gain = WORDS["gain"].format(pictures=ENOUGH_PICTURES, errors=ENOUGH_ERRORS)
    if any("accuracy, %" in table.title for table in tables):
        yield "accuracy, %", METRICS["accuracy"].meaning
    if AVERAGE in columns:
        yield AVERAGE, WORDS["columns"][AVERAGE]
    if any(row.kind == "gain" for table in tables for row in table.rows):
        yield "gain over ..., %", gain
    if any(column.startswith(GAIN_OVER) for column in columns):
        yield f"{GAIN_OVER} ..., %", f"of the {OTHER_DOMAIN}, the {gain}"
    if GAINS[0] in columns:
        yield GAINS[0], gain
    yield from ((word, meaning) for word, meaning in WORDS["columns"].items() if word in columns)


def _metrics(tables: Sequence[Table]) -> Iterator[Term]:
    columns = [column for table in tables for column in table.columns]
    used = {column.replace(ELSEWHERE, "") for column in columns}
    for metric in (NEAREST, *METRICS.values()):
        if metric.meaning and {metric.heading, metric.title} & used:
            yield metric.heading, metric.meaning
    if any(ELSEWHERE in column for column in columns):
        yield ELSEWHERE.strip(), "the mean over all tests but the one in the taught condition"


def _names(tables: Sequence[Table]) -> Iterator[Term]:
    rows = [row.name for table in tables for row in table.rows]
    names = [*rows, *(column for table in tables for column in table.columns)]
    words = {word.strip("(),") for name in names for word in name.replace("/", " ").split()}
    specs = {word.partition(":")[0] for word in words}
    for name in CORRUPTIONS.names():
        if name in specs:
            yield name, f"a test condition: pictures {corruption(name).in_words}"
    yield from ((name, meaning) for name, meaning in WORDS["methods"].items() if name in words)
