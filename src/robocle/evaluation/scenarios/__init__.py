"""Scenarios: from the pictures of a data set to a stream that is taught and the tests of it.

    scenario("class_iid:shots=5").stream(examples, seed=0)

Taught and test pictures are drawn together, so no picture is both. Draws are keyed by (seed,
purpose, label) and made from sorted pictures: the same seed gives the same stream for any order of
the listing, and five shots are the first five of ten.
"""

from collections.abc import Iterable
from typing import Protocol

from robocle.evaluation.scenarios.stream import Stream
from robocle.registry import Registry
from robocle.types import Example

__all__ = ["SCENARIOS", "Scenario", "Stream", "scenario"]


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
        "class_iid": "robocle.evaluation.scenarios.class_iid:ClassIid",
        "low_shot_instance": "robocle.evaluation.scenarios.videos:LowShotVideos",
        "instance": "robocle.evaluation.scenarios.videos:AllVideos",
        "cross_domain": "robocle.evaluation.scenarios.cross_domain:CrossDomain",
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
        AllVideos(steps=10, frames='all')
    """
    return SCENARIOS.build(spec)
