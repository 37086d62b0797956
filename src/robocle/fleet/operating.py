"""The commands of an operator: robots and their lag, the log, pins, labels to join."""

import asyncio
import getpass
import json
import os
import platform
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from robocle._internal.wording import listed, plural
from robocle.errors import FleetError, RobocleError
from robocle.fleet.connection import connected
from robocle.fleet.log import AT_ONCE, FORGOTTEN, Log, group_of
from robocle.fleet.membership import Membership, file_beside
from robocle.fleet.messages import (
    EVERYONE,
    Decision,
    Kind,
    Received,
    fingerprint,
    label_of_badge,
    read,
    read_decision,
    read_hello,
    read_pin,
    read_sample,
    require_subject_name,
    written,
)
from robocle.fleet.server import PASSWORD_VARIABLE, Server
from robocle.learner import Learner
from robocle.learner.pipeline import Parts
from robocle.store.folding import built
from robocle.store.state import FilePath, State

OPERATOR = "operator"
LOOK_BACK = 10_000
"""How many messages are searched for the labels that samples had before those that are shown."""
MINUTE = 60_000_000
"""A minute in microseconds."""
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
    """"yes", "no", or "left" if the server does not know it."""
    parts: str
    """The fingerprint of what its embeddings depend on."""
    group: str
    """The group of robots that it is in; empty if the server does not know it."""
    pin: int
    """The sequence up to which it follows the log; 0 for the end."""


class Line(NamedTuple):
    """A message of the log."""

    sequence: int
    time: str
    """When the server received it."""
    robot: str
    """Who published it; of a pin, the group of robots that it is for."""
    what: str
    label: str | None = None
    """The label that it decides on, if any; None if it removes samples."""
    ids: tuple[str, ...] = ()
    """The samples that it decides on."""
    decided: str | None = None
    """When that was decided, by the clock of the robot."""


async def robots_of(server: Server) -> list[Robot]:
    """Return the robots of a fleet.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet.
    """
    async with connected(server, OPERATOR) as log:
        counts: Counter[tuple[str, str]] = Counter()
        parts: dict[str, str] = {}
        pins: dict[tuple[str, str], tuple[int, int]] = {}
        info = await log.info(subjects=server.subject("*"))
        for subject, count in (info.state.subjects or {}).items():
            _, _, kind_of_parts, kind, robot = subject.split(".")
            counts[robot, kind] += count
            if kind != "pin":
                parts.setdefault(robot, kind_of_parts)
            elif pin := await log.message(subject=subject):
                with suppress(FleetError):
                    pins[kind_of_parts, robot] = pin.sequence, read_pin(pin.payload)
        lag, here, groups = dict[str, int](), dict[str, bool](), dict[str, str]()
        for each in await log.robots():
            name = each.name
            lag[name] = (each.num_pending or 0) + (each.num_ack_pending or 0)
            here[name] = bool(each.push_bound)
            parts[name] = f"{each.config.filter_subject}..".split(".")[2]
            groups[name] = group_of(each)
    return [
        Robot(name, counts[name, "sample"], counts[name, "decision"], lag.get(name, 0),
              "yes" if here.get(name) else "no" if name in here else "left", parts[name],
              group := groups.get(name, ""),
              max(pins.get((parts[name], each), (0, 0)) for each in (EVERYONE, group))[1])
        for name in sorted(parts)
    ]  # fmt: skip


async def history(server: Server, most: int) -> list[Line]:
    """Return the last messages of the log, in their order.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet.
    """
    async with connected(server, OPERATOR) as log:
        state = (await log.info()).state
        first = max(state.first_seq, state.last_seq - most + 1)
        found = await _messages(log, first, state.last_seq + 1)
        labels, end = dict[bytes, str | None](), first
        wanted = _ids(found, "decision") - _ids(found, "sample")
        while wanted and (start := max(state.first_seq, first - LOOK_BACK, end - AT_ONCE)) < end:
            for message in reversed(await _messages(log, start, end)):
                for decision in _decisions(message):
                    labels |= dict.fromkeys(wanted.intersection(decision.ids), decision.label)
                    wanted.difference_update(decision.ids)
            end = start
    return [_line(each, labels) for each in found]


async def _messages(log: Log, first: int, end: int) -> list[Received]:
    """Return the messages from a sequence on that are not erased, up to another one."""
    found: list[Received | None] = []
    for start in range(first, end, AT_ONCE):
        some = range(start, min(start + AT_ONCE, end))
        found += await asyncio.gather(*map(log.message, some))
    return [each for each in found if each is not None]


def _decisions(message: Received) -> list[Decision]:
    """Return the decisions that a message has; none if robots do not take it in."""
    try:
        return decisions_of(message)
    except RobocleError:
        return []


def _ids(messages: list[Received], kind: Kind) -> set[bytes]:
    """Return the samples that messages of a kind decide on."""
    found = (decision for each in messages if each.kind == kind for decision in _decisions(each))
    return {id for decision in found for id in decision.ids}


def decisions_of(message: Received) -> list[Decision]:
    """Return the decisions that a message has.

    Raises:
        FleetError: It is not a message that robots take in.
    """
    if message.kind == "sample":
        row, _ = read_sample(message.payload)
        return [Decision((row.id,), row.label, row.decided)]
    return [read_decision(message.payload)] if message.kind == "decision" else []


def _line(message: Received, labels: dict[bytes, str | None]) -> Line:
    """Return what a message says; the labels are those before, and then those after it."""
    line = Line(message.sequence, _written(message.time), message.robot, "")
    try:
        if message.kind == "hello":
            return line._replace(what=f"joined with {read_hello(message.payload).backbone}")
        if message.kind == "pin":
            return line._replace(what=_pin(message))
        (decision,) = decisions_of(message)
    except RobocleError as error:
        return line._replace(what=f"nothing that robots take in: {error}")
    about, ids, decided = label_of_badge(decision.ids[0]), decision.ids, _written(decision.decided)
    if message.kind == "sample":
        what = f"taught {_quoted(decision.label)} {ids[0].hex()[:8]}"
    elif about:
        what = f"chose the badge {_quoted(decision.label)} for {_quoted(about)}"
    else:
        what = _decided(decision, labels)
    labels |= dict.fromkeys(ids, decision.label)
    if abs(decision.decided - message.time) > MINUTE:
        what += f", decided at {decided}"
    shown = () if about else tuple(id.hex() for id in ids)
    return line._replace(what=what, label=about or decision.label, ids=shown, decided=decided)


def _pin(message: Received) -> str:
    sequence, by = read_pin(message.payload), str(read(message.payload)[0].get("by", ""))
    return f"robots of group {message.robot} follow to {sequence or 'the end'}, says {by[:100]}"


def _decided(decision: Decision, labels: Mapping[bytes, str | None]) -> str:
    """Return what a decision changes, as far as it is known what was before."""
    which = f"({decision.ids[0].hex()[:8]}{'...' if len(decision.ids) > 1 else ''})"
    count = plural(len(decision.ids), "sample")
    before = {labels[id] for id in decision.ids if id in labels}
    names = listed(map(_quoted, sorted(filter(None, before))), "other label")
    if decision.label is None:
        return f"removed {count}{f' of {names}' if names else ''} {which}"
    if before == {None}:
        return f"brought back {count} of {_quoted(decision.label)} {which}"
    was = f" from {names}" if names else ""
    return f"relabelled {count}{was} to {_quoted(decision.label)} {which}"


def _quoted(label: str | None) -> str:
    return json.dumps(label or "", ensure_ascii=False)[:200]


def _written(time: int) -> str:
    return datetime.fromtimestamp(time / 1e6, UTC).isoformat(" ", "seconds")


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
    """Let robots follow a fleet up to a message, and return how many the server knows of them.

    Args:
        server: The server.
        sequence: That of the last message that robots follow; 0 to follow to the end.
        group: The group of robots.

    Raises:
        FleetError: The server cannot be reached, or has no such fleet or message.
    """
    require_subject_name("group", group)
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
        groups = [group_of(each) for each in await log.robots()]
    return len(groups) if group == EVERYONE else groups.count(group)


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
            for decision in _decisions(message) if message else ():
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
    path, is_none, fault = file_beside(state), FleetError(f"{state} is in no fleet"), ""
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
        try:
            async with connected(server, robot) as log:
                await log.forget(robot)
        except FleetError as error:
            after = f"forgets it after {FORGOTTEN / 86400:.0f} days"
            fault = f"; the server does not know it ({error}) and {after}"
    finally:
        known.close()
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        each.unlink(missing_ok=True)
    return f"{robot} has left {fleet} at {url}, and {state} keeps what it knows{fault}"


def same_labels(learner: Learner) -> list[tuple[str, str, float]]:
    """Return pairs of labels that may mean the same, and how likely they are taken for each other.

    Example:
        >>> same_labels(Learner(pooling="avg"))
        []
    """
    found = learner.readiness()
    pairs = found.confusable if found else ()
    return [(each.label, each.other, each.likelihood) for each in pairs if each.likelihood >= SAME]
