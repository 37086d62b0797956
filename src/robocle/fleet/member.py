"""A member: a robot that publishes what it is taught and takes in what others are taught."""

import asyncio
import logging
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from robocle._internal.wording import listed, plural, printable
from robocle.errors import FleetError, RobocleError, StateLockedError
from robocle.fleet.connection import connected
from robocle.fleet.exchange import Draft, Exchange
from robocle.fleet.followed import Sharing
from robocle.fleet.log import AT_ONCE, Log
from robocle.fleet.messages import EVERYONE, Received, hello_message, require_subject_name
from robocle.fleet.server import RefusedError, Server, UnreachableError
from robocle.store.state import FilePath

log = logging.getLogger("robocle")

POLL = 0.1
"""Seconds between two looks at the state."""
PAUSES = 0.2, 30.0
"""Seconds before the first and between further attempts to connect."""


class Member:
    """A robot of a fleet. Other programs may use its state meanwhile.

    Args:
        state: The path of the state.
        server: The server of the fleet.
        robot: The name of the robot; empty for the name of the state.
        sharing: What it shares.
        report: What is called with each line about what happens.

    Raises:
        StateError: The state cannot be used.
        FleetError: A name cannot be used, or another program is in the fleet with this state.
    """

    def __init__(
        self,
        state: FilePath,
        server: Server,
        robot: str = "",
        sharing: Sharing | None = None,
        report: Callable[[str], None] = log.info,
    ) -> None:
        sharing = sharing or Sharing()
        require_subject_name("group", sharing.group)
        self.server = server
        self.exchange = Exchange(state, sharing)
        try:
            self.robot = self._named(robot)
        except BaseException:
            self.exchange.close()
            raise
        self._report = report
        self._complaint, self._pause = "", PAUSES[0]
        self._file = 0

    def _named(self, robot: str) -> str:
        """Return the name of the robot, which no other robot of the fleet has."""
        known = self.exchange.known
        stem = self.exchange.state.path.stem if self.exchange.state.path else ""
        plain = "".join(each if each.isascii() and each.isalnum() else "-" for each in stem)
        name = require_subject_name("robot", robot or f"{plain[:40]}-{known['token']}")
        _, _, fleet = known["membership"].partition(" ")
        if fleet not in ("", self.server.fleet):
            path = self.exchange.state.path
            raise FleetError(f"{path} is in the fleet {fleet}: `robocle fleet leave` ends that")
        return name

    @property
    def _membership(self) -> str:
        return f"{self.server.url} {self.server.fleet}"

    def close(self) -> None:
        """Close the files."""
        self.exchange.close()

    async def run(self, once: bool = False) -> None:
        """Take part until cancelled.

        Args:
            once: Return when everything is published and taken in.

        Raises:
            RefusedError: The server does not accept this robot.
            UnreachableError: The server is not there, and this robot has never joined there, or
                takes part once.
            StateError: The state cannot be used.
            FleetError: Another robot is connected under this name.
        """
        was_connected = False
        while True:
            try:
                async with connected(self.server, self.robot) as found:
                    was_connected = True
                    await self._take_part(found, once)
                    return
            except (RefusedError, UnreachableError, StateLockedError) as error:
                is_new = self.exchange.known["membership"] != self._membership
                was_refused = isinstance(error, RefusedError) and not was_connected
                if once or is_new or was_refused:
                    raise
                self._complain(error)
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))
            self._pause = min(2 * self._pause, PAUSES[1])

    def _complain(self, error: RobocleError) -> None:
        """Log a problem, once until everything is exchanged or there is another problem."""
        if str(error) != self._complaint:
            self._complaint = str(error)
            log.warning("%s: trying again", error)

    async def _take_part(self, found: Log, once: bool) -> None:
        """Take in what others publish and publish what is changed here, in turns."""
        last = await self._begin(found)
        known, start = self.exchange.known, self.exchange.known.number("applied") + 1
        who = f"{known['token']} {self.exchange.sharing.group}"
        has_all = was_reported = False
        async for batch, left in found.follow(self.exchange.parts_id, self.robot, start, POLL, who):
            if batch:
                await self._take(found, batch)
            # What was decided elsewhere comes first, or what was erased would be published again.
            has_all = has_all or not left or known.number("applied") >= last
            if not has_all:
                continue
            await self._follow_file(found)
            if await asyncio.to_thread(self.exchange.changed):
                await self._publish(found)
            elif not left:
                self._complaint, self._pause = "", PAUSES[0]
                if not was_reported:
                    self._report(f"up to date with fleet {self.server.fleet} as {self.robot}")
                    was_reported = True
                if once and not batch:  # the server knows that the last one is applied
                    return

    async def _begin(self, found: Log) -> int:
        """Find out whether the log is the one that was followed, and what pin holds.

        Returns:
            The sequence of the last message of the log.
        """
        exchange, known = self.exchange, self.exchange.known
        info = await found.info(create=True, subjects=found.server.subject("*"))
        subjects = [each.split(".") for each in info.state.subjects or {}]
        joined = [(parts, robot) for _, _, parts, kind, robot in subjects if kind == "hello"]
        alike = {robot for parts, robot in joined if parts == exchange.parts_id}
        if others := {robot for _, robot in joined} - alike:  # robots that have left as well
            joined_with = f"{plural(len(others), 'robot')} joined {found.server.fleet}"
            names = listed(map(printable, sorted(others)), "other")
            log.warning("%s with other parts: nothing is shared with %s", joined_with, names)
        applied, first = known.number("applied"), known.number("first")
        last = await found.message(applied) if applied else None
        is_other = last is not None and abs(last.time - known.number("applied_time")) > 1000
        # The log begins with a robot that joined, which is never erased, unless it was purged.
        is_purged = first and info.state.first_seq > first
        if applied > info.state.last_seq or is_other or is_purged:
            log.warning(
                "%s has lost its log: what is known here is published again", found.server.url
            )
            await asyncio.to_thread(known.start_again)
            known["greeted"] = ""
        known["first"] = str(max(1, info.state.first_seq))
        if known["greeted"] != str(info.created):
            subject = found.server.subject("hello", parts=exchange.parts_id, robot=self.robot)
            if not exchange.sharing.read_only:
                hello = hello_message(exchange.parts)
                await found.publish(subject, hello, f"{known['first']}-hello-{self.robot}")
        with known.writing():
            known["greeted"] = str(info.created)
            known["membership"], known["robot"] = self._membership, self.robot
            known["user"], known["creds"] = found.server.user, str(found.server.creds or "")
            known["tls_ca"] = str(found.server.tls_ca or "")
        for group in {EVERYONE, exchange.sharing.group}:
            subject = found.server.subject("pin", parts=exchange.parts_id, robot=group)
            pin = await found.message(subject=subject)
            if pin is not None:
                await self._settle(found, exchange.take, [pin], self.robot)
        published = plural(exchange.published, "message")
        log.info("connected to %s, %s published before", found.server.url, published)
        return info.state.last_seq

    async def _settle(self, found: Log, work: Callable[..., list[int]], *values: Any) -> None:
        """Bring the state in line with the log, with embeddings that are fetched if need be."""
        missing = await asyncio.to_thread(work, *values)
        for start in range(0, len(missing), AT_ONCE):
            wanted = missing[start : start + AT_ONCE]
            messages = await asyncio.gather(*map(found.message, wanted))
            for sequence, message in zip(wanted, messages, strict=True):
                if message is None:
                    await asyncio.to_thread(self.exchange.known.note_erased, sequence)
            given = [each for each in messages if each]
            await asyncio.to_thread(self.exchange.take_again, given, self.robot)

    async def _follow_file(self, found: Log) -> None:
        """Bring a file in line that was not open before, such as an older copy."""
        opened, _ = await asyncio.to_thread(self.exchange.state.position)
        is_unsettled = self.exchange.known["unsettled"]
        if opened == self._file and not is_unsettled:
            return
        if not is_unsettled:  # what was decided here since
            await self._publish(found)
        await self._settle(found, self.exchange.settle_all)
        self._file = opened

    async def _take(self, found: Log, batch: list[Received]) -> None:
        """Take in what others have published."""
        exchange = self.exchange
        before = exchange.taken_in
        await self._settle(found, exchange.take, batch, self.robot)
        await asyncio.to_thread(exchange.note_applied, batch[-1])
        for line in exchange.refused:
            log.warning("%s", line)
        exchange.refused.clear()
        if exchange.taken_in > before:
            self._report(f"took in {plural(exchange.taken_in - before, 'change')}")

    async def _publish(self, found: Log) -> None:
        """Publish what is changed here."""
        exchange = self.exchange
        clock, drafts = await asyncio.to_thread(exchange.drafts)
        for start in range(0, len(drafts), AT_ONCE):
            some = drafts[start : start + AT_ONCE]
            payloads = await asyncio.to_thread(exchange.payloads, some)
            sent = await asyncio.gather(*map(partial(self._send, found), some, payloads))
            noted = [each for each in zip(sent, some, strict=True) if each[0]]
            await asyncio.to_thread(exchange.note, noted)
        await asyncio.to_thread(exchange.note_published, clock)
        if drafts:
            self._report(f"published {plural(len(drafts), 'change')}")

    async def _send(self, found: Log, draft: Draft, payload: bytes | None) -> int:
        """Publish a message and return its sequence; 0 if there is nothing to send."""
        if payload is None:
            return 0
        decision, kind = draft
        if len(payload) > found.client.max_payload:
            log.warning(
                "a sample of %s has %d bytes, and %s takes %d: it is not shared",
                decision.label, len(payload), found.server.url, found.client.max_payload,
            )  # fmt: skip
            return 0
        subject = found.server.subject(kind, parts=self.exchange.parts_id, robot=self.robot)
        # A server that purges a log still knows the messages of the last two minutes by their ids.
        message_id = f"{self.exchange.known['first']}-{kind}-{decision.message_id}"
        return await found.publish(subject, payload, message_id)
