"""The report of the demo: as text, and as a page with what was taught, tested and predicted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from robocle._internal.wording import plural
from robocle.demo.pictures import CONDITIONS, DemoPicture
from robocle.demo.run import DemoResult
from robocle.demo.unknown import KINDS, Outcome
from robocle.images.thumbnails import jpeg_address
from robocle.recognition.rates import DEFAULT_RATE
from robocle.reports.pages import render_page, write_page
from robocle.reports.tables import Cell, Row, Table

MEAN = "mean without clean"
ALL = "all conditions"
Item = TypeVar("Item")
EXAMPLES = 8
UNKNOWN_EXAMPLES = 24
REJECTED_EXAMPLES = 8
SHOWN_CATEGORY = "mug"
"""The category that illustrates the conditions."""
METHODS_IN_WORDS = {
    "NCM": "Nearest class mean: the label whose mean embedding is nearest. Average pooling.",
    "SLDA": "Streaming linear discriminant analysis, as published: one running covariance for all "
    "labels. Average pooling.",
    "RobOCLe, as printed": "The method that robocle is named after, to the letter of its paper: "
    "mean, standard deviation and standardised skewness of each channel, with SLDA.",
    "RobOCLe, root": "The same, with moments of one scale: the cube root of the third central "
    "moment instead of the skewness.",
    "robocle default": "What robocle.Learner() does: rooted moments around the centre, of two maps "
    "of the network, exact within-class scatter, estimated shrinkage, cosine scores, and two views "
    "of each taught picture.",
}
"""The rows of the tables."""


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


def outcome_table(result: DemoResult) -> Table:
    """Return the percentage of each answer for the taught objects, by condition."""
    rows = tuple(
        Row(outcome, tuple(Cell(result.share_of(outcome, each)) for each in (*CONDITIONS, "")))
        for outcome in get_args(Outcome)
    )
    return Table("Answers for the taught objects", (*CONDITIONS, ALL), rows, decimals=1)


def unknown_table(result: DemoResult) -> Table:
    """Return the percentage of pictures that are called unknown, by kind and condition."""
    rows = tuple(
        Row(words, tuple(Cell(result.called_unknown(kind, each)) for each in (*CONDITIONS, "")))
        for kind, words in KINDS.items()
    )
    return Table("Unknown objects", (*CONDITIONS, ALL), rows, decimals=1)


def write_report(result: DemoResult, path: Path) -> None:
    """Write the page of the demo.

    Raises:
        RobocleError: The file cannot be written.
    """
    not_taught = [each for each in result.open_set if each.kind == "not taught"]
    rejected = [
        each for each in result.open_set if each.kind == "taught" and each.is_called_unknown
    ]
    categories = sorted({picture.category for picture in result.taught})
    html = render_page(
        "demo",
        result=result,
        categories=categories,
        shots=len(result.taught) // len(categories),
        highlights=_highlights(result),
        taught=_taught_examples(result),
        conditions=list(_conditions(result)),
        methods=[(m.method.name, METHODS_IN_WORDS[m.method.name]) for m in result.methods],
        tables=list(zip(tables(result), _explanations(result), strict=True)),
        rate=DEFAULT_RATE,
        unknown=unknown_table(result),
        outcomes=outcome_table(result),
        counts=_counts(result),
        every=_step(len(not_taught), UNKNOWN_EXAMPLES),
        not_taught=_spread(not_taught, UNKNOWN_EXAMPLES),
        rejected=_spread(rejected, REJECTED_EXAMPLES),
        examples={condition: _examples(result, condition) for condition in CONDITIONS},
        data_url=lambda picture: jpeg_address(picture.path.read_bytes()),
    )
    write_page(path, html)


def _highlights(result: DemoResult) -> list[tuple[str, str]]:
    """Numbers that stand out, each with what it is."""
    default, published = result.methods[-1], result.methods[2]
    here = result.mean_of_others(default, other_instance=False)
    there = result.mean_of_others(published, other_instance=False)
    not_taught = result.called_unknown("not taught")
    shares = [f"{result.share_of(outcome):.0f}" for outcome in get_args(Outcome)]
    return [
        (f"{here:.1f} %", "of the pictures of taught objects recognised, mean over five conditions "
         f"that were not taught; RobOCLe, as printed: {there:.1f} %"),
        (f"{not_taught:.0f} %", "of the pictures of objects that were not taught called "
         "unknown"),
        (f"{' / '.join(shares)} %", "right / unknown / wrong: the pictures of taught objects, over "
         "all conditions, if unknown is a possible answer"),
        (f"{default.state_bytes / 1e6:.1f} MB", "for everything that was learned, without the "
         "network"),
    ]  # fmt: skip


def _explanations(result: DemoResult) -> tuple[str, str]:
    """What each of the tables shows, and on how many pictures."""
    same, other = (result.count(other_instance=each) for each in (False, True))
    return (
        f"{plural(same, 'picture')} of the objects that were taught: the same mug, seen again.",
        f"{plural(other, 'picture')} of objects that were not taught, but whose category was: "
        "another mug.",
    )


def _taught_examples(result: DemoResult) -> list[DemoPicture]:
    """The first taught picture of each category."""
    return list({picture.category: picture for picture in reversed(result.taught)}.values())[::-1]


def _conditions(result: DemoResult) -> Iterator[tuple[str, str, DemoPicture, int]]:
    """Each condition in words, with a picture of one object in it and the number of pictures."""
    for condition, words in CONDITIONS.items():
        tested = [picture for picture in result.tested if picture.condition == condition]
        shown = [picture for picture in tested if picture.category == SHOWN_CATEGORY] or tested
        yield condition, words, shown[0], len(tested)


def _counts(result: DemoResult) -> str:
    """The number of pictures behind each row of the table of unknown objects."""
    counts = Counter(each.kind for each in result.open_set)
    listed = (f"{plural(counts[kind], 'picture')} of {words}" for kind, words in KINDS.items())
    return f"Over the three rounds: {', '.join(listed)}."


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
