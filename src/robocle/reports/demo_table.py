"""The demo's result as plain text."""

from robocle.demo.pictures import CONDITIONS
from robocle.demo.run import DemoResult

WIDTH = max(map(len, CONDITIONS)) + 2
NAME = 22


def as_text(result: DemoResult) -> str:
    """Two tables: the very thing that was taught, and other things of its category."""
    categories = {picture.category for picture in result.taught}
    shots = len(result.taught) // len(categories)
    return "\n".join(
        [
            f"taught {shots} pictures of each of {len(categories)} things, asked "
            f"{len(result.asked)} others; right answers in percent",
            "",
            *_rows(result, "the taught thing", other_thing=False),
            "",
            *_rows(result, "another of its kind", other_thing=True),
        ]
    )


def _rows(result: DemoResult, title: str, *, other_thing: bool) -> list[str]:
    head = "".join(f"{condition:>{WIDTH}}" for condition in CONDITIONS)
    lines = [f"{title:<{NAME}}{head}{'changed':>{WIDTH}}"]
    for outcome in result.outcomes:
        cells = [result.accuracy(outcome, c, other_thing=other_thing) for c in CONDITIONS]
        cells.append(result.changed_mean(outcome, other_thing=other_thing))
        shown = "".join(f"{cell:>{WIDTH}.1f}" for cell in cells)
        lines.append(f"{outcome.method.name:<{NAME}}{shown}")
    return lines
