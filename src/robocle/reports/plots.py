"""SVG plots for the page of a benchmark."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from robocle.evaluation.metrics import mean
from robocle.reports.benchmark_tables import (
    OTHER_DOMAIN,
    Record,
    by_setting,
    matrix_tables,
    tested_on,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Plot = tuple[str, str]
"""A title and SVG text."""
WIDTH = 9
LINE_STYLES = ("-", "--", ":")
NAME_PLACES: tuple[tuple[float, float, Literal["left", "center", "right"]], ...] = (
    *((6, 3, "left"), (-6, 3, "right"), (0, 10, "center"), (0, -10, "center")),
    *((6, -8, "left"), (-6, -8, "right"), (6, 12, "left"), (-6, 12, "right")),
)
"""Offsets of a name from its point, in points (1/72 inch). If all are taken, the first is used."""


def per_step_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study and backbone: accuracy after each step, one line per method."""
    for where, methods in by_setting(records):
        lines = {method: _mean_line(of_method) for method, of_method in methods.items()}
        lines = {method: line for method, line in lines.items() if line}
        if lines:
            title = f"{where}: accuracy after each label{tested_on(methods)}"
            yield title, line_plot(lines, "labels taught", "accuracy, %")


def _mean_line(records: Sequence[Record]) -> list[float]:
    """The mean over the orderings; one that skipped a label is left out."""
    runs = [record["result"].get("per_step") or [] for record in records]
    longest = max(map(len, runs))
    complete = [run for run in runs if len(run) == longest]
    return [mean(values) for values in zip(*complete, strict=True)]


def matrix_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield each table of taught against tested corruptions as a heat map, without the mean."""
    for table in matrix_tables(records):
        tested = table.columns[: table.columns.index(OTHER_DOMAIN)]
        values = [
            [np.nan if cell is None else cell.mean for cell in row.cells[: len(tested)]]
            for row in table.rows
        ]
        names = [row.name for row in table.rows]
        yield table.title, heat_map(values, names, tested, "tested", "taught")


def cost_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study and backbone: accuracy against the classifier's time per picture."""
    for where, methods in by_setting(records):
        points = {method: _cost_and_accuracy(of_method) for method, of_method in methods.items()}
        drawing = scatter_plot(
            points, "teaching + prediction per picture without the backbone, ms", "accuracy, %"
        )
        yield f"{where}: accuracy against cost{tested_on(methods)}", drawing


def _cost_and_accuracy(records: Sequence[Record]) -> tuple[float, float]:
    results = [record["result"] for record in records]
    costs = [each["milliseconds_to_learn"] + each["milliseconds_to_predict"] for each in results]
    return mean(costs), mean([next(iter(each["accuracy"].values())) for each in results])


def moment_plots(record: Record) -> Iterator[Plot]:
    """Yield the distribution of each moment, clean and corrupted, with Wasserstein distances."""
    pooling = record["result"]["pooling"]
    for block in record["result"]["blocks"]:
        figure, axes = _new_axes("value", "count", 2.6)
        edges = np.array(block["edges"])
        centres = (edges[1:] + edges[:-1]) / 2
        for corruption, counts in block["counts"].items():
            distance = block["distances"].get(corruption)
            label = corruption if distance is None else f"{corruption}: d = {distance:.3f}"
            axes.plot(centres, counts, label=label, linewidth=1.5)
        axes.set_yscale("log")
        axes.legend(fontsize=8, frameon=False)
        yield f"{record['trial']['backbone']}, {pooling}: {block['name']}", _svg(figure)


def line_plot(lines: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> str:
    """Return lines over 1, 2, 3, ...; the legend lists them from the highest end to the lowest.

    Lines that coincide are drawn once, with all their names, one below the other: on easy data a
    dozen methods may coincide, and their names beside each other would leave no room for the axes.
    Neighbours in the legend have different styles, so that lines which partly coincide differ.
    """
    from matplotlib.ticker import MaxNLocator

    names: dict[tuple[float, ...], list[str]] = {}
    for name, values in lines.items():
        names.setdefault(tuple(round(value, 6) for value in values), []).append(name)
    ordered = sorted(names.items(), key=lambda line: line[0][-1], reverse=True)
    figure, axes = _new_axes(x_label, y_label, max(3.6, 0.9 + 0.17 * len(lines)))
    for number, (values, same) in enumerate(ordered):
        style = LINE_STYLES[number % len(LINE_STYLES)]
        places = range(1, len(values) + 1)
        axes.plot(places, values, style, label="\n= ".join(same), linewidth=1.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return _svg(figure)


def heat_map(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], x_label: str, y_label: str
) -> str:
    """Return percentages as a heat map with the numbers written into it; NaN stays empty."""
    cells = np.asarray(values, np.float64)
    figure, axes = _new_axes(x_label, y_label, 0.7 + 0.5 * len(rows), width=6)
    axes.imshow(cells, vmin=0, vmax=100, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    for (row, column), value in np.ndenumerate(cells):
        text = "" if np.isnan(value) else f"{value:.1f}"
        colour = "white" if value < 60 else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, size=8)
    axes.spines[:].set_visible(False)
    return _svg(figure)


def scatter_plot(points: Mapping[str, tuple[float, float]], x_label: str, y_label: str) -> str:
    """Return named points over a logarithmic x axis."""
    figure, axes = _new_axes(x_label, y_label, 4.2)
    across, up = zip(*points.values(), strict=True)
    axes.scatter(across, up, s=22, color="#1f6feb")
    axes.set_xscale("log")
    axes.margins(x=0.15, y=0.08)
    _name_points(figure, axes, points)
    return _svg(figure)


def _name_points(figure: "Figure", axes: "Axes", points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, if possible where it covers no other name or point."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # fixes the layout, so that the size of texts is known
    centres = axes.transData.transform(list(points.values()))
    taken = [Bbox.from_bounds(x - 7, y - 7, 14, 14) for x, y in centres]
    for name, point in points.items():
        text = axes.annotate(name, point, (0, 0), textcoords="offset points", size=7, va="center",
                             in_layout=False)  # fmt: skip
        for right, up, align in (*NAME_PLACES, NAME_PLACES[0]):
            text.xyann = right, up
            text.set_horizontalalignment(align)
            box = text.get_window_extent()
            if box.x1 < figure.bbox.x1 and not box.count_overlaps(taken):
                break
        taken.append(box)


def _new_axes(
    x_label: str, y_label: str, height: float, width: float = WIDTH
) -> "tuple[Figure, Axes]":
    """Return a figure of this size, in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def _svg(figure: "Figure") -> str:
    """Return a figure as SVG text without the XML header."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]
