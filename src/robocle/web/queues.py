"""Queues: the event loop never waits for the learner, and no client waits for another.

Changes are made by one thread, in the order in which they were requested. Predictions have threads
of their own and are made first come, first served. Each client has at most one frame in the queue,
so clients take turns. Queues are bounded: what waits holds pictures in memory.

Every change reaches all clients that listen. Of each kind of message only the newest waits for a
client, so a client that stops reading costs a few kilobytes until its connection is closed.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from robocle.learner.tracking import Tracker
from robocle.recognition.temporal_filter import TemporalFilter
from robocle.web.requests import MAX_CLIENTS, RequestError

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST_WAITING = MAX_CLIENTS + 64
"""How many pieces of work may wait or be worked on, for changes and for predictions each."""


class Newest(Generic[Item]):
    """What waits to be taken: the newest of each kind.

    Example:
        >>> outbox = Newest[str]()
        >>> outbox.put("state", "old"), outbox.put("state", "new")
        (False, True)
        >>> asyncio.run(outbox.take())
        ['new']
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Item] = {}
        self._filled = asyncio.Event()

    def put(self, kind: str, item: Item) -> bool:
        """Add an item; return whether an older one of the same kind was dropped for it."""
        dropped = kind in self._waiting
        self._waiting[kind] = item
        self._filled.set()
        return dropped

    async def take(self) -> list[Item]:
        """Return all items, and wait if there is none."""
        await self._filled.wait()
        self._filled.clear()
        items = list(self._waiting.values())
        self._waiting.clear()
        return items


@dataclass(eq=False)
class Client:
    """A browser or a program with an open WebSocket."""

    number: int
    outbox: Newest[str] = field(default_factory=Newest)
    filter: TemporalFilter = field(default_factory=TemporalFilter)
    tracker: Tracker = field(default_factory=Tracker)


class Clients(set[Client]):
    """All clients that listen."""

    _last = 0

    def join(self) -> Client:
        """Return a new client.

        Raises:
            RequestError: There are too many.
        """
        if len(self) >= MAX_CLIENTS:
            raise RequestError(503, f"{MAX_CLIENTS} clients are connected already: close one")
        self._last += 1
        client = Client(self._last)
        self.add(client)
        return client

    def tell_all(self, kind: str, message: str) -> None:
        """Send a message to all clients."""
        for client in self:
            client.outbox.put(kind, message)


class Workers:
    """Threads that do the learner's work, first come, first served.

    Args:
        threads: How many there are.
        name: Their name.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, f"robocle-{name}")
        self._waiting = 0

    def do(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Do work when a thread is free.

        Raises:
            RequestError: Too much is waiting.
        """
        if self._waiting >= MOST_WAITING:
            raise RequestError(503, "the server is busy: try again")
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        self._waiting += 1
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
