"""The report of the demo: as text, and as a page with what was taught, tested and predicted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from robocle.demo import CONDITIONS, DemoPicture
from robocle.demo.run import KINDS, DemoResult, Kind, Outcome
from robocle.images.square import jpeg_address
from robocle.recognition import DEFAULT_RATE
from robocle.reports import render_page, write_page
from robocle.reports.tables import Cell, Row, Table

MEAN = "mean without clean"
ALL = "all conditions"
Item = TypeVar("Item")
EXAMPLES = 8
UNKNOWN_EXAMPLES = 24
REJECTED_EXAMPLES = 8
SHOWN_CATEGORY = "mug"
"""The category that illustrates the conditions."""


def as_text(result: DemoResult) -> str:
    """Return the tables: taught objects, other objects of their categories, unknown objects."""
    categories = {picture.category for picture in result.taught}
    shots = len(result.taught) // len(categories)
    parts = [
        f"Taught {shots} pictures of each of {len(categories)} objects. "
        f"Accuracy on {len(result.tested)} other pictures, in percent:"
    ]
    parts += [f"{table.title}\n{table.as_text()}" for table in tables(result)]
    parts += [
        "Taught only two thirds of the objects at a time. Pictures called unknown by the default "
        f"learner, in percent:\n\n{unknown_table(result).as_text()}",
        "What it answered for the taught objects, in percent:\n\n"
        f"{outcome_table(result).as_text()}",
    ]
    return "\n\n".join(parts)


def tables(result: DemoResult) -> tuple[Table, Table]:
    """Return accuracy by method and condition: of taught instances, and of other instances."""
    return (
        _table(result, "The taught objects", other_instance=False),
        _table(result, "Other objects of the same categories", other_instance=True),
    )


def _table(result: DemoResult, title: str, *, other_instance: bool) -> Table:
    rows = []
    for each in result.methods:
        accuracies = result.accuracies(each, other_instance=other_instance)
        mean = result.mean_of_others(each, other_instance=other_instance)
        cells = tuple(Cell(value) for value in (*accuracies.values(), mean))
        rows.append(Row(each.method.name, cells))
    return Table(title, (*CONDITIONS, MEAN), tuple(rows), decimals=1)


def unknown_table(result: DemoResult) -> Table:
    """Return the percentage of pictures that are called unknown, by kind and condition."""
    rows = tuple(_shares(result, words, "unknown", kind) for kind, words in KINDS.items())
    return Table("Unknown objects", (*CONDITIONS, ALL), rows, decimals=1)


def outcome_table(result: DemoResult) -> Table:
    """Return the percentage of each answer for the taught objects, by condition."""
    rows = tuple(_shares(result, each, each, "taught") for each in get_args(Outcome))
    return Table("Answers for the taught objects", (*CONDITIONS, ALL), rows, decimals=1)


def _shares(result: DemoResult, name: str, outcome: Outcome, kind: Kind) -> Row:
    shares = (result.share(outcome, kind, condition) for condition in (*CONDITIONS, ""))
    return Row(name, tuple(map(Cell, shares)))


def write_report(result: DemoResult, path: Path) -> None:
    """Write the page of the demo.

    Raises:
        RobocleError: The file cannot be written.
    """
    not_taught = [each for each in result.open_set if each.kind == "not taught"]
    rejected = [
        each for each in result.open_set if each.kind == "taught" and each.outcome == "unknown"
    ]
    categories = sorted({picture.category for picture in result.taught})
    counts = Counter(each.kind for each in result.open_set)
    html = render_page(
        "demo",
        result=result,
        categories=categories,
        shots=len(result.taught) // len(categories),
        taught=_taught_examples(result),
        conditions=list(_conditions(result)),
        tables=tables(result),
        rate=DEFAULT_RATE,
        unknown=unknown_table(result),
        outcomes=outcome_table(result),
        counts={words: counts[kind] for kind, words in KINDS.items()},
        every=_step(len(not_taught), UNKNOWN_EXAMPLES),
        not_taught=_spread(not_taught, UNKNOWN_EXAMPLES),
        rejected=_spread(rejected, REJECTED_EXAMPLES),
        examples={condition: _examples(result, condition) for condition in CONDITIONS},
        data_url=lambda picture: jpeg_address(picture.path.read_bytes()),
    )
    write_page(path, html)


def _taught_examples(result: DemoResult) -> list[DemoPicture]:
    """The first taught picture of each category."""
    return list({picture.category: picture for picture in reversed(result.taught)}.values())[::-1]


def _conditions(result: DemoResult) -> Iterator[tuple[str, str, DemoPicture, int]]:
    """Each condition in words, with a picture of one object in it and the number of pictures."""
    for condition, words in CONDITIONS.items():
        tested = [picture for picture in result.tested if picture.condition == condition]
        shown = [picture for picture in tested if picture.category == SHOWN_CATEGORY] or tested
        yield condition, words, shown[0], len(tested)


def _examples(result: DemoResult, condition: str) -> list[tuple[DemoPicture, str]]:
    """Test pictures of one condition with the default's predictions, spread over the categories."""
    pairs = zip(result.tested, result.methods[-1].predicted, strict=True)
    return _spread([pair for pair in pairs if pair[0].condition == condition], EXAMPLES)


def _spread(items: Sequence[Item], count: int) -> list[Item]:
    """Return about `count` items at equal distances."""
    step = _step(len(items), count)
    return list(items[step // 2 :: step][:count])


def _step(items: int, count: int) -> int:
    return max(1, items // count)
