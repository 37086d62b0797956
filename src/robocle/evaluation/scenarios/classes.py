"""class_iid and cross_domain: one class per step, with a few random pictures of it."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from robocle.errors import DataError, SpecError
from robocle.evaluation.scenarios import (
    MOST,
    Count,
    Few,
    Stream,
    by_label,
    grouped,
    is_enough,
    require_count,
    shuffled,
    split_pools,
    with_labels_of,
)
from robocle.spec import Described, require_choice, require_whole, suggestion
from robocle.types import Example

Disjoint = Literal["pictures", "content", "instances"]
Known = Literal["all", "half"] | int
Shared = Literal["labels", "instances"]


class ClassIid(Described):
    """One class per step: a few random pictures of it are taught, the others are for testing."""

    def __init__(
        self,
        shots: Count = 5,
        disjoint: Disjoint = "pictures",
        few: Few = "error",
        known: Known = "all",
        first: Count = "all",
        shared: Shared = "labels",
    ) -> None:
        """Choose how pictures are drawn.

        Args:
            shots: The number of taught pictures per class, or "all".
            disjoint: What taught and test pictures must not have in common. Files are told apart
                by their paths; with "content", copies of a taught file are not tested.
            few: What to do about a class with too few pictures.
            known: Whether all classes are taught, half of them, or how many. The others are
                unknown objects in the tests.
            first: How many pictures of a class, in the order of their names, may be taught. The
                others are tested. "all" if any picture may be either.
            shared: What test pictures must have in common with taught ones: their labels, or also
                the instance, so that only taught objects are tested.
        """
        require_count("shots", shots)
        require_count("first", first)
        require_choice("disjoint", disjoint, get_args(Disjoint))
        require_choice("few", few, get_args(Few))
        if isinstance(known, str):
            require_choice("known", known, ("all", "half"))
        else:
            require_whole("known", known, 1, MOST)
        require_choice("shared", shared, get_args(Shared))
        if (disjoint, shared) == ("instances", "instances"):
            raise SpecError("no picture can be tested with disjoint=instances,shared=instances")
        self.shots, self.disjoint, self.few, self.known = shots, disjoint, few, known
        self.first, self.shared = first, shared

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Return a stream of pictures to teach and to test.

        If the data set has splits, taught pictures are from the train split and test pictures from
        the test split.

        Args:
            examples: The labelled pictures.
            seed: The seed of the order of classes and of the choice of pictures.

        Raises:
            DataError: A class has too few pictures, or a picture has no known instance.
        """
        to_teach, to_test = split_pools(examples)
        teachable, testable = by_label(to_teach), by_label(to_test)
        steps, tests = [], []
        for label in shuffled(sorted({*teachable, *testable}), seed, "class order"):
            pool = teachable.get(label, [])
            early = pool if isinstance(self.first, str) else pool[: self.first]
            taught = self._drawn(early, seed, label)
            not_tested = taught if isinstance(self.first, str) else early
            tested = self.apart(testable.get(label, []), not_tested)
            if is_enough(label, taught, tested, self.shots, self.few):
                steps.append(taught)
                tests += tested
        stream = Stream.of(steps[: self._taught_of(len(steps))], {"test": tests})
        return stream.disjoint_in(self.disjoint)

    def _taught_of(self, classes: int) -> int:
        """Return how many of the classes are taught; the others are only tested."""
        if isinstance(self.known, int):
            return min(self.known, classes)
        return (classes + 1) // 2 if self.known == "half" else classes

    def apart(self, tested: Iterable[Example], taught: Sequence[Example]) -> list[Example]:
        """Return the test pictures that share with the taught ones what they may and must."""
        paths = {example.path for example in taught}
        rest = [example for example in tested if example.path not in paths]
        if self.disjoint != "instances" and self.shared == "labels":
            return rest
        instances = {(example.label, _instance(example)) for example in taught}
        wanted = self.shared == "instances"
        return [each for each in rest if ((each.label, _instance(each)) in instances) == wanted]

    def _drawn(self, pool: Sequence[Example], seed: int, label: str) -> list[Example]:
        drawn = shuffled(pool, seed, "pictures", label)
        if self.disjoint == "instances":  # one instance after another, so that few are used
            instances = sorted({_instance(example) for example in pool})
            # The key "things" must not change: another key would result in other streams.
            order = shuffled(instances, seed, "things", label)
            rank = {instance: place for place, instance in enumerate(order)}
            drawn.sort(key=lambda example: rank[example.instance])
        return drawn if isinstance(self.shots, str) else drawn[: self.shots]


class CrossDomain(ClassIid):
    """Classes taught in one domain, a few pictures each, and tested in it and in all others."""

    def __init__(
        self,
        shots: Count = 5,
        domain: str = "clean",
        disjoint: Disjoint = "pictures",
        few: Few = "error",
        known: Known = "all",
        shared: Shared = "labels",
    ) -> None:
        """Choose the taught domain and how pictures are drawn.

        Args:
            shots: The number of taught pictures per class, or "all".
            domain: The domain that is taught.
            disjoint: What taught and test pictures must not share.
            few: What to do about a class with too few pictures in the domain.
            known: Whether all classes are taught or half of them.
            shared: What test pictures must have in common with taught ones.
        """
        super().__init__(shots, disjoint, few, known, shared=shared)
        self.domain = domain

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Name the test in the taught domain "same", and each other test after its domain."""
        domains = grouped(examples, lambda example: example.domain)
        if self.domain not in domains:
            known = [name for name in domains if name]
            hint = suggestion(self.domain, known) if known else "the data have no domains"
            raise DataError(f"no picture is of domain {self.domain!r}: {hint}")
        if "same" in domains:
            raise DataError("a domain must not be called 'same': rename its folder")
        try:
            here = super().stream(domains.pop(self.domain), seed)
        except DataError as error:
            raise DataError(f"in domain {self.domain}, {error}") from error
        same = here.tests["test"]
        tests: dict[str, Iterable[Example]] = {"same": same}
        for name in sorted(domains):
            alike = with_labels_of(same, split_pools(domains[name])[1])
            tests[name] = self.apart(alike, here.taught)
        return Stream.of(here.steps, tests).disjoint_in(self.disjoint)


def _instance(example: Example) -> str:
    if not example.instance:
        raise DataError(
            f"{example.path} has no known instance: choose disjoint=pictures and shared=labels"
        )
    return example.instance
