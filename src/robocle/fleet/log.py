"""The log of a fleet: one stream of NATS JetStream."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from robocle.errors import FleetError
from robocle.fleet.messages import KINDS, Received
from robocle.fleet.server import Server, explained

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js.api import ConsumerInfo, StreamInfo
    from nats.js.client import JetStreamContext

Value = TypeVar("Value")

PATIENCE = 20.0
"""Seconds that the server may take to answer."""
HEARTBEAT = 3.0
"""Seconds between two heartbeats of the server."""
AT_ONCE = 64
"""How many messages are on their way to the server."""
IN_FLIGHT = 256
"""How many messages the server sends before the first of them is applied."""
FORGOTTEN = 90 * 86400.0
"""Seconds after which the server forgets a robot that is away, which may come back at any time."""
NO_STREAM, NO_MESSAGE = 10059, 10037


class Log:
    """The log of a fleet, while there is a connection; see `connected`.

    Args:
        server: Where it is.
        client: The connection.
    """

    def __init__(self, server: Server, client: "Client") -> None:
        self.server, self.client = server, client
        self._stream: JetStreamContext = client.jetstream(timeout=PATIENCE)
        self._arrived: list[Msg] = []
        self._ended: asyncio.Future[FleetError] = asyncio.get_running_loop().create_future()
        self._sign = asyncio.Event()
        """That messages have arrived, or that the connection has ended."""
        self._last_sign = monotonic()

    def end(self, why: Exception) -> None:
        """Note that the connection has ended, or that the server refuses something.

        Args:
            why: What is raised by whoever waits for an answer. The server does not answer what it
                refuses.
        """
        if not self._ended.done():
            self._ended.set_result(explained(self.server, why))
        self._sign.set()

    async def _answer(self, request: Coroutine[Any, Any, Value]) -> Value:
        """Return the answer to a request, unless the connection ends before."""
        answer = asyncio.ensure_future(request)
        try:
            await asyncio.wait((answer, self._ended), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise self._ended.result()
            return answer.result()
        except OSError as error:
            raise explained(self.server, error) from error
        finally:
            answer.cancel()

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
            return await self._answer(self._stream.stream_info(self.server.stream, subjects))
        except APIError as error:
            if error.err_code != NO_STREAM:
                raise
        if not create:
            raise FleetError(f"{self.server.url} has no fleet {self.server.fleet}: join one first")
        everything = self.server.subject("*")
        stream = self._stream.add_stream(name=self.server.stream, subjects=[everything])
        return await self._answer(stream)

    async def publish(self, subject: str, payload: bytes, message_id: str) -> int:
        """Publish a message, and return its sequence when it is stored."""
        headers = {"Nats-Msg-Id": message_id}
        sent = self._stream.publish(subject, payload, PATIENCE, headers=headers)
        return (await self._answer(sent)).seq

    async def message(
        self, sequence: int | None = None, subject: str | None = None
    ) -> Received | None:
        """Return a message, or the last one of a subject; None if there is none."""
        from nats.js.errors import APIError

        try:
            stored = self._stream.get_msg(self.server.stream, sequence, subject)
            found = await self._answer(stored)
        except APIError as error:
            if error.err_code == NO_MESSAGE:
                return None
            raise
        time = int(found.time.timestamp() * 1e6) if found.time else 0
        return _received(found.subject or "", found.seq or 0, found.data or b"", time)

    async def follow(
        self, parts: str, robot: str, start: int, pause: float, who: str
    ) -> AsyncIterator[tuple[list[Received], int]]:
        """Yield the messages from a sequence on as they come, and how many follow them.

        When the next ones are requested, the ones before are taken as applied. Nothing is yielded
        every few moments when there is nothing.

        Args:
            parts: The fingerprint of what the robot's embeddings depend on.
            robot: The name of the robot.
            start: The first sequence.
            pause: How many seconds to wait for messages.
            who: What no other robot has, and its group, with a space between them.

        Raises:
            FleetError: Another robot is connected under this name.
            UnreachableError: The connection ended, or the server sends no heartbeat.
        """
        inbox, consumer = self.client.new_inbox(), f".{self.server.stream}.{robot}."
        await self.client.subscribe(inbox, cb=self._note)
        left = await self._new_consumer(parts, robot, start, inbox, who)
        while not self._ended.done():
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
            except TimeoutError as error:
                if monotonic() > self._last_sign + 4 * HEARTBEAT:
                    silent = TimeoutError("no heartbeat from the server")
                    raise explained(self.server, silent) from error
        raise self._ended.result()

    async def _note(self, message: "Msg") -> None:
        if message.reply:  # otherwise it is a heartbeat
            self._arrived.append(message)
            self._sign.set()
        self._last_sign = monotonic()

    async def _new_consumer(self, parts: str, robot: str, start: int, inbox: str, who: str) -> int:
        """Let the server send what follows a sequence, and return how many messages there are."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
        from nats.js.errors import APIError, NotFoundError

        with suppress(NotFoundError):
            found = self._stream.consumer_info(self.server.stream, robot)
            here = await self._answer(found)
            its = (here.config.description or "").split(" ")[0]
            if here.push_bound and its != who.split(" ")[0]:
                raise FleetError(f"another robot is connected as {robot}: give another --robot")
        await self.forget(robot)
        config = ConsumerConfig(
            durable_name=robot, deliver_subject=inbox, description=who,
            filter_subject=self.server.subject("*", parts=parts),
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start,
            ack_policy=AckPolicy.ALL, max_ack_pending=IN_FLIGHT, ack_wait=600.0,
            idle_heartbeat=HEARTBEAT, inactive_threshold=FORGOTTEN,
        )  # fmt: skip
        try:
            info = await self._answer(self._stream.add_consumer(self.server.stream, config))
        except APIError as error:
            raise FleetError(
                f"the server does not let {robot} read: {error.description}"
            ) from error
        return info.num_pending or 0

    async def forget(self, robot: str) -> None:
        """Make the server forget a robot. What it has published stays."""
        from nats.js.errors import NotFoundError

        with suppress(NotFoundError):
            await self._answer(self._stream.delete_consumer(self.server.stream, robot))

    async def robots(self) -> list["ConsumerInfo"]:
        """Return the robots that the server knows."""
        found: list[ConsumerInfo] = []
        while more := await self._answer(
            self._stream.consumers_info(self.server.stream, len(found))
        ):
            found += more
        return found

    async def erase(self, sequence: int) -> None:
        """Erase a message for good; its sequence stays."""
        await self._answer(self._stream.delete_msg(self.server.stream, sequence))


def group_of(robot: "ConsumerInfo") -> str:
    """Return the group that a robot has joined with."""
    return (robot.config.description or "").partition(" ")[2]


def _received(subject: str, sequence: int, payload: bytes, time: int) -> Received:
    """Return a message; one of a subject that no robot has is nothing that robots take in."""
    names = subject.split(".")
    kind, robot = names[3:] if len(names) == 5 and names[3] in KINDS else ("hello", "?")
    return Received(sequence, kind, robot[:64], payload, time)  # type: ignore[arg-type]
