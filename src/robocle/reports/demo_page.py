"""The demo's report: one HTML file with tables, plots and example pictures inside."""

from collections.abc import Iterator
from pathlib import Path

from robocle.demo.pictures import CONDITIONS, DemoPicture
from robocle.demo.run import DemoResult, Outcome
from robocle.images.thumbnails import jpeg_address
from robocle.reports.pages import page, write_page
from robocle.reports.plots import svg

COLOURS = ("#b8bec8", "#8d97a8", "#c9a86a", "#d9822b", "#1f6feb")
EXAMPLES = 8


def write_report(result: DemoResult, path: Path) -> None:
    """Write the report to a file."""
    html = page(
        "demo",
        result=result,
        conditions=CONDITIONS,
        kinds=[("The taught thing", False), ("Another thing of its kind", True)],
        categories=sorted({picture.category for picture in result.taught}),
        plots=[_plot(result, other_thing=False), _plot(result, other_thing=True)],
        taught=_taught_strip(result),
        examples={condition: list(_examples(result, condition)) for condition in CONDITIONS},
        picture=_embedded,
    )
    write_page(path, html)


def _taught_strip(result: DemoResult) -> list[DemoPicture]:
    """One taught picture of each category."""
    return list({picture.category: picture for picture in reversed(result.taught)}.values())[::-1]


def _examples(result: DemoResult, condition: str) -> Iterator[tuple[DemoPicture, str]]:
    """Questions of one condition with the default's answers, spread over the categories."""
    default = result.outcomes[-1]
    asked = [
        pair
        for pair in zip(result.asked, default.answers, strict=True)
        if pair[0].condition == condition
    ]
    step = max(1, len(asked) // EXAMPLES)
    yield from asked[step // 2 :: step][:EXAMPLES]


def _embedded(picture: DemoPicture) -> str:
    return jpeg_address(picture.path.read_bytes())


def _plot(result: DemoResult, *, other_thing: bool) -> str:
    """Accuracy by condition and method, as an SVG for the page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    share = 0.8 / len(result.outcomes)
    for number, (outcome, colour) in enumerate(zip(result.outcomes, COLOURS, strict=True)):
        at = [place + (number - (len(COLOURS) - 1) / 2) * share for place in range(len(CONDITIONS))]
        heights = _heights(result, outcome, other_thing=other_thing)
        axes.bar(at, heights, share, color=colour, label=outcome.method.name)
    axes.set_xticks(range(len(CONDITIONS)), CONDITIONS)
    axes.set_ylim(0, 100)
    axes.set_ylabel("right answers, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(ncols=len(COLOURS), loc="upper center", bbox_to_anchor=(0.5, 1.18), frameon=False)
    return svg(figure)


def _heights(result: DemoResult, outcome: Outcome, *, other_thing: bool) -> list[float]:
    return [result.accuracy(outcome, c, other_thing=other_thing) for c in CONDITIONS]
