"""The plots of a benchmark report, from its results."""

from collections.abc import Iterator, Sequence

import numpy as np

from robocle.evaluation.metrics import mean
from robocle.reports.benchmark_matrix import OTHER_DOMAIN, matrix_tables
from robocle.reports.benchmark_records import Record, by_backbone, by_method, by_study
from robocle.reports.plots import heat_map, line_plot, new_axes, scatter_plot, svg

Plot = tuple[str, str]
"""A title and SVG text."""


def per_step_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study and backbone: accuracy after each step, one line per method."""
    for where, methods in _methods(records):
        lines = {method: _mean_line(of_method) for method, of_method in methods.items()}
        lines = {method: line for method, line in lines.items() if line}
        if lines:
            drawing = line_plot(lines, "labels taught", "accuracy, %")
            yield f"{where}: accuracy after each label", drawing


def _methods(records: Sequence[Record]) -> Iterator[tuple[str, dict[str, list[Record]]]]:
    """Yield each study and backbone in words, and its records by method."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            yield f"{study}, {backbone}", by_method(of_backbone)


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
        drawing = heat_map(values, names, tested, "tested", "taught")
        yield table.title, drawing


def cost_plots(records: Sequence[Record]) -> Iterator[Plot]:
    """Yield one plot per study and backbone: accuracy against the classifier's time per picture."""
    for where, methods in _methods(records):
        points = {method: _cost_and_accuracy(of_method) for method, of_method in methods.items()}
        drawing = scatter_plot(
            points, "teaching + prediction per picture without the backbone, ms", "accuracy, %"
        )
        yield f"{where}: accuracy against cost", drawing


def _cost_and_accuracy(records: Sequence[Record]) -> tuple[float, float]:
    results = [record["result"] for record in records]
    costs = [each["milliseconds_to_learn"] + each["milliseconds_to_predict"] for each in results]
    return mean(costs), mean([next(iter(each["accuracy"].values())) for each in results])


def moment_plots(record: Record) -> Iterator[Plot]:
    """Yield the distribution of each moment, clean and corrupted, with Wasserstein distances."""
    pooling = record["result"]["pooling"]
    for block in record["result"]["blocks"]:
        figure, axes = new_axes(2.6)
        edges = np.array(block["edges"])
        centres = (edges[1:] + edges[:-1]) / 2
        for corruption, counts in block["counts"].items():
            distance = block["distances"].get(corruption)
            label = corruption if distance is None else f"{corruption}: d = {distance:.3f}"
            axes.plot(centres, counts, label=label, linewidth=1.5)
        axes.set_yscale("log")
        axes.set_xlabel("value")
        axes.set_ylabel("count")
        axes.legend(fontsize=8, frameon=False)
        yield f"{record['trial']['backbone']}, {pooling}: {block['name']}", svg(figure)
