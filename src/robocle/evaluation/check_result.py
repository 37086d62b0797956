"""The result of a check: every prediction, how many of them were right, and advice.

Pictures are tested clean and under several draws of each corruption. A draw is keyed by the seed,
the content of the picture, the number of the draw and the corruption. So a check can be repeated to
the pixel, and it does not matter how a picture is named.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from robocle._internal.wording import plural
from robocle.backbones import Backbone
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.evaluation.keys import content_hash
from robocle.images import to_pixels
from robocle.recognition.readiness import READY
from robocle.types import Example, Pixels

CLEAN = "clean"
CORRUPTED = tuple(name for name in CORRUPTIONS.names() if corruption(name).checked)
CONDITIONS = (CLEAN, *CORRUPTED)
IN_WORDS = {name: corruption(name).in_words for name in CONDITIONS}
Outcome = Literal["right", "unknown", "wrong"]


@dataclass(frozen=True)
class CorruptedPicture:
    """A picture in one condition, as the backbone gets it."""

    condition: str
    draw: int
    pixels: Pixels


@dataclass(frozen=True)
class Conditions:
    """How pictures are corrupted.

    Attributes:
        seed: Decides all draws.
        draws: How often each corruption is drawn per picture.
    """

    seed: int = 0
    draws: int = 3

    def apply(self, picture: Path | bytes, backbone: Backbone) -> Iterator[CorruptedPicture]:
        """Yield a picture clean and then under each draw of each corruption.

        Args:
            picture: The file, or its bytes.
            backbone: Decides the size of the pixels and the unit of the noise.

        Raises:
            ImageError: The picture cannot be read.
        """
        content = content_hash(picture)
        pixels = to_pixels(picture, backbone.input_size)
        yield CorruptedPicture(CLEAN, 0, pixels)
        for name in CORRUPTED:
            corrupt = corruption(name, unit=backbone.pixel_unit)
            for draw in range(self.draws):
                rng = corruption_rng(self.seed, f"{content}/{draw}", name)
                yield CorruptedPicture(name, draw, corrupt(pixels, rng))


@dataclass(frozen=True, slots=True)
class CheckedPrediction:
    """The prediction for one picture in one condition.

    Attributes:
        picture: The picture and its label.
        is_taught: Whether the learner was taught the label. If not, "unknown" is right.
        condition: The name of the corruption, or "clean".
        draw: The number of the draw.
        predicted: The predicted label; None is "unknown".
    """

    picture: Example
    is_taught: bool
    condition: str
    draw: int
    predicted: str | None

    @property
    def outcome(self) -> Outcome:
        """Whether the prediction is right, "unknown" although the label was taught, or wrong."""
        if self.predicted == (self.picture.label if self.is_taught else None):
            return "right"
        return "unknown" if self.predicted is None else "wrong"


@dataclass(frozen=True)
class Tally:
    """How many predictions were right, "unknown" for a taught object, and wrong.

    Example:
        >>> tally = Tally(right=3, wrong=1)
        >>> str(tally), tally.shares
        ('3 of 4', (0.75, 0.0, 0.25))
    """

    right: int = 0
    unknown: int = 0
    wrong: int = 0

    @classmethod
    def of(cls, predictions: Iterable[CheckedPrediction]) -> "Tally":
        """Return the tally of some predictions."""
        counts = Counter(each.outcome for each in predictions)
        return cls(counts["right"], counts["unknown"], counts["wrong"])

    @property
    def total(self) -> int:
        """The number of predictions."""
        return self.right + self.unknown + self.wrong

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares of right, unknown and wrong predictions, from 0 to 1."""
        total = max(self.total, 1)
        return self.right / total, self.unknown / total, self.wrong / total

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.right + other.right, self.unknown + other.unknown, self.wrong + other.wrong
        )

    def __str__(self) -> str:
        return f"{self.right} of {self.total}"


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        predictions: All predictions.
        tested: Which learner was tested, in words.
        unreadable: One message per picture that could not be read.
        copies: One message per picture that is a copy of another one and was left out.
        nothing: How many pictures of nothing were called unknown, and how many were tested; None if
            the learner calls no picture unknown.
    """

    predictions: tuple[CheckedPrediction, ...]
    tested: str
    unreadable: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    nothing: tuple[int, int] | None = None

    @cached_property
    def labels(self) -> dict[str, bool]:
        """The labels in the order they were tested, and whether each was taught."""
        return {each.picture.label: each.is_taught for each in self.predictions}

    @cached_property
    def pictures(self) -> tuple[Path, ...]:
        """The tested pictures."""
        return tuple(dict.fromkeys(each.picture.path for each in self.predictions))

    @property
    def summary(self) -> str:
        """What was tested, in one line."""
        draws = 1 + max(each.draw for each in self.predictions)
        times = "once" if draws == 1 else f"{draws} times"
        return (
            f"{plural(len(self.pictures), 'picture')} of {plural(len(self.labels), 'label')}, "
            f"each tested clean and {times} under each corruption, on {self.tested}"
        )

    def by_condition(self, *, taught: bool) -> dict[str, Tally]:
        """Return one tally per condition, of the taught labels or of the others."""
        return _by_condition(each for each in self.predictions if each.is_taught == taught)

    def of_label(self, label: str) -> dict[str, Tally]:
        """Return one tally per condition, of one label."""
        return _by_condition(self.predictions_of(label))

    def predictions_of(self, label: str) -> list[CheckedPrediction]:
        """Return the predictions for all pictures of a label."""
        return self._by_label[label]

    @cached_property
    def _by_label(self) -> dict[str, list[CheckedPrediction]]:
        groups: dict[str, list[CheckedPrediction]] = {label: [] for label in self.labels}
        for each in self.predictions:
            groups[each.picture.label].append(each)
        return groups


def under_corruption(tallies: Mapping[str, Tally]) -> Tally:
    """Return the sum of the tallies of all conditions but clean."""
    return sum((tallies[name] for name in CORRUPTED), Tally())


def _by_condition(predictions: Iterable[CheckedPrediction]) -> dict[str, Tally]:
    groups: dict[str, list[CheckedPrediction]] = {name: [] for name in CONDITIONS}
    for each in predictions:
        groups[each.condition].append(each)
    return {name: Tally.of(group) for name, group in groups.items()}


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
