"""A log in memory, and robots that follow it without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nats_server import labels_of
from robocle import Learner
from robocle.fleet.exchange import Exchange
from robocle.fleet.followed import Sharing
from robocle.fleet.messages import Received, written
from robots import opened, teach


class Log:
    """A log in memory, and robots that follow it."""

    def __init__(self, folder: Path, classifier: str = "slda") -> None:
        self.messages: list[Received] = []
        self.ids: set[str] = set()
        self.folder, self.classifier = folder, classifier
        self.robots: dict[str, Exchange] = {}

    def robot(self, name: str, **sharing: object) -> Learner:
        """Return the learner of a new robot."""
        path = self.folder / f"{name}.robocle"
        learner = opened(path, self.classifier)
        if not learner.counts:
            teach(learner, f"own-{name}", 2, seed=len(self.robots) + 1)
        self.robots[name] = Exchange(path, Sharing(**sharing))  # type: ignore[arg-type]
        return learner

    def publish(self, *names: str) -> None:
        """Let some robots publish what is new; all if none is named."""
        for name, exchange in self.robots.items():
            if names and name not in names:
                continue
            clock, drafts = exchange.drafts()
            for draft, payload in zip(drafts, exchange.payloads(drafts), strict=True):
                if payload is not None:
                    sequence = len(self.messages) + 1
                    message = Received(sequence, draft.kind, name, payload, time=sequence)
                    self.messages.append(message)
                    exchange.note([(sequence, draft)])
            exchange.note_published(clock)

    def pin(self, sequence: int, group: str = "all") -> None:
        """Add a pin."""
        payload = written({"sequence": sequence})
        self.messages.append(Received(len(self.messages) + 1, "pin", group, payload))

    def take(self, rng: np.random.Generator | None = None) -> None:
        """Let all robots take in everything, in some order."""
        for name, exchange in self.robots.items():
            order = (
                np.arange(len(self.messages))
                if rng is None
                else rng.permutation(len(self.messages))
            )
            for some in np.array_split(order, 1 if rng is None else 5):
                self.settle(exchange, name, [self.messages[number] for number in some])
            assert exchange.refused == []

    def settle(self, exchange: Exchange, name: str, messages: list[Received]) -> None:
        """Let a robot take in messages."""
        missing = exchange.take(messages, name)
        exchange.take_again([self.messages[sequence - 1] for sequence in missing], name)

    def exchange(self) -> None:
        """Let all robots publish and take in."""
        self.publish()
        self.take()

    def labels(self) -> list[dict[str, str]]:
        """Return the labels of the samples of each robot."""
        return [labels_of(self.folder / f"{name}.robocle") for name in self.robots]


@contextmanager
def logged(folder: Path, classifier: str = "slda") -> Iterator[Log]:
    """Keep a log until the context ends."""
    log = Log(folder, classifier)
    try:
        yield log
    finally:
        for exchange in log.robots.values():
            exchange.close()
