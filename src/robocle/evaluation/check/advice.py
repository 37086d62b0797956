"""Advice: which labels are recognised too rarely, in which condition, and what to do about it."""

from collections import Counter
from dataclasses import dataclass

from robocle.evaluation.check.conditions import CLEAN, CORRUPTED, IN_WORDS
from robocle.evaluation.check.result import CheckResult, Tally, under_corruption
from robocle.evaluation.corruptions import corruption
from robocle.recognition.readiness import READY


@dataclass(frozen=True)
class Weakness:
    """A label that is recognised too rarely.

    Attributes:
        label: The label.
        is_taught: Whether the learner was taught the label.
        condition: The corruption under which the label is recognised least often.
        clean: The tally of the clean pictures.
        corrupted: The tally in `condition`.
        taken_for: The most frequent wrong prediction in `condition`; None if that is "unknown".
    """

    label: str
    is_taught: bool
    condition: str
    clean: Tally
    corrupted: Tally
    taken_for: str | None

    @property
    def advice(self) -> str:
        """What to do."""
        if not self.is_taught:
            return "teach it, or test with a smaller --false-accept"
        # An object that is not even recognised in clean pictures needs more pictures of any kind.
        condition = CLEAN if self.clean.shares[0] < READY else self.condition
        return corruption(condition).advice

    def __str__(self) -> str:
        right = "right" if self.is_taught else "called unknown"
        mistake = f"taken for {self.taken_for}" if self.taken_for else "called unknown"
        return (
            f"{self.label}: {self.clean} {right} {IN_WORDS[CLEAN]}, {self.corrupted} "
            f"{IN_WORDS[self.condition]}, otherwise mostly {mistake}: {self.advice}"
        )


def weaknesses(result: CheckResult) -> list[Weakness]:
    """Return the labels that are recognised too rarely in some condition, worst first."""
    found = []
    for label, is_taught in result.labels.items():
        tallies = result.of_label(label)
        worst = min(CORRUPTED, key=lambda condition: tallies[condition].right)
        if tallies[worst].shares[0] < READY or tallies[CLEAN].shares[0] < READY:
            taken_for = _most_frequent_mistake(result, label, worst)
            weakness = Weakness(label, is_taught, worst, tallies[CLEAN], tallies[worst], taken_for)
            found.append((under_corruption(tallies).shares[0], weakness))
    return [weakness for _, weakness in sorted(found, key=lambda each: each[0])]


def _most_frequent_mistake(result: CheckResult, label: str, condition: str) -> str | None:
    mistakes = [each for each in result.predictions_of(label) if each.outcome != "right"]
    there = [each for each in mistakes if each.condition == condition] or mistakes
    return Counter(each.predicted for each in there).most_common(1)[0][0]
