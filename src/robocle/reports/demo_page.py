"""The page of the demo: what was taught and tested, tables, and example pictures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from robocle._internal.wording import plural
from robocle.demo.pictures import CONDITIONS, DemoPicture
from robocle.demo.run import DemoResult
from robocle.demo.unknown import KINDS, Outcome
from robocle.images.thumbnails import jpeg_address
from robocle.recognition import DEFAULT_RATE
from robocle.reports.demo_table import outcome_table, tables, unknown_table
from robocle.reports.pages import render_page, write_page

Item = TypeVar("Item")
Figures = list[tuple[str, str]]
"""Numbers that stand out, each with what it is."""

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


def _highlights(result: DemoResult) -> Figures:
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
