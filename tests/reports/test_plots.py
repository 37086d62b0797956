"""Plots: the text in their SVG."""

import re
from collections.abc import Iterator

import matplotlib
import pytest

from robocle.reports.plots import heat_map, line_plot, scatter_plot

NAME = re.compile(r"<text [^>]*text-anchor: (start|end|middle)\"[^>]*>([^<]*)</text>")


@pytest.fixture(autouse=True)
def readable_text() -> Iterator[None]:
    """Keep text as text: by default its glyphs are drawn as paths, which a test cannot read."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


def texts(drawing: str) -> list[str]:
    assert drawing.startswith("<svg")
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawing)]


def test_the_legend_of_lines_is_sorted_by_their_end_and_their_ticks_are_whole_numbers() -> None:
    found = texts(line_plot({"low": [9.0, 1.0], "high": [5.0, 8.0]}, "labels", "accuracy, %"))
    assert found.index("high") < found.index("low")
    assert {"labels", "accuracy, %", "1", "2"} <= set(found)
    assert "1.5" not in found


def test_a_heat_map_shows_its_numbers_and_leaves_unknown_ones_empty() -> None:
    drawing = heat_map([[80, float("nan")]], ["clean"], ["clean", "blur"], "tested", "taught")
    found = texts(drawing)
    assert "80.0" in found
    assert "nan" not in found
    assert {"tested", "taught", "blur"} <= set(found)


def test_every_point_of_a_scatter_plot_has_its_name() -> None:
    points = {f"method {number}": (1.0, 50.0) for number in range(12)}
    assert set(points) <= set(texts(scatter_plot(points, "ms", "accuracy, %")))


def test_names_in_a_scatter_plot_do_not_cover_each_other() -> None:
    names = ("iCaRL", "iCaRL (2pc)", "a name too long for the right edge")
    points = dict(zip(names, ((2.0, 50.0), (2.0, 50.2), (2.1, 60.0)), strict=True))
    drawing = scatter_plot(points | {"left": (0.1, 20.0)}, "ms", "accuracy, %")
    anchors = {name: anchor for anchor, name in NAME.findall(drawing)}
    assert [anchors[name] for name in names] == ["start", "end", "end"]
