"""The connection to the log of a fleet: one stream of NATS JetStream.

A connection is never repaired: when anything fails it ends, and its user begins again with what is
known to be applied. So there is one way through, and it is taken at every start.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from robocle.errors import FleetError, MissingExtraError, RobocleError
from robocle.fleet.exchange import Received
from robocle.fleet.messages import KINDS, require_token

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js.api import ConsumerInfo, StreamInfo
    from nats.js.client import JetStreamContext

PASSWORD_VARIABLE = "ROBOCLE_FLEET_PASSWORD"
PATIENCE = 20.0
"""Seconds that the server may take to answer."""
CONNECT = 5.0
"""Seconds that it may take to let a robot in."""
FAREWELL = 2.0
"""Seconds that a connection may take to end."""
HEARTBEAT = 3.0
"""Seconds between two signs of life of the server."""
IN_FLIGHT = 256
"""How many messages the server sends before the first of them is applied."""
FORGOTTEN = 90 * 86400.0
"""Seconds after which the server forgets a robot that is away, which may come back at any time."""
NO_STREAM, NO_MESSAGE = 10059, 10037


@dataclass(frozen=True)
class Server:
    """Where the server of a fleet is, and how to log in."""

    url: str
    fleet: str
    user: str = ""
    password: str = ""
    creds: Path | None = None
    """The file with the credentials that the operator of the server has made for this robot."""
    tls_ca: Path | None = None
    """The certificate of the authority that signed the server's; None uses those of the system."""

    def __repr__(self) -> str:
        return f"<Server {self.fleet} at {self.url}>"  # without the password

    @classmethod
    def parse(
        cls, address: str, fleet: str, password: str = "", creds: Path | None = None,
        tls_ca: Path | None = None,
    ) -> "Server":  # fmt: skip
        """Return the server of an address.

        Args:
            address: nats://[USER@]HOST[:PORT], or tls:// for an encrypted connection.
            fleet: The name of the fleet.
            password: The password of the user.
            creds: The file with credentials.
            tls_ca: The file with the certificate of the server's authority.

        Raises:
            FleetError: The address or the name cannot be used, or there is no such file.

        >>> Server.parse("nats://home.local", "house")
        <Server house at nats://home.local:4222>
        """
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port or 4222
        except ValueError:
            host, port = None, 0
        if not host or parts.scheme not in ("nats", "tls") or re.search(r"\s", host):
            shown = re.sub(r":[^:@/]*@", ":...@", address)
            raise FleetError(f"{shown!r} is not the address of a server: give nats://HOST[:PORT]")
        if parts.password is not None:
            raise FleetError(
                "the password does not belong in the address of the server, where other programs "
                f"see it: set the variable {PASSWORD_VARIABLE}"
            )
        for file in (creds, tls_ca):
            if file is not None and not file.is_file():
                raise FleetError(f"there is no file {file}")
        name = f"[{host}]" if ":" in host else host
        url = f"{parts.scheme}://{name}:{port}"
        user = unquote(parts.username or "")
        return cls(url, require_token("fleet", fleet), user, password, creds, tls_ca)

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return f"robocle-{self.fleet}"

    def subject(self, kind: str, *, parts: str = "*", robot: str = "*") -> str:
        """Return the subject of messages."""
        return f"robocle.{self.fleet}.{parts}.{kind}.{robot}"


class RefusedError(FleetError):
    """The server does not accept the user."""


class UnreachableError(FleetError):
    """The server is not there, or the connection ended."""


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
        from nats.aio.client import Client
        from nats.errors import Error
    except ImportError as error:
        raise MissingExtraError("fleet", "a fleet needs nats-py") from error
    log = Log(server, Client())
    try:
        await log.open(name)
        yield log
    except RobocleError:
        raise
    except Exception as error:
        # Each library that reads credentials has errors of its own.
        if server.creds is not None and not log.is_open and not isinstance(error, (Error, OSError)):
            who = f"{server.creds} has no credentials to log in"
            raise RefusedError(f"{who}: get new ones") from error
        if not isinstance(error, (TimeoutError, Error, OSError, ValueError)):
            raise
        raise _translated(server, error, log.is_open) from error
    finally:
        with suppress(Exception):
            await asyncio.wait_for(log.client.close(), FAREWELL)


def _context(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise FleetError(f"{authority} is not a certificate ({error}): give a PEM file") from error


def _translated(server: Server, error: Exception, has_begun: bool) -> FleetError:
    text = str(error) or type(error).__name__
    if re.search("authorization|authentication|permissions|credential|nkey|jwt", text.lower()):
        user = f" the user {server.user!r}" if server.user else " this robot"
        return RefusedError(
            f"{server.url} refuses{user} ({text}): check --creds, or the user and the variable "
            f"{PASSWORD_VARIABLE}"
        )
    if isinstance(error, ssl.SSLError):
        return RefusedError(
            f"{server.url} has a certificate that is not trusted ({text}): give --tls-ca"
        )
    if getattr(error, "err_code", None) == 10039 or "jetstream not enabled" in text.lower():
        return RefusedError(f"{server.url} has no JetStream: start nats-server with -js")
    ended = "the connection ended" if has_begun else "it cannot be reached"
    return UnreachableError(f"{server.url}: {ended} ({text})")


class Log:
    """The log of a fleet, while there is a connection; see `connected`.

    Args:
        server: Where it is.
        client: The connection.
    """

    def __init__(self, server: Server, client: "Client") -> None:
        self.server, self.client = server, client
        self.is_open = False
        self._stream: JetStreamContext = client.jetstream(timeout=PATIENCE)
        self._arrived: list[Msg] = []
        self._sign = asyncio.Event()
        """That messages have arrived, or that the connection has ended."""
        self._last_sign = monotonic()

    async def open(self, name: str) -> None:
        """Connect; see `connected`."""
        from nats.errors import NoServersError

        server, errors = self.server, list[Exception]()

        async def note(error: Exception) -> None:
            errors[:] = [error]

        async def end() -> None:
            self._sign.set()

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
            await asyncio.wait_for(self.client.connect(server.url, **options), CONNECT)
        except NoServersError as error:
            raise (errors or [error])[0] from error
        self.is_open = True

    async def info(self, create: bool = False, subjects: str | None = None) -> "StreamInfo":
        """Return what the server says about the log.

        Args:
            create: Whether to create it if there is none.
            subjects: For which subjects to count messages.

        Raises:
            FleetError: There is none.
        """
        from nats.js.errors import APIError

        try:
            return await self._stream.stream_info(self.server.stream, subjects)
        except APIError as error:
            if error.err_code != NO_STREAM:
                raise
        if not create:
            raise FleetError(f"{self.server.url} has no fleet {self.server.fleet}: join one first")
        everything = self.server.subject("*")
        return await self._stream.add_stream(name=self.server.stream, subjects=[everything])

    async def publish(self, subject: str, payload: bytes, message_id: str) -> int:
        """Publish a message, and return its sequence when it is stored."""
        headers = {"Nats-Msg-Id": message_id}
        answer = await self._stream.publish(subject, payload, PATIENCE, headers=headers)
        return answer.seq

    async def message(
        self, sequence: int | None = None, subject: str | None = None
    ) -> Received | None:
        """Return a message, or the last one of a subject; None if there is none."""
        from nats.js.errors import APIError

        try:
            found = await self._stream.get_msg(self.server.stream, sequence, subject)
        except APIError as error:
            if error.err_code == NO_MESSAGE:
                return None
            raise
        time = int(found.time.timestamp() * 1e6) if found.time else 0
        return _received(found.subject or "", found.seq or 0, found.data or b"", time)

    async def follow(
        self, parts: str, robot: str, start: int, pause: float
    ) -> AsyncIterator[tuple[list[Received], int]]:
        """Yield the messages from a sequence on as they come, and how many follow them.

        When the next ones are requested, the ones before are taken as applied. Nothing is yielded
        every few moments when there is nothing.

        Args:
            parts: The fingerprint of what the robot's embeddings depend on.
            robot: The name of the robot.
            start: The first sequence.
            pause: How many seconds to wait for messages.

        Raises:
            TimeoutError: The server shows no sign of life.
        """
        inbox, consumer = self.client.new_inbox(), f".{self.server.stream}.{robot}."
        await self.client.subscribe(inbox, cb=self._note)
        left = await self._stand_in_line(parts, robot, start, inbox)
        while not self.client.is_closed:
            raw, self._arrived = self._arrived, []
            # The subject of an answer ends with how often the message was delivered, its sequences
            # in the stream and for this robot, its time, and how many follow.
            about = [each.reply.rpartition(consumer)[2].split(".") for each in raw]
            left = int(about[-1][4]) if raw else left
            yield (
                [
                    _received(each.subject, int(numbers[1]), each.data, int(numbers[3]) // 1000)
                    for each, numbers in zip(raw, about, strict=True)
                ],
                left,
            )
            if raw:
                await raw[-1].ack()
            if self._arrived:
                continue
            self._sign.clear()
            try:
                await asyncio.wait_for(self._sign.wait(), pause)
            except TimeoutError:
                if monotonic() > self._last_sign + 4 * HEARTBEAT:
                    raise TimeoutError("no sign of life") from None
        raise ConnectionResetError("the server has closed it")

    async def _note(self, message: "Msg") -> None:
        if message.reply:  # otherwise it is a heartbeat
            self._arrived.append(message)
            self._sign.set()
        self._last_sign = monotonic()

    async def _stand_in_line(self, parts: str, robot: str, start: int, inbox: str) -> int:
        """Let the server send what follows a sequence, and return how many messages there are."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
        from nats.js.errors import APIError

        with suppress(Exception):
            await self.forget(robot)
        config = ConsumerConfig(
            durable_name=robot, deliver_subject=inbox,
            filter_subject=self.server.subject("*", parts=parts),
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start,
            ack_policy=AckPolicy.ALL, max_ack_pending=IN_FLIGHT, ack_wait=600.0,
            idle_heartbeat=HEARTBEAT, inactive_threshold=FORGOTTEN,
        )  # fmt: skip
        try:
            info = await self._stream.add_consumer(self.server.stream, config)
        except APIError as error:
            raise FleetError(
                f"the server does not let {robot} read: {error.description}"
            ) from error
        return info.num_pending or 0

    async def forget(self, robot: str) -> None:
        """Make the server forget a robot. What it has published stays."""
        await self._stream.delete_consumer(self.server.stream, robot)

    async def robots(self) -> list["ConsumerInfo"]:
        """Return the robots that the server knows."""
        found: list[ConsumerInfo] = []
        while more := await self._stream.consumers_info(self.server.stream, len(found)):
            found += more
        return found

    async def erase(self, sequence: int) -> None:
        """Erase a message for good; its sequence stays."""
        await self._stream.delete_msg(self.server.stream, sequence)


def _received(subject: str, sequence: int, payload: bytes, time: int) -> Received:
    """Return a message; one of a subject that no robot has is nothing that robots take in."""
    names = subject.split(".")
    kind, robot = names[3:] if len(names) == 5 and names[3] in KINDS else ("hello", "?")
    return Received(sequence, kind, robot[:64], payload, time)  # type: ignore[arg-type]
