"""Robots that join again: what was erased stays erased, and nothing is published twice."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import run
from nats_server import FLEET, NatsServer, labels_of, requires_nats
from robocle.fleet.log import IN_FLIGHT
from robocle.fleet.membership import file_beside
from robots import WIDTH, opened, teach
from stub_backbone import embedding

pytestmark = [requires_nats, pytest.mark.slow]
Join = Callable[..., None]
SAMPLES = IN_FLIGHT + 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server that forgets the ids of messages at once, as others do after two minutes."""
    with NatsServer(tmp_path) as found:
        found.with_log(
            lambda log: log._stream.add_stream(
                name=log.server.stream, subjects=[log.server.subject("*")], duplicate_window=0.1
            )
        )
        yield found


@pytest.fixture
def join(server: NatsServer) -> Join:
    """A function that lets robots exchange everything."""

    def joined(*states: Path, options: tuple[str, ...] = ()) -> None:
        for state in states:
            time.sleep(0.2)
            found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--once", *options)
            assert found.exit_code == 0, found.stderr

    return joined


@pytest.fixture
def states(tmp_path: Path, join: Join) -> tuple[Path, Path]:
    """Two robots that know the same: "mug" was taught to the first, "pan" to the second.

    These are more messages than the server sends at a time.
    """
    first, second = tmp_path / "first.robocle", tmp_path / "second.robocle"
    for number, (path, label) in enumerate(((first, "mug"), (second, "pan"))):
        with opened(path, "slda") as learner:
            lessons = [embedding([number, each], WIDTH) for each in range(SAMPLES)]
            learner.teach_embeddings(lessons, [label] * SAMPLES)
    join(first, second, first)
    return first, second


@pytest.mark.parametrize("kept", [0, 100])
def test_a_log_that_was_purged_is_filled_again(
    states: tuple[Path, Path], server: NatsServer, join: Join, tmp_path: Path, kept: int
) -> None:
    new = tmp_path / "new.robocle"
    server.with_log(lambda log: log._stream.purge_stream(log.server.stream, keep=kept or None))
    join(states[0], new)
    assert messages(server)["sample"] == 2 * SAMPLES
    assert labels_of(new) == labels_of(states[1])
    join(*states)
    assert messages(server)["sample"] == 2 * SAMPLES


def test_a_log_that_was_purged_at_once_is_filled_again(tmp_path: Path) -> None:
    state = tmp_path / "first.robocle"
    with opened(state, "slda") as learner:
        teach(learner, "mug", 3)
    with NatsServer(tmp_path) as server:  # which still knows the ids of the messages
        for _ in range(2):
            found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--once")
            assert found.exit_code == 0
            assert messages(server) == {"hello": 1, "sample": 3}
            server.with_log(lambda log: log._stream.purge_stream(log.server.stream))


def messages(server: NatsServer) -> dict[str, int]:
    """Return the number of messages of each kind."""
    info = server.with_log(lambda log: log.info(subjects=log.server.subject("*")))
    found: dict[str, int] = {}
    for subject, count in (info.state.subjects or {}).items():
        kind = subject.split(".")[3]
        found[kind] = found.get(kind, 0) + count
    return found


def test_a_robot_that_has_lost_its_file_publishes_nothing_again(
    states: tuple[Path, Path], server: NatsServer, join: Join
) -> None:
    first, second = states
    file_beside(first).unlink()
    join(first)
    assert messages(server)["sample"] == 2 * SAMPLES
    assert labels_of(first) == labels_of(second)


def test_what_was_erased_is_not_published_by_a_robot_that_was_away(
    states: tuple[Path, Path], server: NatsServer, join: Join
) -> None:
    first, second = states
    assert run("fleet", "leave", first).exit_code == 0
    with opened(second) as learner:
        learner.forget("mug")
    join(second)
    erased = run("fleet", "erase", server.url, "--fleet", FLEET).stdout
    assert erased.startswith(f"erased {SAMPLES} removed samples")
    join(first)
    assert messages(server)["sample"] == SAMPLES
    assert set(labels_of(first).values()) == {"pan"}


def test_a_robot_that_joins_again_follows_the_pin_and_does_not_publish_what_it_hides(
    states: tuple[Path, Path], server: NatsServer, join: Join
) -> None:
    first, second = states
    last = server.with_log(lambda log: log.info()).state.last_seq
    with opened(second) as learner:
        teach(learner, "wrong", 2, seed=30)
    join(second, first)
    assert run("fleet", "leave", first).exit_code == 0
    assert run("fleet", "pin", f"{FLEET}@{last}", server.url).exit_code == 0
    join(second, first)
    assert messages(server)["sample"] == 2 * SAMPLES + 2
    assert set(labels_of(first).values()) == set(labels_of(second).values()) == {"mug", "pan"}
