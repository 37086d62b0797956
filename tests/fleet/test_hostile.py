"""Hostile and foreign messages, wrong credentials: refused in a line, nothing is taken in."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import assert_one_line, assert_refused, run
from nats_server import FLEET, NatsServer, RobotProcess, labels_of, requires_nats, robots
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import FleetError
from robocle.fleet import connection, messages
from robocle.fleet.exchange import Exchange
from robocle.fleet.followed import Sharing
from robocle.fleet.log import PATIENCE, Log
from robocle.fleet.messages import (
    Decision,
    Received,
    badge_id,
    decision_message,
    fingerprint,
    hello_message,
    read_decision,
    sample_message,
    written,
)
from robocle.fleet.server import PASSWORD_VARIABLE
from robocle.learner.pipeline import Parts
from robocle.store.state import State
from robots import in_memory, opened, scores, teach
from server_process import free_port
from stub_backbone import embedding
from waiting import wait_for

USERS = 'authorization { users = [ {user: robot, password: "open sesame"} ] }'


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state that was taught three pictures."""
    path = tmp_path / "home.robocle"
    with opened(path, "slda") as learner:
        teach(learner, "mug", 3)
    return path


def sample_of(label: str = "pan", seed: int = 9, width: int = 24) -> bytes:
    """Return the message about a sample of another robot."""
    other = in_memory("slda")
    other.teach_embedding(embedding(seed, width), label)
    (row,) = other._learned.state.rows()
    return sample_message(row)


def changed(payload: bytes, **values: object) -> bytes:
    """Return a message with other values in its first line."""
    line, _, body = payload.partition(b"\n")
    return json.dumps({**json.loads(line), **values}).encode() + b"\n" + body


SAMPLE = sample_of()
HOSTILE = {
    "nothing": b"",
    "no line": b"{}",
    "no object": b"[]\n",
    "no JSON": b"{'version': 1}\n",
    "deeply nested": b"[" * 5000 + b"\n",
    "another version": changed(SAMPLE, version=2),
    "a version that is none": changed(SAMPLE, version="1"),
    "no id": changed(SAMPLE, id=None),
    "a short id": changed(SAMPLE, id="00"),
    "a removed sample": changed(SAMPLE, label=None),
    "an empty label": changed(SAMPLE, label=" "),
    "a label of two lines": changed(SAMPLE, label="mug\npan"),
    "a control sequence": changed(SAMPLE, label="\x1b[2J"),
    "half a character": changed(SAMPLE, label="\ud800"),
    "a long label": changed(SAMPLE, label="x" * 9000),
    "no time": changed(SAMPLE, decided=0),
    "a time that is no number": changed(SAMPLE, time=True),
    "the year 9999": changed(SAMPLE, decided=2**60),
    "decided in 2255": changed(SAMPLE, decided=2**53),
    "taught in 2255": changed(SAMPLE, time=2**53),
    "a huge number": changed(SAMPLE, decided=10**400),
    "faults that are no text": changed(SAMPLE, quality=["dark"]),
    "faults of two lines": changed(SAMPLE, quality="dark\nblurred"),
    "a short sketch": changed(SAMPLE, sketch="00"),
    "a sketch that is a number": changed(SAMPLE, sketch=1),
    "another checksum": changed(SAMPLE, crc=1),
    "no bits": changed(SAMPLE, bits=None),
    "half floats": changed(SAMPLE, bits=16),
    "a truncated embedding": SAMPLE[:-1],
    "no embedding": SAMPLE.partition(b"\n")[0] + b"\n",
    "another width": sample_of(width=25),
}  # fmt: skip


BADGE = decision_message(Decision((badge_id("mug"),), "#ff0000", 5))
HOSTILE_DECISIONS = {
    "nothing": b"",
    "no ids": written({"label": "mug", "decided": 5}),
    "half an id": written({"label": "mug", "decided": 5}, bytes(24)),
    "more ids than a message has": written({"label": "mug", "decided": 5}, bytes(16 * 4097)),
    "no label": written({"decided": 5}, bytes(16)),
    "a badge that is a text": changed(BADGE, badge="mug"),
    "a badge that is a number": changed(BADGE, badge=7),
    "no badge": changed(BADGE, badge=None),
    "a badge of no label": changed(BADGE, label=None),
    "the badge of a control sequence": changed(BADGE, label="\x1b[2J"),
    "a badge without a time": changed(BADGE, decided=0),
    "a badge of the year 9999": changed(BADGE, decided=2**60),
    "a badge of 2255": changed(BADGE, decided=2**53),
    "2255": written({"label": "mug", "decided": 2**53}, bytes(16)),
}
KINDS = {
    **{f"sample: {name}": ("sample", each) for name, each in HOSTILE.items()},
    **{f"decision: {name}": ("decision", each) for name, each in HOSTILE_DECISIONS.items()},
}


@pytest.mark.parametrize("name", KINDS)
def test_a_hostile_message_is_refused_in_a_line(name: str, state: Path) -> None:
    exchange = Exchange(state, Sharing())
    kind, payload = KINDS[name]
    assert exchange.take([Received(7, kind, "stranger", payload)], "me") == []  # type: ignore[arg-type]
    (line,) = exchange.refused
    assert line.startswith("refused message 7 of stranger: ")
    assert line.isprintable()
    exchange.close()
    with Learner.edit(state) as learner:
        assert learner.counts == {"mug": 3}
        assert learner.badges == {}


@pytest.mark.parametrize("years", [9, 11])
@pytest.mark.parametrize("now", [0.0, 4e9])
def test_a_time_is_refused_more_than_ten_years_ahead_even_if_the_clock_was_never_set(
    years: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    decided = int((max(now, messages.RELEASED) + years * 365 * 86400) * 1e6)
    payload = decision_message(Decision((bytes(16),), "mug", decided))
    if years == 9:
        assert read_decision(payload).decided == decided
    else:
        with pytest.raises(FleetError, match="more than ten years ahead"):
            read_decision(payload)


def test_more_labels_than_the_classifier_can_have_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with opened(path, "finetune:classes=2") as learner:
        teach(learner, "mug", 2)
        (id, _) = labels_of(path)
        later = int(1e6 * time.time()) + 10**9
        exchange = Exchange(path, Sharing())
        taken = [
            ("sample", sample_of("unknown", 20)),
            ("sample", sample_of("pan", 21)),
            ("sample", sample_of("unknown", 22)),
            ("decision", decision_message(Decision((bytes.fromhex(id),), "pan", later))),
            ("decision", BADGE),
        ]
        for kind, payload in taken:
            exchange.take([Received(1, kind, "other", payload)], "me")  # type: ignore[arg-type]
        assert exchange.refused == []
        shoes = [sample_of("shoe", 23), sample_of("shoe", 24)]
        decision = decision_message(Decision((bytes.fromhex(id),), "fan", later + 1))
        for kind, payload in [*(("sample", each) for each in shoes), ("decision", decision)]:
            exchange.take([Received(2, kind, "other", payload)] * 2, "me")  # type: ignore[arg-type]
        assert len(exchange.refused) == 6
        assert all(
            line.partition(": ")[2].startswith(("cannot teach 'shoe'", "cannot teach 'fan'"))
            for line in exchange.refused
        )
        learner.forget("pan")
        exchange.take([Received(3, "sample", "other", shoes[0])], "me")
        exchange.close()
        assert learner.counts == {"mug": 1, "shoe": 1}
        assert scores(learner)


def test_the_first_message_does_not_decide_the_width(lite0: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "new.robocle"
    with Learner.open(path, lite0) as learner:
        exchange = Exchange(path, Sharing())
        exchange.take([Received(1, "sample", "stranger", sample_of(width=7))], "me")
        assert "has width 7" in exchange.refused.pop()
        exchange.close()
        assert learner.counts == {}


@pytest.mark.slow
def test_2000_random_messages_do_no_harm(state: Path) -> None:
    rng = np.random.default_rng(0)
    exchange = Exchange(state, Sharing())
    decision = written({"label": "x", "decided": 5}, bytes(32))
    seeds = [SAMPLE, written({"sequence": 3}), decision, BADGE]
    before = labels_of(state)
    for number in range(2000):
        payload = bytearray(seeds[rng.integers(4)])
        for _ in range(rng.integers(1, 8)):
            at = int(rng.integers(len(payload)))
            kind = rng.integers(3)
            if kind == 0:
                payload[at] = int(rng.integers(256))
            elif kind == 1:
                del payload[at : at + int(rng.integers(1, 50))]
            else:
                payload[at:at] = rng.bytes(int(rng.integers(1, 9)))
            payload = payload or bytearray(b"?")
        kind_of = ("sample", "decision", "hello")[rng.integers(3)]
        exchange.take([Received(number + 1, kind_of, "stranger", bytes(payload))], "me")  # type: ignore[arg-type]
    assert len(exchange.refused) > 1000
    exchange.close()
    after = labels_of(state)
    assert {id: after[id] for id in before} == before
    assert State.open(state).problems() == []


@requires_nats
@pytest.mark.slow
def test_what_is_hostile_does_not_hold_up_what_follows(state: Path, tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server, robots(server.url, state) as (member,):
        publish(server, state, [*HOSTILE.values(), sample_of("clock", 77)], "sample")
        publish(server, state, [decision_message_of_nobody()], "decision")
        publish(server, state, [b"\xff", b"{}\n"], "pin", robot="all")
        publish(server, state, [b"?"], "surprise")
        with Learner.edit(state) as learner:
            wait_for(lambda: learner.counts == {"mug": 3, "clock": 1}, "the good one")
        wait_for(
            lambda: sum("refused" in each for each in member.lines) >= len(HOSTILE) + 2, "lines"
        )
        assert member.process.poll() is None
        assert not any("Traceback" in each for each in member.lines)
        server.with_log(lambda log: log._stream.add_consumer(
            log.server.stream, durable_name="monitor", filter_subject="robocle.>"
        ))  # fmt: skip
        status = run("fleet", "status", server.url, "--fleet", FLEET)
        assert status.exit_code == 0  # although another program reads the log as well
        assert "monitor" in status.stdout
        log = run("fleet", "log", server.url, "--fleet", FLEET)
        assert log.exit_code == 0
        assert "nothing that robots take in" in log.stdout


@requires_nats
@pytest.mark.slow
def test_no_hello_keeps_a_new_robot_from_joining(state: Path, tmp_path: Path) -> None:
    with Learner.edit(state) as learner:
        parts = learner.parts
    new, unusable = tmp_path / "new.robocle", replace(parts, classifier="nosuch")
    with NatsServer(tmp_path) as server:
        joining = ("fleet", "join", new, server.url, "--fleet", FLEET, "--once")
        publish(server, state, [hello_message(unusable)], "hello", robot="000")
        assert_refused(run(*joining), "no robot whose parts can be used here", "'nosuch'")
        assert not new.exists()
        publish(server, state, [b"garbage"], "hello", robot="AAA")
        assert run("fleet", "join", state, *joining[3:]).exit_code == 0
        found = run(*joining)
        assert found.exit_code == 0, found.stderr
        assert labels_of(new) == labels_of(state)
        new.unlink()
        publish(server, replace(parts, pooling="max"), [hello_message(parts)], "hello")
        assert run(*joining).exit_code == 0  # it does not have the parts of its subject
        new.unlink()
        other = replace(parts, pooling="max")
        publish(server, other, [hello_message(other)], "hello", robot="other")
        assert_refused(
            run(*joining), "stub with avg", "stub with max", "a first picture with those that you"
        )


def decision_message_of_nobody() -> bytes:
    """Return a decision about samples that nobody has."""
    return decision_message(Decision((bytes(16), bytes([1] * 16)), "ghost", 5))


def publish(
    server: NatsServer,
    state: Path | Parts,
    payloads: list[bytes],
    kind: str,
    robot: str = "stranger",
) -> None:
    """Publish messages as another robot, which has certain parts or those of a state."""
    if isinstance(state, Path):
        with Learner.edit(state) as learner:
            state = learner.parts
    parts = fingerprint(state)

    async def work(log: Log) -> None:
        await log.info(create=True)
        for number, payload in enumerate(payloads):
            subject = log.server.subject(kind, parts=parts, robot=robot)
            await log.publish(subject, payload, f"{kind}-{number}-{hash((subject, payload))}")

    server.with_log(work)


@requires_nats
@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "headers"),
    [
        (b"\xff\xfe", b"NATS/1.0\r\n\r\n"),
        (b"\x1b[2J", b"NATS/1.0\r\n\r\n"),
        (b"stranger", b"?"),
        (b"stranger", b"garbage"),
        (b"stranger", b"NATS/1.0\r\n\xff: \xff\r\n\r\n"),
        (b"stranger", b"NATS/1.0 503 \xff\r\n\r\n"),
    ],
)
def test_no_subject_and_no_headers_stop_a_robot(
    robot: bytes, headers: bytes, state: Path, tmp_path: Path
) -> None:
    with Learner.edit(state) as learner:
        subject = f"robocle.{FLEET}.{fingerprint(learner.parts)}.sample.".encode() + robot
    with NatsServer(tmp_path) as server, robots(server.url, state) as (member,):
        server.send(
            b"HPUB %s %d %d\r\n%s?\r\n" % (subject, len(headers), len(headers) + 1, headers)
        )
        publish(server, state, [sample_of("clock", 77)], "sample")
        with Learner.edit(state) as learner:
            wait_for(lambda: "clock" in learner.counts, "what follows", 10)
        assert not any("Traceback" in each for each in member.lines)
        new = tmp_path / "new.robocle"
        found = run("fleet", "join", new, server.url, "--fleet", FLEET, "--once")
        assert found.exit_code == 0, found.stderr
        assert labels_of(new) == labels_of(state)
        for command in ("log", "status", "erase"):
            assert run("fleet", command, server.url, "--fleet", FLEET).exit_code == 0


@requires_nats
@pytest.mark.slow
def test_robots_with_other_parts_are_reported_and_never_mixed(
    state: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other.robocle"
    with opened(other, "slda") as learner:
        teach(learner, "fan", 2)
    with State.open(other).reading() as connection:
        connection.rollback()
        connection.execute("UPDATE parts SET value = 'max' WHERE name = 'pooling'")
    with NatsServer(tmp_path) as server:
        for each in (state, other, state):
            found = run("fleet", "join", each, server.url, "--fleet", FLEET, "--once")
            assert found.exit_code == 0, found.stderr
        assert caplog.messages[-1].startswith(
            "1 robot joined house with other parts: nothing is shared with other-"
        )
        with Learner.edit(state) as learner:
            assert learner.counts == {"mug": 3}


@requires_nats
@pytest.mark.slow
@pytest.mark.parametrize("error", [FileNotFoundError, ValueError])
def test_an_error_of_our_own_is_not_one_of_the_connection(
    error: type[Exception], tmp_path: Path
) -> None:
    async def work(log: Log) -> None:
        raise error("elsewhere")

    with NatsServer(tmp_path) as server, pytest.raises(error, match=r"^elsewhere$"):
        server.with_log(work)


@requires_nats
@pytest.mark.slow
def test_wrong_credentials_are_refused_in_a_line(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NatsServer(tmp_path, USERS) as server:
        address = server.url.replace("//", "//robot@")
        for url, password in ((server.url, ""), (address, "wrong"), (address, "")):
            monkeypatch.setenv(PASSWORD_VARIABLE, password)
            found = run("fleet", "join", state, url, "--fleet", FLEET)
            assert found.exit_code == 1
            assert_one_line(found.stderr)
            assert "refuses" in found.stderr
        creds = tmp_path / "robot.creds"
        creds.write_text("nothing")
        found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--creds", creds)
        assert found.exit_code == 1
        assert_one_line(found.stderr)
        monkeypatch.setenv(PASSWORD_VARIABLE, "open sesame")
        found = run("fleet", "join", state, address, "--fleet", FLEET, "--once")
        assert found.exit_code == 0, found.stderr
        assert "open sesame" not in found.stdout + found.stderr


@requires_nats
@pytest.mark.slow
def test_with_the_permissions_of_the_documents_a_robot_shares_and_does_not_pin(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs/fleet.md").read_text("utf-8")
    (robot,) = re.findall(r"^({ user: kitchen.*?\] } })$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("KITCHEN", "sesame")
    monkeypatch.setenv(PASSWORD_VARIABLE, "sesame")
    users = f"{robot}, {{ user: operator, password: $KITCHEN }}"
    with NatsServer(tmp_path, f"authorization {{ users = [ {users} ] }}") as server:
        operator, kitchen = (
            server.url.replace("//", f"//{each}@") for each in ("operator", "kitchen")
        )
        other = tmp_path / "other.robocle"
        with opened(other, "slda") as learner:
            teach(learner, "pan", 2, seed=5)
        for path, url in ((other, operator), (state, kitchen), (other, operator)):
            options = ("--fleet", FLEET, "--once", "--robot", url.split("//")[1].split("@")[0])
            found = run("fleet", "join", path, url, *options)
            assert found.exit_code == 0, found.stderr
        assert labels_of(state) == labels_of(other)
        third = tmp_path / "third.robocle"  # under a name that is not that of the user
        teach(opened(third, "slda"), "fan")
        refused = run("fleet", "join", third, kitchen, "--fleet", FLEET, "--robot", "office")
        assert refused.exit_code == 1
        assert "refuses the user 'kitchen'" in refused.stderr
        start = time.monotonic()
        refused = run("fleet", "pin", "house@2", kitchen)
        assert refused.exit_code == 1
        assert "refuses the user 'kitchen'" in refused.stderr
        assert time.monotonic() - start < PATIENCE / 2  # the server does not answer what it refuses
        assert run("fleet", "erase", kitchen, "--fleet", FLEET).exit_code == 0  # nothing to erase
        assert run("fleet", "pin", "house@2", operator).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("join", "STATE", "http://x", "--fleet", "house"), "not the address of a server"),
        (("join", "STATE", "nats://a:b@x", "--fleet", "house"), "the password does not belong"),
        (("join", "STATE", "nats://u:se/cret@x", "--fleet", "h"), "'nats://...@x' is not the"),
        (("join", "STATE", "nats://u:s/e@cr/et@x", "--fleet", "h"), "'nats://...@x' is not the"),
        (("join", "STATE", "nats://x", "--fleet", "my house"), "cannot be the name of a fleet"),
        (("join", "STATE", "nats://x", "--fleet", "h", "--creds", "none"), "there is no file"),
        (("pin", "house", "nats://x"), "is no point of a fleet"),
        (("pin", "house@0", "nats://x"), "is no point of a fleet"),
        (("leave", "STATE"), "is in no fleet"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: tuple[str, ...], words: str, state: Path
) -> None:
    found = run("fleet", *(str(state) if each == "STATE" else each for each in arguments))
    assert found.exit_code == 1
    assert_one_line(found.stderr)
    assert words in found.stderr


@pytest.fixture(params=["nobody listens", "nobody answers", "the name is looked for", "no name"])
def nowhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that is not there."""
    monkeypatch.setattr(connection, "CONNECT", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1] if request.param == "nobody answers" else free_port()
        over = threading.Event()
        if request.param == "the name is looked for":
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_: over.wait(60))
        yield f"nats://{'nobody.invalid' if request.param == 'no name' else '127.0.0.1'}:{port}"
        over.set()


def test_a_server_that_is_not_there_is_reported_at_once(nowhere: str, state: Path) -> None:
    start = time.monotonic()
    for command in (("join", state, nowhere), ("join", state, nowhere, "--once")):
        found = run("fleet", *command, "--fleet", FLEET)
        assert found.exit_code == 1
        assert_one_line(found.stderr)
        assert "cannot be reached" in found.stderr
    assert run("fleet", "status", nowhere, "--fleet", FLEET).exit_code == 1
    assert time.monotonic() - start < 20  # and not for as long as the system looks for a name
    assert "is in no fleet" in run("fleet", "leave", state).stderr
    found = run("fleet", "join", state, nowhere, "--fleet", "garden")  # that was no membership
    assert "cannot be reached" in found.stderr


@requires_nats
@pytest.mark.slow
def test_a_robot_that_has_joined_waits_for_the_server_and_says_so_once(
    state: Path, tmp_path: Path
) -> None:
    with NatsServer(tmp_path) as server:
        options = ("--fleet", FLEET, "--once", "--robot", "kitchen")
        assert run("fleet", "join", state, server.url, *options).exit_code == 0
        server.kill()
        member = RobotProcess(state, server.url, "--robot", "kitchen")
        try:
            wait_for(lambda: any("cannot be reached" in each for each in member.lines), "a line")
            time.sleep(2)
            server.start()
            wait_for(lambda: any("up to date" in each for each in member.lines), "a connection")
        finally:
            member.kill()
        assert sum("trying again" in each for each in member.lines) == 1
