"""Reports: results as Markdown, LaTeX, and one HTML file that stands alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocle.errors import DataError, MissingExtraError, RobocleError
from robocle.evaluation.results import read_results
from robocle.reports.benchmark_tables import (
    Cell,
    Record,
    Table,
    accuracy_tables,
    matrix_tables,
    metric_tables,
    unknown_tables,
)
from robocle.reports.pages import page
from robocle.reports.plots import cost_plots, heat_maps, moment_plots, per_step_plots


@dataclass(frozen=True)
class Report:
    """What a report shows: tables, plots as SVG, example pictures, and where it all comes from."""

    title: str
    tables: tuple[Table, ...]
    plots: tuple[tuple[str, str], ...]
    examples: dict[str, list[str]]
    origins: tuple[str, ...]
    trials: int


def require_report_extra() -> None:
    """Fail now rather than after the work is done."""
    try:
        import jinja2  # noqa: F401
        import joblib  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bench", f"reports need {error.name}") from error


def write_report(results: Path, folder: Path) -> list[Path]:
    """Write report.md, report.tex and report.html from a results file."""
    report = build_report(results)
    pages = {"md": as_markdown(report), "tex": as_latex(report), "html": as_html(report)}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in pages.items():
            path = folder / f"{results.stem}.{suffix}"
            path.write_text(text, "utf-8")
            written.append(path)
    except OSError as error:
        raise RobocleError(f"cannot write to {folder}: {error.strerror}") from error
    return written


def build_report(results: Path) -> Report:
    """All that a results file has to show."""
    everything = sorted(read_results(results), key=lambda record: record["order"])
    if not everything:
        raise DataError(f"there are no results in {results}: run `robocle bench` first")
    records = [record for record in everything if record.get("kind", "trial") == "trial"]
    shows = {show for record in everything for show in record["shows"]}
    tables: list[Table] = []
    plots: list[tuple[str, str]] = []
    if "accuracy" in shows:
        tables += accuracy_tables(records)
    if "metrics" in shows:
        tables += metric_tables(records)
    if "unknown" in shows:
        tables += unknown_tables(records)
    if "matrix" in shows:
        matrices = list(matrix_tables(records))
        tables += matrices
        plots += heat_maps(matrices)
    if "per_step" in shows:
        plots += per_step_plots(records)
    if "cost" in shows:
        plots += cost_plots(records)
    for measured in (r for r in everything if r.get("kind") == "moments"):
        tables.append(_distance_table(measured))
        plots += moment_plots(measured["result"])
    return Report(
        everything[0]["experiment"],
        tuple(tables),
        tuple(plots),
        _examples(everything),
        _origins(everything),
        len(records),
    )


def _distance_table(record: Record) -> Table:
    measured = record["result"]
    corruptions = tuple(measured["blocks"][0]["distances"])
    rows = tuple(
        (block["name"], tuple(Cell(block["relative_distances"][c]) for c in corruptions))
        for block in measured["blocks"]
    )
    title = f"{record['study']}, {record['trial']['backbone']}, {measured['pooling']}"
    return Table(f"{title}: Wasserstein distance to clean, in clean deviations", corruptions, rows)


def _examples(records: Sequence[Record]) -> dict[str, list[str]]:
    return next((r["result"] for r in records if r.get("kind") == "examples"), {})


def _origins(records: Sequence[Record]) -> tuple[str, ...]:
    """The different commits and versions the results come from."""
    return tuple(dict.fromkeys(json.dumps(r["origin"], sort_keys=True) for r in records))


def cell_text(cell: Cell | None) -> str:
    """A cell as plain text: the mean, its deviation, and the paper's figure with the difference."""
    if cell is None:
        return "-"
    text = f"{cell.mean:.2f}"
    if cell.deviation is not None:
        text += f" ± {cell.deviation:.2f}"
    if cell.paper is not None:
        text += f" (paper {cell.paper:.2f}, {cell.mean - cell.paper:+.2f})"
    return text


def as_markdown(report: Report) -> str:
    """The tables as Markdown."""
    lines = [f"# {report.title}", "", f"{report.trials} trials."]
    for table in report.tables:
        lines += ["", f"## {table.title}", "", f"| | {' | '.join(table.columns)} |"]
        lines.append("|---" * (len(table.columns) + 1) + "|")
        lines += [f"| {name} | {' | '.join(map(cell_text, cells))} |" for name, cells in table.rows]
    lines += ["", "## Origin", "", *(f"    {origin}" for origin in report.origins)]
    return "\n".join(lines) + "\n"


def as_latex(report: Report) -> str:
    """The tables as LaTeX, ready to be included."""
    parts = [f"% {report.title}: {report.trials} trials"]
    for table in report.tables:
        head = " & ".join(["", *map(_tex, table.columns)])
        rows = [
            " & ".join([_tex(name), *(_tex(cell_text(cell)) for cell in cells)])
            for name, cells in table.rows
        ]
        parts += [
            "\\begin{table}[t]",
            "  \\centering",
            f"  \\caption{{{_tex(table.title)}}}",
            f"  \\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
            f"    \\toprule\n    {head} \\\\\n    \\midrule",
            *(f"    {row} \\\\" for row in rows),
            "    \\bottomrule\n  \\end{tabular}\n\\end{table}",
        ]
    return "\n".join(parts) + "\n"


TEX_SIGNS = str.maketrans({"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$"})


def _tex(text: str) -> str:
    return text.translate(TEX_SIGNS)


def as_html(report: Report) -> str:
    """One HTML page with tables, plots and pictures inside."""
    return page("benchmark", report=report, cell_parts=_cell_parts)


def _cell_parts(cell: Cell | None) -> dict[str, Any]:
    if cell is None:
        return {"mean": "-"}
    parts = {"mean": f"{cell.mean:.2f}"}
    if cell.deviation is not None:
        parts["deviation"] = f"± {cell.deviation:.2f}"
    if cell.paper is not None:
        parts["paper"] = f"{cell.paper:.2f}"
        parts["difference"] = f"{cell.mean - cell.paper:+.2f}"
    return parts
