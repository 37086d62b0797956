"""Connections: none may hold on to the server for longer than its request takes.

uvicorn waits for ever for a request that does not come, and for a client that does not read. Here a
connection without a request is closed after a while, and those that have waited longest make room
for new ones. A WebSocket whose client does not answer pings, or does not read, is cut off.
"""

import asyncio
import os
import socket
import struct
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

REQUEST_SECONDS = 10.0
"""How long a client may take to send the header of a request."""
MOST_WAITING = 256
"""How many connections may wait for a request."""
MOST_FILES = 8192
NO_LINGERING = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

_waiting: "dict[Requests, asyncio.TimerHandle]" = {}
"""The connections that wait for a request, the one that has waited longest first."""


def allow_connections() -> None:
    """Let this process have many open files: one per connection, encrypted or not yet."""
    if sys.platform == "win32":  # has no such limit
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Requests(H11Protocol):
    """A connection over which HTTP requests come."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request. Only a whole header ends the waiting."""
        super().data_received(data)
        if self._is_busy():
            self._end_waiting()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Hand the connection over."""
        self._end_waiting()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not (self.transport.is_closing() or self._is_busy()):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._end_waiting()
        super().connection_lost(exc)

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._end_waiting()
        _waiting[self] = self.loop.call_later(REQUEST_SECONDS, self._give_up)
        if len(_waiting) > MOST_WAITING:
            next(iter(_waiting))._give_up()

    def _end_waiting(self) -> None:
        timer = _waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _give_up(self) -> None:
        self._end_waiting()
        self.transport.abort()


class Messages(WebSocketsSansIOProtocol):
    """A WebSocket. Whoever does not read is cut off: what waits for them would wait for ever."""

    async def run_asgi(self) -> None:
        """Serve the client until it leaves, or stops reading."""
        await super().run_asgi()
        if not self.writable.is_set():
            self._cut_off()

    def keepalive_timeout(self) -> None:
        """Cut off a client that has not answered a ping."""
        self._cut_off()

    def _cut_off(self) -> None:
        connection = self.transport.get_extra_info("socket")
        if connection is not None:  # otherwise the system would keep what was not read
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGERING)
        self.transport.abort()
