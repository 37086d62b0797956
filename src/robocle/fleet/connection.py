"""The connection to the server of a fleet.

A connection is never repaired: when anything fails it ends, and its user begins again with what is
known to be applied. So there is one way through, and it is taken at every start.
"""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from robocle.errors import FleetError, MissingExtraError, RobocleError
from robocle.fleet.log import Log
from robocle.fleet.server import RefusedError, Server, explained

if TYPE_CHECKING:
    from nats.aio.client import Client

CONNECT = 5.0
"""Seconds that the server may take to let a robot in."""
CLOSE_SECONDS = 2.0
"""Seconds that a connection may take to end."""


@asynccontextmanager
async def connected(server: Server, name: str) -> AsyncIterator["Log"]:
    """Connect to the log of a fleet until the context ends.

    Args:
        server: The server.
        name: What the server shows of the connection.

    Raises:
        MissingExtraError: The client is not installed.
        RefusedError: The server does not accept the user.
        UnreachableError: The server is not there, or the connection ended.
        FleetError: The server has no JetStream, or answers with an error.
    """
    try:
        from nats.errors import Error
    except ImportError as error:
        raise MissingExtraError("fleet", "a fleet needs nats-py") from error
    log = Log(server, client := _client())
    try:
        try:
            await _open(client, log, name)
        except RobocleError:
            raise
        except Exception as error:
            # Each library that reads credentials has errors of its own.
            if server.creds is not None and not isinstance(error, (Error, OSError)):
                who = f"{server.creds} has no credentials to log in"
                raise RefusedError(f"{who}: get new ones") from error
            if not isinstance(error, (Error, OSError, ValueError)):
                raise
            raise explained(server, error, "it cannot be reached") from error
        try:
            yield log
        except Error as error:
            raise explained(server, error) from error
    finally:
        with suppress(Exception):
            await asyncio.wait_for(client.close(), CLOSE_SECONDS)


def _client() -> "Client":
    """Return a client that no message can stop.

    That of nats-py stops reading for good, and silently, at a message of the log whose subject is
    no text, or whose headers are none. Nothing in the headers is needed.
    """
    from nats.aio.client import Client

    class LogClient(Client):
        async def _process_msg(
            self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
        ) -> None:
            headers = b"" if reply.startswith(b"$JS.ACK.") else headers
            subject = subject.decode(errors="replace").encode()
            await super()._process_msg(sid, subject, reply, data, headers)

    return LogClient()


async def _open(client: "Client", log: Log, name: str) -> None:
    """Connect; see `connected`."""
    from nats.errors import NoServersError

    server, errors = log.server, list[Exception]()

    async def note(error: Exception) -> None:
        errors[:] = [error]
        if client.is_connected:
            log.end(error)

    async def end() -> None:
        log.end(ConnectionResetError("the server has closed it"))

    options: dict[str, Any] = {
        "name": name, "error_cb": note, "closed_cb": end, "allow_reconnect": False,
        "connect_timeout": CONNECT, "max_reconnect_attempts": 1, "reconnect_time_wait": 0,
        "ping_interval": 10,
    }  # fmt: skip
    if server.creds is not None:
        options["user_credentials"] = str(server.creds)
    if server.user:
        options["user"], options["password"] = server.user, server.password
    if server.url.startswith("tls") or server.tls_ca is not None:
        options["tls"] = _context(server.tls_ca)
    try:
        async with asyncio.timeout(CONNECT):
            await _require_address(server)
            await client.connect(server.url, **options)
    except NoServersError as error:
        raise (errors or [error])[0] from error
    except TimeoutError as error:
        raise TimeoutError(f"no answer in {CONNECT:.0f} seconds") from error


async def _require_address(server: Server) -> None:
    """Find out whether the server has an address.

    The system may look for it for minutes, which only a thread of its own can be left alone with.
    """
    loop, parts = asyncio.get_running_loop(), urlsplit(server.url)
    found: asyncio.Future[OSError | None] = loop.create_future()

    def report(error: OSError | None) -> None:
        if not found.done():
            found.set_result(error)

    def look_up() -> None:
        problem = None
        try:
            socket.getaddrinfo(parts.hostname, parts.port)
        except OSError as error:
            problem = error
        with suppress(RuntimeError):  # nobody waits for it any more
            loop.call_soon_threadsafe(report, problem)

    threading.Thread(target=look_up, daemon=True).start()
    if (problem := await found) is not None:
        raise problem


def _context(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise FleetError(f"{authority} is not a certificate ({error}): give a PEM file") from error
