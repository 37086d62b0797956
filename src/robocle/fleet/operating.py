"""The view of an operator: robots and their lag, the log, pins, labels to join."""

import getpass
import json
import os
import platform
import secrets
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from robocle._internal.wording import listed
from robocle.errors import FleetError, RobocleError
from robocle.fleet.connection import connected
from robocle.fleet.membership import Membership, file_beside
from robocle.fleet.messages import (
    ID,
    Decision,
    Received,
    fingerprint,
    read,
    read_decision,
    read_hello,
    read_pin,
    read_sample,
    require_token,
    written,
)
from robocle.fleet.server import PASSWORD_VARIABLE, Server
from robocle.learner import Learner
from robocle.learner.pipeline import Parts
from robocle.store.folding import built
from robocle.store.state import FilePath, State

OPERATOR = "operator"
SAME = 0.35
"""Labels may mean the same if a picture of one is taken for the other with this probability. Half
of the pictures are if one object was given two labels."""


class Robot(NamedTuple):
    """A robot of a fleet."""

    robot: str
    samples: int
    """How many it has published."""
    decisions: int
    lag: int
    """How many messages it has not taken in."""
    connected: str
    """Whether it is connected."""
    parts: str
    """The fingerprint of what its embeddings depend on."""


class Line(NamedTuple):
    """A message of the log."""

    sequence: int
    time: str
    robot: str
    what: str


async def robots_of(server: Server) -> list[Robot]:
    """Return the robots of a fleet.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet.
    """
    async with connected(server, OPERATOR) as log:
        counts: Counter[tuple[str, str]] = Counter()
        parts: dict[str, str] = {}
        info = await log.info(subjects=server.subject("*"))
        for subject, count in (info.state.subjects or {}).items():
            _, _, kind_of_parts, kind, robot = subject.split(".")
            counts[robot, kind] += count
            if kind != "pin":
                parts.setdefault(robot, kind_of_parts)
        lag, here = dict[str, int](), dict[str, bool]()
        for each in await log.robots():
            name = each.name
            lag[name] = (each.num_pending or 0) + (each.num_ack_pending or 0)
            here[name] = bool(each.push_bound)
            parts[name] = f"{each.config.filter_subject}..".split(".")[2]
    return [
        Robot(name, counts[name, "sample"], counts[name, "decision"], lag.get(name, 0),
              "yes" if here.get(name) else "no" if name in here else "left", parts[name])
        for name in sorted(parts)
    ]  # fmt: skip


async def history(server: Server, most: int) -> list[Line]:
    """Return the last messages of the log, in their order.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet.
    """
    async with connected(server, OPERATOR) as log:
        info = await log.info()
        first = max(info.state.first_seq, info.state.last_seq - most + 1)
        found = [await log.message(number) for number in range(first, info.state.last_seq + 1)]
    return [_line(each) for each in found if each is not None]


def decisions_of(message: Received) -> list[Decision]:
    """Return the decisions that a message has.

    Raises:
        FleetError: It is not a message that robots take in.
    """
    if message.kind == "sample":
        row, _ = read_sample(message.payload)
        return [Decision((row.id,), row.label, row.decided)]
    return [read_decision(message.payload)] if message.kind == "decision" else []


def _line(message: Received) -> Line:
    time = datetime.fromtimestamp(message.time / 1e6, UTC).isoformat(" ", "seconds")
    try:
        what = _described(message)
    except RobocleError as error:
        what = f"nothing that robots take in: {error}"
    return Line(message.sequence, time, message.robot, what)


def _described(message: Received) -> str:
    """Return what a message says."""
    if message.kind == "hello":
        return f"joined with {read_hello(message.payload).backbone}"
    if message.kind == "pin":
        sequence, by = read_pin(message.payload), str(read(message.payload)[0].get("by", ""))
        return f"robots follow to {sequence or 'the end'}, says {by[:100]}"
    head, body = read(message.payload)
    label = json.dumps(head.get("label"), ensure_ascii=False)[:200]
    if message.kind == "sample":
        return f"taught {label} {str(head.get('id'))[:8]}"
    if "badge" in head:
        return f"chose the badge {json.dumps(head['badge'], ensure_ascii=False)[:50]} for {label}"
    which = f"{len(body) // ID} of {body[:4].hex()}..."
    return f"removed {which}" if head.get("label") is None else f"decided on {label} for {which}"


def point_of(text: str) -> tuple[str, int]:
    """Return the fleet and the sequence that a pin names.

    Raises:
        FleetError: It names none.

    >>> point_of("house@120"), point_of("house@latest")
    (('house', 120), ('house', 0))
    """
    name, at, sequence = text.rpartition("@")
    if not at or not (sequence == "latest" or (sequence.isdecimal() and int(sequence) > 0)):
        raise FleetError(f"{text!r} is no point of a fleet: give NAME@SEQUENCE or NAME@latest")
    return name, 0 if sequence == "latest" else int(sequence)


async def pinned(server: Server, sequence: int, group: str) -> int:
    """Let robots follow a fleet up to a message, and return how many kinds of parts it has.

    Args:
        server: The server.
        sequence: That of the last message that robots follow; 0 to follow to the end.
        group: The group of robots.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet or message.
    """
    require_token("group", group)
    by = f"{getpass.getuser()} on {platform.node()}"
    payload = written({"sequence": sequence, "by": by})
    async with connected(server, OPERATOR) as log:
        info = await log.info(subjects=server.subject("*"))
        if sequence > info.state.last_seq:
            raise FleetError(f"the last message of {server.fleet} is {info.state.last_seq}")
        kinds = {subject.split(".")[2] for subject in info.state.subjects or {}}
        for parts in kinds:
            subject = server.subject("pin", parts=parts, robot=group)
            await log.publish(subject, payload, f"pin-{secrets.token_hex(8)}")
    return len(kinds)


async def erase_removed(server: Server) -> int:
    """Erase the messages about samples that were removed, and return how many there were.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet.
    """
    latest: dict[bytes, tuple[int, str]] = {}
    samples: dict[int, bytes] = {}
    async with connected(server, OPERATOR) as log:
        state = (await log.info()).state
        for sequence in range(state.first_seq, state.last_seq + 1):
            message = await log.message(sequence)
            with suppress(FleetError):
                for decision in decisions_of(message) if message else ():
                    if message and message.kind == "sample":
                        samples[sequence] = decision.ids[0]
                    for id in decision.ids:
                        latest[id] = max(latest.get(id, decision.order), decision.order)
        removed = [sequence for sequence, id in samples.items() if not latest[id][1]]
        for sequence in removed:
            await log.erase(sequence)
    return len(removed)


async def created_like(server: Server, path: FilePath) -> None:
    """Create an empty state with the parts of the robots of a fleet.

    Raises:
        FleetError: There are no robots yet whose parts can be used, or they have several kinds.
        StateError: The state cannot be created.
    """
    found: dict[str, Parts] = {}
    has = "no robots yet"
    async with connected(server, OPERATOR) as log:
        subjects: dict[str, int] = {}
        with suppress(FleetError):  # nobody has joined it yet
            info = await log.info(subjects=server.subject("hello"))
            subjects = info.state.subjects or {}
        for subject in subjects:
            kind = subject.split(".")[2]
            message = None if kind in found else await log.message(subject=subject)
            try:
                parts = read_hello(message.payload) if message else None
                if parts and fingerprint(parts) == kind:
                    built(str(path), parts.classifier)
                    found[kind] = parts
            except RobocleError as error:
                has = f"no robot whose parts can be used here ({error})"
    if len(found) > 1:
        kinds = [f"{each.backbone} with {each.pooling}" for each in found.values()]
        has = f"robots with several kinds of parts ({listed(kinds, 'other')})"
    if len(found) != 1:
        raise FleetError(
            f"there is no state {path}, and the fleet {server.fleet} has {has}: teach {path} a "
            f"first picture{' with those that you want' if found else ''}, then join"
        )
    (parts,) = found.values()
    State.open(path, lambda: dict(vars(parts))).close()


async def leave_fleet(state: Path) -> str:
    """Make the server forget a robot, remove the file beside its state, and return what was done.

    Raises:
        FleetError: The state is in no fleet, or the robot is running.
    """
    path, is_none = file_beside(state), FleetError(f"{state} is in no fleet")
    if not path.exists():
        raise is_none
    known = Membership(state)
    try:
        if not known["membership"]:
            raise is_none
        url, fleet = known["membership"].split(" ")
        robot, user = known["robot"], known["user"]
        creds, authority = (
            Path(known[name]) if known[name] else None for name in ("creds", "tls_ca")
        )
        server = Server(url, fleet, user, os.environ.get(PASSWORD_VARIABLE, ""), creds, authority)
        with suppress(FleetError):  # it forgets robots that are away for long
            async with connected(server, robot) as log:
                await log.forget(robot)
    finally:
        known.close()
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        each.unlink(missing_ok=True)
    return f"{robot} has left {fleet} at {url}; {state} keeps what it knows"


def same_labels(learner: Learner) -> list[tuple[str, str, float]]:
    """Return pairs of labels that may mean the same, and how likely they are taken for each other.

    Example:
        >>> same_labels(Learner(pooling="avg"))
        []
    """
    found = learner.readiness()
    pairs = found.confusable if found else ()
    return [(each.label, each.other, each.likelihood) for each in pairs if each.likelihood >= SAME]
