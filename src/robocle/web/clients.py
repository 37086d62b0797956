"""The clients that listen: every change reaches all of them, and a slow one delays no other.

Of each kind of message only the newest waits for a client, so a client that stops reading costs a
few kilobytes until its connection is closed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from robocle.recognition.temporal_filter import TemporalFilter
from robocle.web.limits import MAX_CLIENTS, RequestError


class Outbox:
    """The messages that one client has not been sent yet: the newest of each kind.

    Example:
        >>> outbox = Outbox()
        >>> outbox.put("state", "old"), outbox.put("state", "new")
        (None, None)
        >>> asyncio.run(outbox.take())
        ['new']
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, str] = OrderedDict()
        self._filled = asyncio.Event()

    def put(self, kind: str, message: str) -> None:
        """Add a message; an older one of the same kind is dropped."""
        self._waiting[kind] = message
        self._filled.set()

    async def take(self) -> list[str]:
        """Return all messages, and wait if there is none."""
        await self._filled.wait()
        self._filled.clear()
        messages = list(self._waiting.values())
        self._waiting.clear()
        return messages


@dataclass(eq=False)
class Client:
    """A browser or a program with an open WebSocket."""

    number: int
    outbox: Outbox = field(default_factory=Outbox)
    filter: TemporalFilter = field(default_factory=TemporalFilter)


class Clients:
    """All clients that listen."""

    def __init__(self) -> None:
        self._clients: dict[int, Client] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        return iter(list(self._clients.values()))

    def join(self) -> Client:
        """Return a new client.

        Raises:
            RequestError: There are too many.
        """
        if len(self) >= MAX_CLIENTS:
            raise RequestError(503, f"{MAX_CLIENTS} clients are connected already: close one")
        self._last += 1
        client = self._clients[self._last] = Client(self._last)
        return client

    def leave(self, client: Client) -> None:
        """Remove a client."""
        self._clients.pop(client.number, None)

    def tell_all(self, kind: str, message: str) -> None:
        """Send a message to all clients."""
        for client in self:
            client.outbox.put(kind, message)
