"""Plots: results as pictures, each one SVG text for a page."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from robocle.reports.benchmark_tables import (
    Record,
    Table,
    by_backbone,
    by_method,
    by_study,
    grouped,
)

WIDTH = 9


def per_step_plots(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Accuracy after each step, a line a method; (title, SVG)."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            lines = {
                method: [r["result"]["per_step"] for r in runs if r["result"].get("per_step")]
                for method, runs in by_method(of_backbone).items()
            }
            if any(lines.values()):
                yield f"{study}, {backbone}: accuracy after each label", _lines(lines)


def _lines(lines: dict[str, list[list[float]]]) -> str:
    figure, axes = new_axes(3.6)
    for number, (method, runs) in enumerate(lines.items()):
        longest = max(map(len, runs), default=0)
        whole = [run for run in runs if len(run) == longest]  # an ordering may skip a class
        if whole:
            mean = np.mean(whole, axis=0)
            style = "-" if number < 10 else "--"
            axes.plot(range(1, len(mean) + 1), mean, style, label=method, linewidth=1.6)
    axes.set_xlabel("labels taught")
    axes.set_ylabel("accuracy, %")
    axes.legend(fontsize=7, ncols=2, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return svg(figure)


def heat_maps(tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Each taught x tested table as a heat map."""
    for table in tables:
        names = [name for name, _ in table.rows]
        values = np.array(
            [[np.nan if c is None else c.mean for c in cells[:-1]] for _, cells in table.rows]
        )
        figure, axes = new_axes(0.5 + 0.5 * len(names), width=5.5)
        axes.imshow(values, vmin=0, vmax=100, cmap="viridis", aspect="auto")
        axes.set_xticks(range(values.shape[1]), table.columns[:-1])
        axes.set_yticks(range(len(names)), names)
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if value < 60 else "black"
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour, size=8)
        axes.spines[:].set_visible(False)
        yield table.title, svg(figure)


def cost_plots(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Accuracy against the time a picture takes to learn and answer, beyond looking at it."""
    for study, of_study in by_study(records).items():
        figure, axes = new_axes(3.6)
        for (method, _), runs in grouped(
            of_study, lambda r: (r["method"], r["trial"]["backbone"])
        ).items():
            results = [record["result"] for record in runs]
            cost = np.mean(
                [r["milliseconds_to_learn"] + r["milliseconds_to_answer"] for r in results]
            )
            accuracy = np.mean([next(iter(r["accuracy"].values())) for r in results])
            axes.scatter(cost, accuracy, s=22, color="#1f6feb")
            axes.annotate(method, (cost, accuracy), size=7, xytext=(4, 3),
                          textcoords="offset points")  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel("learning + answering one picture, ms")
        axes.set_ylabel("accuracy, %")
        yield f"{study}: accuracy against cost", svg(figure)


def moment_plots(measured: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The distribution of each moment, clean and corrupted, with the Wasserstein distances."""
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


def new_axes(height: float, width: float = WIDTH) -> tuple[Any, Any]:
    """A figure of this size, in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def svg(figure: Any) -> str:
    """A figure as SVG text without the XML head."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]
