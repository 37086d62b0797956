"""How predictions are counted, and which advice follows."""

from pathlib import Path

from robocle.evaluation.check_result import (
    CONDITIONS,
    CORRUPTED,
    CheckedPrediction,
    CheckResult,
    Tally,
    under_corruption,
    weaknesses,
)
from robocle.evaluation.corruptions import corruption
from robocle.reports.check import as_text
from robocle.types import Example


def predictions(
    label: str, mistakes: dict[str, str | None], *, taught: bool = True
) -> list[CheckedPrediction]:
    """One prediction per condition, right except for the given mistakes."""
    picture = Example(Path(label) / "0.jpg", label)
    right = label if taught else None
    return [
        CheckedPrediction(picture, taught, each, 0, mistakes.get(each, right))
        for each in CONDITIONS
    ]


def test_a_taught_object_is_right_unknown_or_wrong() -> None:
    found = predictions("mug", {"noise": None, "blur": "bowl"})
    assert [each.outcome for each in found] == ["right", "right", "right", "unknown", "wrong"]


def test_an_object_that_was_not_taught_is_right_when_it_is_called_unknown() -> None:
    found = predictions("stool", {"blur": "chair"}, taught=False)
    assert [each.outcome for each in found] == ["right"] * 4 + ["wrong"]


def test_the_tally_under_corruption_leaves_out_clean_pictures() -> None:
    result = CheckResult(tuple(predictions("mug", {"noise": None, "blur": "bowl"})), "a learner")
    tallies = result.by_condition(taught=True)
    assert tallies["clean"] == Tally(right=1)
    assert under_corruption(tallies) == Tally(right=2, unknown=1, wrong=1)
    assert under_corruption(tallies).total == len(CORRUPTED)


def test_the_weakest_label_comes_first_with_what_to_do() -> None:
    result = CheckResult(
        (
            *predictions("ball", {}),
            *predictions("mug", {"blur": "bowl"}),
            *predictions("cup", {"noise": None, "illum": None}),
            *predictions("box", {"clean": "mug", "blur": "mug", "geom": "mug", "noise": "mug"}),
        ),
        "a learner",
    )
    box, cup, mug = weaknesses(result)
    assert (box.label, box.taken_for, box.advice) == ("box", "mug", corruption("clean").advice)
    assert (cup.label, cup.taken_for, cup.advice) == ("cup", None, corruption("illum").advice)
    assert str(mug) == (
        "mug: 1 of 1 right as it is, 0 of 1 out of focus, otherwise mostly taken for bowl: "
        + corruption("blur").advice
    )


def test_a_label_that_is_always_recognised_gets_no_advice() -> None:
    assert as_text(CheckResult(tuple(predictions("ball", {})), "a learner")).endswith(
        "\n\nevery label is recognised well in every condition"
    )


def test_objects_that_were_not_taught_have_a_table_of_their_own() -> None:
    unknown = predictions("stool", {"blur": "chair"}, taught=False)
    text = as_text(CheckResult((*predictions("ball", {}), *unknown), "home.robocle"))
    assert 'objects that were not taught ("unknown" is right): stool' in text
    assert "stool: 1 of 1 called unknown as it is, 0 of 1 out of focus" in text
    assert text.count("all but clean") == 2
