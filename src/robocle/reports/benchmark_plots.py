"""The plots of a benchmark report, from its results."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from robocle.reports.benchmark_tables import (
    Record,
    by_backbone,
    by_method,
    by_study,
    grouped,
    matrix_tables,
)
from robocle.reports.plots import heat_map, line_plot, new_axes, svg

Plot = tuple[str, str]
"""A title and SVG text."""


def per_step_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study and backbone: accuracy after each step, one line per method."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            lines = {
                method: _mean_line(of_method)
                for method, of_method in by_method(of_backbone).items()
            }
            lines = {method: line for method, line in lines.items() if line}
            if lines:
                title = f"{study}, {backbone}: accuracy after each label"
                yield title, line_plot(lines, "labels taught", "accuracy, %")


def _mean_line(records: Sequence[Record]) -> list[float]:
    """The mean over the orderings; one that skipped a label is left out."""
    runs = [record["result"].get("per_step") or [] for record in records]
    longest = max(map(len, runs))
    means: list[float] = np.mean([run for run in runs if len(run) == longest], axis=0).tolist()
    return means


def matrix_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield each table of taught against tested corruptions as a heat map, without the mean."""
    for table in matrix_tables(records):
        values = [
            [np.nan if cell is None else cell.mean for cell in row.cells[:-1]] for row in table.rows
        ]
        yield table.title, heat_map(values, [row.name for row in table.rows], table.columns[:-1])


def cost_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study: accuracy against the classifier's time per picture."""
    for study, of_study in by_study(records).items():
        figure, axes = new_axes(3.6)
        for (method, _), of_method in grouped(
            of_study, lambda r: (r["method"], r["trial"]["backbone"])
        ).items():
            points = [_cost_and_accuracy(record["result"]) for record in of_method]
            cost, accuracy = np.mean(points, axis=0)
            axes.scatter(cost, accuracy, s=22, color="#1f6feb")
            axes.annotate(method, (cost, accuracy), size=7, xytext=(4, 3),
                          textcoords="offset points")  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel("teaching + prediction per picture without the backbone, ms")
        axes.set_ylabel("accuracy, %")
        yield f"{study}: accuracy against cost", svg(figure)


def _cost_and_accuracy(result: dict[str, Any]) -> tuple[float, float]:
    cost = result["milliseconds_to_learn"] + result["milliseconds_to_answer"]
    return cost, next(iter(result["accuracy"].values()))


def moment_plots(measured: dict[str, Any]) -> Iterator[Plot]:
    """Yield the distribution of each moment, clean and corrupted, with Wasserstein distances."""
    for block in measured["blocks"]:
        figure, axes = new_axes(2.6)
        edges = np.array(block["edges"])
        centres = (edges[1:] + edges[:-1]) / 2
        for corruption, counts in block["counts"].items():
            distance = block["distances"].get(corruption)
            label = corruption if distance is None else f"{corruption}: d = {distance:.3f}"
            axes.plot(centres, counts, label=label, linewidth=1.5)
        axes.set_yscale("log")
        axes.set_xlabel("value")
        axes.set_ylabel("frequency")
        axes.legend(fontsize=8, frameon=False)
        yield block["name"], svg(figure)
