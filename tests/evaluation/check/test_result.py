"""How answers are plural, and what is said about them."""

from pathlib import Path

from robocle.evaluation.check.advice import TO_DO, weaknesses
from robocle.evaluation.check.conditions import CHANGED, CONDITIONS
from robocle.evaluation.check.result import Answer, CheckResult, Tally, changed_mean
from robocle.reports.check_table import as_text
from robocle.types import Example


def answers(label: str, said: dict[str, str | None], *, taught: bool = True) -> list[Answer]:
    """One answer a condition: the label itself where nothing else is said."""
    picture = Example(Path(label) / "0.jpg", label)
    own = label if taught else None
    return [Answer(picture, taught, each, 0, said.get(each, own)) for each in CONDITIONS]


def test_a_known_thing_is_right_unknown_or_wrong() -> None:
    found = answers("mug", {"noise": None, "blur": "bowl"})
    assert [each.outcome for each in found] == ["right", "right", "right", "unknown", "wrong"]


def test_a_thing_that_was_not_taught_is_right_when_it_is_called_unknown() -> None:
    found = answers("stool", {"blur": "chair"}, taught=False)
    assert [each.outcome for each in found] == ["right"] * 4 + ["wrong"]


def test_the_mean_is_that_of_the_changed_conditions() -> None:
    result = CheckResult(tuple(answers("mug", {"noise": None, "blur": "bowl"})), "a learner")
    tallies = result.by_condition(taught=True)
    assert tallies["clean"] == Tally(right=1)
    assert changed_mean(tallies) == Tally(right=2, unknown=1, wrong=1)
    assert changed_mean(tallies).asked == len(CHANGED)


def test_the_label_that_suffers_most_comes_first_with_what_to_do() -> None:
    result = CheckResult(
        (
            *answers("ball", {}),
            *answers("mug", {"blur": "bowl"}),
            *answers("cup", {"noise": None, "illum": None}),
            *answers("box", {"clean": "mug", "blur": "mug", "geom": "mug", "noise": "mug"}),
        ),
        "a learner",
    )
    box, cup, mug = weaknesses(result)
    assert (box.label, box.taken_for, box.advice) == ("box", "mug", TO_DO["clean"])
    assert (cup.label, cup.taken_for, cup.advice) == ("cup", None, TO_DO["illum"])
    assert str(mug) == (
        "mug: 1 of 1 right as it is, 0 of 1 out of focus, else mostly taken for bowl: "
        + TO_DO["blur"]
    )


def test_what_holds_needs_no_advice() -> None:
    assert as_text(CheckResult(tuple(answers("ball", {})), "a learner")).endswith(
        "\n\nevery label holds in every condition"
    )


def test_things_that_were_not_taught_have_a_table_of_their_own() -> None:
    strange = answers("stool", {"blur": "chair"}, taught=False)
    text = as_text(CheckResult((*answers("ball", {}), *strange), "home.robocle"))
    assert 'things that were not taught ("unknown" is right): stool' in text
    assert "stool: 1 of 1 called unknown as it is, 0 of 1 out of focus" in text
    assert text.count("mean of the four") == 2
