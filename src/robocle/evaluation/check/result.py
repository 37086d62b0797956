"""What a check found: every answer, and how often it was right."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from robocle.evaluation.check.conditions import CHANGED, CONDITIONS
from robocle.types import Example
from robocle.wording import plural


@dataclass(frozen=True, slots=True)
class Answer:
    """What a learner said of one picture in one condition."""

    picture: Example
    is_taught: bool
    """Whether the learner knows the label; if not, "unknown" is the right answer."""
    condition: str
    draw: int
    said: str | None

    @property
    def outcome(self) -> str:
        """ "right", "unknown" or "wrong"."""
        if self.said == (self.picture.label if self.is_taught else None):
            return "right"
        return "unknown" if self.said is None else "wrong"


@dataclass(frozen=True)
class Tally:
    """How many answers were right, how many called a known thing unknown, how many were wrong."""

    right: int = 0
    unknown: int = 0
    wrong: int = 0

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> "Tally":
        """Count answers."""
        return cls(**Counter(answer.outcome for answer in answers))

    @property
    def asked(self) -> int:
        """How many answers there are."""
        return self.right + self.unknown + self.wrong

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares of right, unknown and wrong answers."""
        asked = max(self.asked, 1)
        return self.right / asked, self.unknown / asked, self.wrong / asked

    def __str__(self) -> str:
        return f"{self.right} of {self.asked}"


@dataclass(frozen=True)
class CheckResult:
    """All answers of a check, and the pictures that could not take part."""

    answers: tuple[Answer, ...]
    asked: str
    """Who was asked, in words."""
    unreadable: tuple[str, ...] = ()
    """What is wrong with each picture that could not be read."""
    copies: tuple[str, ...] = ()
    """Pictures that are copies of others, which would give away the answer."""

    @cached_property
    def labels(self) -> dict[str, bool]:
        """The labels in the order they were asked about, and whether each is taught."""
        return {answer.picture.label: answer.is_taught for answer in self.answers}

    @cached_property
    def pictures(self) -> tuple[Path, ...]:
        """The pictures that were asked about."""
        return tuple(dict.fromkeys(answer.picture.path for answer in self.answers))

    @property
    def summary(self) -> str:
        """What was done, in one line."""
        draws = 1 + max(answer.draw for answer in self.answers)
        times = "once" if draws == 1 else f"{draws} times"
        return (
            f"{plural(len(self.pictures), 'picture')} of {plural(len(self.labels), 'label')}, "
            f"each shown as it is and {times} in every other condition to {self.asked}"
        )

    def by_condition(self, *, taught: bool) -> dict[str, Tally]:
        """A tally a condition, of the things that were taught or of the others."""
        asked = [answer for answer in self.answers if answer.is_taught == taught]
        return _by_condition(asked)

    def of_label(self, label: str) -> dict[str, Tally]:
        """A tally a condition, of one label."""
        return _by_condition(self.answers_of(label))

    def answers_of(self, label: str) -> list[Answer]:
        """The answers to all pictures of a label."""
        return self._by_label[label]

    @cached_property
    def _by_label(self) -> dict[str, list[Answer]]:
        groups: dict[str, list[Answer]] = {label: [] for label in self.labels}
        for answer in self.answers:
            groups[answer.picture.label].append(answer)
        return groups


def changed_mean(tallies: dict[str, Tally]) -> Tally:
    """All changed conditions together: each was asked equally often."""
    changed = [tallies[condition] for condition in CHANGED]
    return Tally(
        sum(each.right for each in changed),
        sum(each.unknown for each in changed),
        sum(each.wrong for each in changed),
    )


def _by_condition(answers: list[Answer]) -> dict[str, Tally]:
    return {
        condition: Tally.of(answer for answer in answers if answer.condition == condition)
        for condition in CONDITIONS
    }
