"""Scenarios: from the pictures of a data set to a stream, and the pictures that test it.

    scenario("class_iid:shots=5").stream(examples, seed=0)

What is taught and what tests it are drawn together, so no picture is both. Draws are keyed by
(seed, what for, label) and made on sorted pictures: the same seed gives the same stream whatever
the order of the listing, and five shots are the first five of ten.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

from robocle.errors import DataError
from robocle.randomness import Key, keyed_rng
from robocle.registry import Registry
from robocle.spec import require_between, require_choice, suggestion
from robocle.types import Example

Item = TypeVar("Item")
MOST = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """Steps to teach in order, and tests by name.

    After each step, a test asks those of its pictures whose labels have been taught.
    """

    steps: tuple[tuple[Example, ...], ...]
    tests: Mapping[str, tuple[Example, ...]]


class ScenarioKind(Protocol):
    """A way to make a stream out of pictures."""

    def stream(self, examples: Iterable[Example], seed: int) -> Scenario: ...


SCENARIOS: Registry[ScenarioKind] = Registry(
    "scenario",
    {
        "class_iid": "robocle.evaluation.scenarios:ClassIid",
        "low_shot_instance": "robocle.evaluation.scenarios:LowShotVideos",
        "instance": "robocle.evaluation.scenarios:AllVideos",
        "cross_domain": "robocle.evaluation.scenarios:CrossDomain",
    },
)


def scenario(spec: str) -> ScenarioKind:
    """The kind of scenario a spec describes, such as "class_iid:shots=5"."""
    return SCENARIOS.build(spec)


class ClassIid:
    """One class a step: a few random pictures of it; its other pictures test."""

    def __init__(
        self,
        shots: int | str = 5,
        disjoint: str = "pictures",
        few: str = "error",
        known: str = "all",
    ) -> None:
        _require_count("shots", shots)
        require_choice("disjoint", disjoint, ("pictures", "instances"))
        require_choice("few", few, ("error", "skip"))
        require_choice("known", known, ("all", "half"))
        self.shots, self.disjoint, self.few, self.known = shots, disjoint, few, known

    def stream(self, examples: Iterable[Example], seed: int) -> Scenario:
        """Teach from the train split and test on the test split, where the data have them."""
        to_teach, to_test = _pools(examples)
        lessons, questions = _by_label(to_teach), _by_label(to_test)
        steps, tests = [], []
        for label in _shuffled(sorted({*lessons, *questions}), seed, "class order"):
            taught = self._drawn(lessons.get(label, []), seed, label)
            asked = self.apart(questions.get(label, []), taught)
            if _enough(label, taught, asked, self.shots, self.few):
                steps.append(taught)
                tests += asked
        return _scenario(steps[: self._taught_of(len(steps))], {"test": tests})

    def _taught_of(self, classes: int) -> int:
        """How many of the classes are taught; of the others there are questions only."""
        return (classes + 1) // 2 if self.known == "half" else classes

    def apart(self, asked: Iterable[Example], taught: Iterable[Example]) -> list[Example]:
        """Those of the asked pictures that share no picture, or no instance, with the taught."""
        if self.disjoint == "pictures":
            paths = {example.path for example in taught}
            return [example for example in asked if example.path not in paths]
        instances = {(example.label, _instance(example)) for example in taught}
        return [
            example for example in asked if (example.label, _instance(example)) not in instances
        ]

    def _drawn(self, pool: Sequence[Example], seed: int, label: str) -> list[Example]:
        drawn = _shuffled(pool, seed, "pictures", label)
        if self.disjoint == "instances":  # one thing after the other, so that few are used up
            things = sorted({_instance(example) for example in pool})
            rank = {thing: n for n, thing in enumerate(_shuffled(things, seed, "things", label))}
            drawn.sort(key=lambda example: rank[example.instance])
        return drawn if isinstance(self.shots, str) else drawn[: self.shots]


class CrossDomain:
    """Classes taught in one domain, a few pictures each, and tested in it and in all others."""

    def __init__(
        self,
        shots: int | str = 5,
        domain: str = "clean",
        disjoint: str = "pictures",
        few: str = "error",
        known: str = "all",
    ) -> None:
        self._in_domain = ClassIid(shots, disjoint, few, known)
        self.shots, self.domain, self.disjoint, self.few = shots, domain, disjoint, few
        self.known = known

    def stream(self, examples: Iterable[Example], seed: int) -> Scenario:
        """The test "same" is the rest of the domain; the others bear their domain's name."""
        domains = _grouped(examples, lambda example: example.domain)
        if self.domain not in domains:
            known = [name for name in domains if name]
            raise DataError(
                f"no picture is of domain {self.domain!r}: "
                + (suggestion(self.domain, known) if known else "the data have no domains")
            )
        if "same" in domains:
            raise DataError("a domain may not be called 'same': rename its folder")
        try:
            here = self._in_domain.stream(domains.pop(self.domain), seed)
        except DataError as error:
            raise DataError(f"in domain {self.domain}, {error}") from error
        taught = [example for step in here.steps for example in step]
        same = here.tests["test"]
        tests: dict[str, Iterable[Example]] = {"same": same}
        for name in sorted(domains):
            tests[name] = self._in_domain.apart(_tests_of(same, _pools(domains[name])[1]), taught)
        return _scenario(here.steps, tests)


class LowShotVideos:
    """One class a step: the frames of one random video of it, in order (OpenLORIS-small)."""

    def __init__(self, frames: int | str = "all", few: str = "error") -> None:
        _require_count("frames", frames)
        require_choice("few", few, ("error", "skip"))
        self.frames, self.few = frames, few

    def stream(self, examples: Iterable[Example], seed: int) -> Scenario:
        """Teach videos of the train split; all of the test split tests."""
        videos, to_test = _train_videos(examples, "low_shot_instance")
        choices, questions = _by_label(frames[0] for frames in videos.values()), _by_label(to_test)
        steps, tests = [], []
        for label in _shuffled(sorted({*choices, *questions}), seed, "class order"):
            drawn = _shuffled(choices.get(label, []), seed, "video", label)[:1]
            taught = _spread(videos[drawn[0].video], self.frames) if drawn else []
            if _enough(label, taught, questions.get(label, []), 1, self.few):
                steps.append(taught)
                tests += questions[label]
        return _scenario(steps, {"test": tests})


class AllVideos:
    """All videos in random order, their frames in order; classes come again (OpenLORIS)."""

    def __init__(self, steps: int = 1, frames: int | str = "all") -> None:
        require_between("steps", steps, 1, MOST)
        _require_count("frames", frames)
        self.steps, self.frames = steps, frames

    def stream(self, examples: Iterable[Example], seed: int) -> Scenario:
        """Teach the videos of the train split, cut into steps; all of the test split tests."""
        videos, to_test = _train_videos(examples, "instance")
        order = _shuffled(sorted(videos), seed, "video order")
        cuts = [len(order) * k // self.steps for k in range(self.steps + 1)]
        groups = [order[start:end] for start, end in pairwise(cuts) if start < end]
        steps = [
            [frame for name in group for frame in _spread(videos[name], self.frames)]
            for group in groups
        ]
        taught = (frames[0] for frames in videos.values())
        return _scenario(steps, {"test": _tests_of(taught, to_test)})


def _pools(examples: Iterable[Example]) -> tuple[list[Example], list[Example]]:
    """What may be taught and what may be asked, sorted: all, if there is no official split."""
    ordered = sorted(examples, key=lambda example: str(example.path))
    if not any(example.split for example in ordered):
        return ordered, ordered
    train = [example for example in ordered if example.split == "train"]
    return train, [example for example in ordered if example.split == "test"]


def _train_videos(
    examples: Iterable[Example], name: str
) -> tuple[dict[str, list[Example]], list[Example]]:
    """The frames of each video of the train split, and the test split."""
    to_teach, to_test = _pools(examples)
    if to_teach is to_test:
        raise DataError(f"{name} needs data with a train and a test split, such as openloris")
    for example in to_teach:
        if not example.video:
            raise DataError(f"{name} needs videos, and {example.path} is not a frame of one")
    return _grouped(to_teach, lambda example: example.video), to_test


def _grouped(
    examples: Iterable[Example], group: Callable[[Example], str]
) -> dict[str, list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[group(example)].append(example)
    return dict(groups)


def _by_label(examples: Iterable[Example]) -> dict[str, list[Example]]:
    return _grouped(examples, lambda example: example.label)


def _tests_of(alike: Iterable[Example], to_test: Iterable[Example]) -> list[Example]:
    """The pictures whose label is one of those alike."""
    labels = {example.label for example in alike}
    return [example for example in to_test if example.label in labels]


def _shuffled(items: Sequence[Item], seed: int, *key: Key) -> list[Item]:
    return [items[place] for place in keyed_rng(seed, *key).permutation(len(items))]


def _spread(frames: list[Example], count: int | str) -> list[Example]:
    """That many frames, evenly spaced from the first on."""
    if isinstance(count, str) or count >= len(frames):
        return frames
    return [frames[len(frames) * k // count] for k in range(count)]


def _instance(example: Example) -> str:
    if not example.instance:
        raise DataError(f"which thing {example.path} shows is not known: choose disjoint=pictures")
    return example.instance


def _require_count(option: str, value: int | str) -> None:
    """Refuse what is neither a number nor "all"."""
    if isinstance(value, str):
        require_choice(option, value, ("all",))
    else:
        require_between(option, value, 1, MOST)


def _enough(
    label: str, taught: Sequence[Example], asked: Sequence[Example], wanted: int | str, few: str
) -> bool:
    """Whether a class can be taught and tested; if not, it is an error or left out."""
    needed = 1 if isinstance(wanted, str) else wanted
    if len(taught) >= needed and asked:
        return True
    if few == "skip":
        return False
    raise DataError(
        f"{label} has {len(taught)} pictures to teach and {len(asked)} others to test, and needs "
        f"{needed} and 1: ask for fewer, or leave such classes out with few=skip"
    )


def _scenario(
    steps: Iterable[Iterable[Example]], tests: Mapping[str, Iterable[Example]]
) -> Scenario:
    taught = tuple(tuple(step) for step in steps)
    if not taught:
        raise DataError("no class has pictures enough to teach and to test: ask for fewer")
    asked = {name: tuple(pictures) for name, pictures in tests.items()}
    return Scenario(taught, {name: pictures for name, pictures in asked.items() if pictures})
