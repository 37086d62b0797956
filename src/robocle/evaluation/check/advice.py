"""Which labels suffer most, where, and what to do about it."""

from collections import Counter
from dataclasses import dataclass

from robocle.evaluation.check.conditions import CHANGED, CLEAN, IN_WORDS
from robocle.evaluation.check.result import CheckResult, Tally, changed_mean
from robocle.recognition.readiness import READY

TO_DO = {
    "clean": "show two more, turned or moved",
    "illum": "show it by the window, under a lamp and in the shade, too",
    "geom": "show it turned, tilted, from further away and away from the middle, too",
    "noise": "show it in dim light, too, or give the camera more light",
    "blur": "show it a little out of focus, too, or wipe the lens",
}


@dataclass(frozen=True)
class Weakness:
    """A label, and the condition in which it is recognised least."""

    label: str
    is_taught: bool
    condition: str
    clean: Tally
    changed: Tally
    """In that condition."""
    taken_for: str | None
    """The most frequent wrong answer there; None if that is "unknown"."""

    @property
    def advice(self) -> str:
        """What to do."""
        if not self.is_taught:
            return "teach it, or ask with a larger --unknown"
        # What is not even recognised as it is lacks pictures of any kind.
        return TO_DO[CLEAN if self.clean.shares[0] < READY else self.condition]

    def __str__(self) -> str:
        said = "right" if self.is_taught else "called unknown"
        mistake = f"taken for {self.taken_for}" if self.taken_for else "called unknown"
        return (
            f"{self.label}: {self.clean} {said} {IN_WORDS[CLEAN]}, {self.changed} "
            f"{IN_WORDS[self.condition]}, else mostly {mistake}: {self.advice}"
        )


def weaknesses(result: CheckResult) -> list[Weakness]:
    """The labels that are recognised too rarely in some condition, the worst first."""
    found = []
    for label, is_taught in result.labels.items():
        tallies = result.of_label(label)
        worst = min(CHANGED, key=lambda condition: tallies[condition].right)
        if tallies[worst].shares[0] < READY or tallies[CLEAN].shares[0] < READY:
            taken_for = _most_frequent_mistake(result, label, worst)
            weakness = Weakness(label, is_taught, worst, tallies[CLEAN], tallies[worst], taken_for)
            found.append((changed_mean(tallies).shares[0], weakness))
    return [weakness for _, weakness in sorted(found, key=lambda each: each[0])]


def _most_frequent_mistake(result: CheckResult, label: str, condition: str) -> str | None:
    answers = [answer for answer in result.answers_of(label) if answer.outcome != "right"]
    there = [answer for answer in answers if answer.condition == condition] or answers
    return Counter(answer.said for answer in there).most_common(1)[0][0]
