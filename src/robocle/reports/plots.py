"""Plots: numbers drawn as SVG text, to be put into a page."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

WIDTH = 9
LINE_STYLES = ("-", "--", ":")
COLOURS = 10  # in matplotlib's cycle
NamePlace = tuple[float, float, Literal["left", "center", "right"]]
NAME_PLACES: tuple[NamePlace, ...] = (
    *((6, 3, "left"), (-6, 3, "right"), (0, 10, "center"), (0, -10, "center")),
    *((6, -8, "left"), (-6, -8, "right"), (6, 12, "left"), (-6, 12, "right")),
)
"""Offsets of a name from its point, in points (1/72 inch). If all are taken, the first is used."""


def line_plot(lines: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> str:
    """Return lines over 1, 2, 3, ...; the legend lists them from the highest end to the lowest."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_axes(max(3.6, 0.9 + 0.17 * len(lines)))
    ordered = sorted(lines.items(), key=lambda line: line[1][-1], reverse=True)
    for number, (name, values) in enumerate(ordered):
        style = LINE_STYLES[number // COLOURS % len(LINE_STYLES)]
        axes.plot(range(1, len(values) + 1), values, style, label=name, linewidth=1.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return svg(figure)


def heat_map(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], x_label: str, y_label: str
) -> str:
    """Return percentages as a heat map with the numbers written into it; NaN stays empty."""
    cells = np.asarray(values, np.float64)
    figure, axes = new_axes(0.7 + 0.5 * len(rows), width=6)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.imshow(cells, vmin=0, vmax=100, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    for (row, column), value in np.ndenumerate(cells):
        text = "" if np.isnan(value) else f"{value:.1f}"
        colour = "white" if value < 60 else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, size=8)
    axes.spines[:].set_visible(False)
    return svg(figure)


def scatter_plot(points: Mapping[str, tuple[float, float]], x_label: str, y_label: str) -> str:
    """Return named points over a logarithmic x axis."""
    figure, axes = new_axes(4.2)
    across, up = zip(*points.values(), strict=True)
    axes.scatter(across, up, s=22, color="#1f6feb")
    axes.set_xscale("log")
    axes.margins(x=0.15, y=0.08)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    _name_points(figure, axes, points)
    return svg(figure)


def _name_points(figure: "Figure", axes: "Axes", points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, if possible where it covers no other name or point."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # fixes the layout, so that the size of texts is known
    centres = axes.transData.transform(list(points.values()))
    taken = [Bbox.from_bounds(x - 7, y - 7, 14, 14) for x, y in centres]
    for name, point in points.items():
        for place in NAME_PLACES:
            text = _write_name(axes, name, point, place)
            box = text.get_window_extent()
            if box.x1 < figure.bbox.x1 and not box.count_overlaps(taken):
                break
            text.remove()
        else:
            box = _write_name(axes, name, point, NAME_PLACES[0]).get_window_extent()
        taken.append(box)


def _write_name(
    axes: "Axes", name: str, point: tuple[float, float], place: NamePlace
) -> "Annotation":
    right, up, align = place
    return axes.annotate(name, point, (right, up), textcoords="offset points", size=7, ha=align,
                         va="center", in_layout=False)  # fmt: skip


def new_axes(height: float, width: float = WIDTH) -> "tuple[Figure, Axes]":
    """Return a figure of this size, in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def svg(figure: "Figure") -> str:
    """Return a figure as SVG text without the XML header."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]
