"""cross_domain: classes are taught in one domain and tested in all."""

from collections.abc import Iterable

from robocle.errors import DataError
from robocle.evaluation.scenarios.class_iid import ClassIid, Disjoint, Known, Shared
from robocle.evaluation.scenarios.stream import (
    Count,
    Few,
    Stream,
    grouped,
    split_pools,
    with_labels_of,
)
from robocle.spec import Described, suggestion
from robocle.types import Example


class CrossDomain(Described):
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
        self._in_domain = ClassIid(shots, disjoint, few, known, shared=shared)
        self.shots, self.domain, self.disjoint, self.few = shots, domain, disjoint, few
        self.known, self.shared = known, shared

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Name the test in the taught domain "same", and each other test after its domain."""
        domains = grouped(examples, lambda example: example.domain)
        if self.domain not in domains:
            raise self._no_such_domain(domains)
        if "same" in domains:
            raise DataError("a domain must not be called 'same': rename its folder")
        try:
            here = self._in_domain.stream(domains.pop(self.domain), seed)
        except DataError as error:
            raise DataError(f"in domain {self.domain}, {error}") from error
        same = here.tests["test"]
        tests: dict[str, Iterable[Example]] = {"same": same}
        for name in sorted(domains):
            alike = with_labels_of(same, split_pools(domains[name])[1])
            tests[name] = self._in_domain.apart(alike, here.taught)
        return Stream.of(here.steps, tests)

    def _no_such_domain(self, domains: Iterable[str]) -> DataError:
        known = [name for name in domains if name]
        hint = suggestion(self.domain, known) if known else "the data have no domains"
        return DataError(f"no picture is of domain {self.domain!r}: {hint}")
