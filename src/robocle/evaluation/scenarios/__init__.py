"""Scenarios: from the pictures of a data set to a stream that is taught and the tests of it.

    scenario("class_iid:shots=5").stream(examples, seed=0)

Taught and test pictures are drawn together, so no picture is both. Draws are keyed by (seed,
purpose, label) and made from sorted pictures: the same seed produces the same stream for any order
of the listing, and five shots are the first five of ten. A new scenario is one class and one line
in `SCENARIOS`; the draws that scenarios share are here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from robocle._internal.randomness import Key, keyed_rng
from robocle.errors import DataError
from robocle.evaluation.keys import content_or_none
from robocle.registry import Registry
from robocle.spec import require_between, require_choice
from robocle.types import Example

Item = TypeVar("Item")
Count = int | Literal["all"]
Few = Literal["error", "skip"]
"""What to do about a class with too few pictures."""

MOST = 1_000_000


@dataclass(frozen=True)
class Stream:
    """Steps to teach in order, and tests by name.

    After each step, a test covers those of its pictures whose labels have been taught.
    """

    steps: tuple[tuple[Example, ...], ...]
    tests: Mapping[str, tuple[Example, ...]]

    @classmethod
    def of(
        cls, steps: Iterable[Iterable[Example]], tests: Mapping[str, Iterable[Example]]
    ) -> "Stream":
        """Return the stream of some steps and tests, without tests that have no pictures.

        Raises:
            DataError: There are no steps.
        """
        taught = tuple(tuple(step) for step in steps)
        if not taught:
            raise DataError("no class has enough pictures to teach and to test: use fewer shots")
        tested = {name: tuple(pictures) for name, pictures in tests.items()}
        return cls(taught, {name: pictures for name, pictures in tested.items() if pictures})

    def copies(self) -> set[Path]:
        """Return the test pictures whose content is that of a taught picture."""
        taught = {content_or_none(example.path) for example in self.taught} - {None}
        return {each.path for each in self.tested if content_or_none(each.path) in taught}

    def disjoint_in(self, what: str) -> "Stream":
        """Return the stream, if "content", without test pictures whose content was taught.

        Raises:
            DataError: No picture would be left to test.
        """
        if what != "content":
            return self
        copies = self.copies()
        tests = {
            name: [example for example in test if example.path not in copies]
            for name, test in self.tests.items()
        }
        if not any(tests.values()):
            raise DataError("every test picture is a copy of a taught one: add other pictures")
        return Stream.of(self.steps, tests)

    @property
    def taught(self) -> list[Example]:
        """All taught pictures, in order."""
        return [example for step in self.steps for example in step]

    @property
    def tested(self) -> list[Example]:
        """All test pictures, test by test."""
        return [example for test in self.tests.values() for example in test]


class Scenario(Protocol):
    """A way to make streams out of the pictures of a data set."""

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Return the stream of a seed.

        Args:
            examples: The pictures of the data set, in any order.
            seed: Decides the order of the classes and the choice of the pictures.

        Raises:
            DataError: The pictures do not suffice.
        """


SCENARIOS: Registry[Scenario] = Registry(
    "scenario",
    {
        "class_iid": "robocle.evaluation.scenarios.classes:ClassIid",
        "low_shot_instance": "robocle.evaluation.scenarios.videos:LowShotVideos",
        "instance": "robocle.evaluation.scenarios.videos:AllVideos",
        "new_classes": "robocle.evaluation.scenarios.videos:NewClasses",
        "cross_domain": "robocle.evaluation.scenarios.classes:CrossDomain",
    },
)


def scenario(spec: str) -> Scenario:
    """Return the scenario that a spec describes.

    Args:
        spec: Such as "class_iid:shots=5".

    Raises:
        SpecError: The spec names an unknown scenario or option.

    Example:
        >>> scenario("instance:steps=10")
        AllVideos(steps=10, frames='all', disjoint='pictures')
    """
    return SCENARIOS.build(spec)


def split_pools(examples: Iterable[Example]) -> tuple[list[Example], list[Example]]:
    """Return the pictures that may be taught and those that may be tested, sorted.

    Without an official split, each picture may be either.
    """
    ordered = sorted(examples, key=lambda example: str(example.path))
    if not any(example.split for example in ordered):
        return ordered, ordered
    train = [example for example in ordered if example.split == "train"]
    return train, [example for example in ordered if example.split == "test"]


def grouped(
    examples: Iterable[Example], group: Callable[[Example], str]
) -> dict[str, list[Example]]:
    """Return the pictures by group, in their order."""
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[group(example)].append(example)
    return dict(groups)


def by_label(examples: Iterable[Example]) -> dict[str, list[Example]]:
    """Return the pictures by label."""
    return grouped(examples, lambda example: example.label)


def with_labels_of(taught: Iterable[Example], pictures: Iterable[Example]) -> list[Example]:
    """Return those of the pictures whose label is among the taught ones."""
    labels = {example.label for example in taught}
    return [example for example in pictures if example.label in labels]


def shuffled(items: Sequence[Item], seed: int, *key: Key) -> list[Item]:
    """Return the items in the random order that belongs to a seed and a key."""
    return [items[place] for place in keyed_rng(seed, *key).permutation(len(items))]


def evenly_spaced(items: Sequence[Item], count: int) -> list[Item]:
    """Return at most that many of the items, evenly spaced from the first on."""
    count = min(count, len(items))
    return [items[place * len(items) // count] for place in range(count)]


def require_count(option: str, value: Count) -> None:
    """Raise a SpecError for a value that is neither a positive number nor "all"."""
    if isinstance(value, str):
        require_choice(option, value, ("all",))
    else:
        require_between(option, value, 1, MOST)


def is_enough(
    label: str, taught: Sequence[Example], tested: Sequence[Example], wanted: Count, few: Few
) -> bool:
    """Return whether a class has enough pictures to be taught and tested.

    Raises:
        DataError: It has not, and `few` is "error".
    """
    needed = 1 if isinstance(wanted, str) else wanted
    if len(taught) >= needed and tested:
        return True
    if few == "skip":
        return False
    found = len(taught) + len(tested)
    split = f"{len(taught)} to teach and {len(tested)} others to test"
    raise DataError(
        f"{needed + 1} pictures of each class are needed, {needed} to teach and 1 to test; {label} "
        f"has {found if found <= needed else split}: use fewer shots, or leave such classes out "
        "with few=skip"
    )
