"""Robots as processes and a real server: what one is taught, all know, whatever is killed."""

import asyncio
import json
import re
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import assert_refused, run
from nats_server import FLEET, NatsServer, RobotProcess, labels_of, requires_nats, robots
from robocle import Learner
from robocle.errors import FleetError, StateLockedError
from robocle.fleet import operating
from robocle.fleet.log import Log
from robocle.fleet.member import Member
from robocle.fleet.server import Server
from robocle.store.state import State
from robots import are_close, in_memory, opened, scores, teach
from server_process import free_port
from stub_backbone import embedding
from waiting import wait_for

pytestmark = [requires_nats, pytest.mark.slow]
WIDTH = 24


@pytest.fixture
def states(tmp_path: Path) -> list[Path]:
    """Three states that were taught different objects."""
    found = [tmp_path / f"{name}.robocle" for name in ("kitchen", "office", "hall")]
    for number, path in enumerate(found):
        with opened(path, "slda") as learner:
            teach(learner, ("mug", "pan", "shoe")[number], 3, seed=number)
    return found


def wait_until_all(states: list[Path], holds: Callable[[dict[str, int]], bool], what: str) -> None:
    """Wait until the counts of all states satisfy something."""
    with ExitStack() as stack:
        learners = [stack.enter_context(Learner.edit(state)) for state in states]
        wait_for(lambda: all(holds(each.counts) for each in learners), what, 60)


def require_equal(states: list[Path], everything: Learner | None = None) -> None:
    """Require that all states have the same samples, and predict like a robot taught everything."""
    found = [labels_of(state) for state in states]
    assert all(each == found[0] for each in found)
    with ExitStack() as stack:
        learners = [stack.enter_context(Learner.edit(state)) for state in states]
        wanted = scores(everything or learners[0])
        assert wanted
        assert all(are_close(scores(each), wanted, 1e-6) for each in learners)


def test_three_robots_learn_from_each_other(states: list[Path], tmp_path: Path) -> None:
    everything = in_memory("slda")
    for number, label in enumerate(("mug", "pan", "shoe")):
        teach(everything, label, 3, seed=number)
    with NatsServer(tmp_path) as server, robots(server.url, *states) as members:
        wait_until_all(states, lambda counts: len(counts) == 3, "three labels")
        with ExitStack() as stack:
            learners = [stack.enter_context(opened(state)) for state in states]
            for number, learner in enumerate(learners):
                start = time.monotonic()
                teach(learner, "clock", 1, seed=50 + number)
                teach(everything, "clock", 1, seed=50 + number)
                wanted = number + 1
                wait_until_all(states, lambda counts: counts.get("clock") == wanted, "it")  # noqa: B023
                print(f"all knew it after {1e3 * (time.monotonic() - start):.0f} ms")
            learners[0].rename("pan", "mug")  # joins two labels, for all
            everything.rename("pan", "mug")
            wait_until_all(states, lambda counts: counts.get("mug") == 6, "joined labels")
            learners[2].set_badge("mug", "#ff0000")
            wait_for(lambda: all(each.badges == {"mug": "#ff0000"} for each in learners), "a badge")
            learners[1].forget("shoe")
            wait_until_all(states, lambda counts: "shoe" not in counts, "a label forgotten")
            learners[1].undo()
            wait_until_all(states, lambda counts: "shoe" in counts, "a label that is back")
            learners[2].remove(learners[2].samples[0].id)
            everything.remove(everything.samples[0].id)
            wait_until_all(states, lambda counts: counts["mug"] == 5, "a picture removed")
        require_equal(states, everything)
        status = run("fleet", "status", server.url, "--fleet", FLEET).stdout
        assert all(f"{state.stem}-" in status for state in states)
        log = run("fleet", "log", server.url, "--fleet", FLEET).stdout
        assert log.count('taught "clock"') == 3
        assert 'relabelled 3 samples from "pan" to "mug" (' in log
        assert 'removed 3 samples of "shoe" (' in log
        assert 'brought back 3 samples of "shoe" (' in log
        assert 'removed 1 sample of "mug" (' in log
        assert 'chose the badge "#ff0000" for "mug"' in log
        erased = run("fleet", "erase", server.url, "--fleet", FLEET).stdout
        assert erased == f"erased 1 removed sample from the log of {FLEET}\n"
        new = tmp_path / "new.robocle"  # a robot that comes later
        assert run("fleet", "join", new, server.url, "--fleet", FLEET, "--once").exit_code == 0
        require_equal([*states, new], everything)
        for member, number in zip(members, (signal.SIGINT, *[signal.SIGTERM] * 2), strict=True):
            member.process.send_signal(number)
        assert [member.process.wait(20) for member in members] == [0] * 3
        assert all(member.lines[-1].startswith("stopped; ") for member in members)


def test_what_was_taught_offline_is_exchanged_later(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        for state in [*states, *states]:
            found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--once")
            assert found.exit_code == 0, found.stderr
        require_equal(states)
        assert "up to date" in found.stdout
        assert "took in" not in found.stdout
        new = tmp_path / "new.robocle"  # a robot that was taught nothing
        run("fleet", "join", new, server.url, "--fleet", FLEET, "--once")
        require_equal([*states, new])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_nothing_is_lost_when_server_and_robots_are_killed(
    states: list[Path], tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    everything = in_memory("slda")
    for number, label in enumerate(("mug", "pan", "shoe")):
        teach(everything, label, 3, seed=number)
    with (
        NatsServer(tmp_path) as server,
        robots(server.url, *states) as members,
        ExitStack() as stack,
    ):
        learners = [stack.enter_context(opened(state)) for state in states]
        for number in range(40):
            who, label = int(rng.integers(3)), ("mug", "clock", "ball")[number % 3]
            vector = embedding([99, number], WIDTH)
            learners[who].teach_embedding(vector, label)
            everything.teach_embedding(vector, label)
            what = rng.integers(20)
            if what == 0:
                server.kill()
                time.sleep(rng.uniform(0, 0.5))
                server.start()
            elif what == 1:
                server.process.send_signal(signal.SIGSTOP)  # as if the network were cut
                time.sleep(rng.uniform(0, 1))
                server.process.send_signal(signal.SIGCONT)
            elif what in (2, 3, 4):
                member = members[int(rng.integers(3))]
                member.kill()
                time.sleep(rng.uniform(0, 0.2))
                member.start()
            time.sleep(rng.uniform(0, 0.05))
        wait_until_all(states, lambda counts: sum(counts.values()) == 49, "all 49 samples")
        require_equal(states, everything)


@pytest.mark.exhaustive
def test_a_network_that_is_cut_for_a_minute(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server, robots(server.url, *states):
        server.process.send_signal(signal.SIGSTOP)
        for number, state in enumerate(states):
            with opened(state) as learner:
                teach(learner, "clock", 2, seed=70 + number)
        time.sleep(60)
        server.process.send_signal(signal.SIGCONT)
        wait_until_all(states, lambda counts: counts.get("clock") == 6, "all lessons")
        require_equal(states)


def test_a_log_that_is_gone_is_filled_again(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        with robots(server.url, *states):
            wait_until_all(states, lambda counts: len(counts) == 3, "three labels")
            with opened(states[0]) as learner:
                learner.forget("pan")
            wait_until_all(states, lambda counts: len(counts) == 2, "a label forgotten")
            server.kill()
            shutil.rmtree(server.store)
            server.start()
            with opened(states[1]) as learner:
                teach(learner, "clock", 1, seed=80)
            wait_until_all(states, lambda counts: "clock" in counts, "the new log")
        new = tmp_path / "new.robocle"
        run("fleet", "join", new, server.url, "--fleet", FLEET, "--once")
        with Learner.edit(new) as learner:
            assert learner.counts == {"mug": 3, "shoe": 3, "clock": 1}


def test_an_older_copy_of_a_state_catches_up(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server, robots(server.url, *states):
        # The file of a state is not copied while a robot may write it.
        wait_until_all(states, lambda counts: len(counts) == 3, "three labels")
        backup = tmp_path / "backup"
        shutil.copy(states[0], backup)
        with opened(states[0]) as learner:
            teach(learner, "clock", 2, seed=60)
            learner.forget("mug")
        wait_until_all(states, lambda counts: set(counts) == {"pan", "shoe", "clock"}, "all of it")
        backup.replace(states[0])
        wait_until_all(states, lambda counts: set(counts) == {"pan", "shoe", "clock"}, "again")
        require_equal(states)


def test_a_merge_that_is_undone_is_undone_for_all(states: list[Path], tmp_path: Path) -> None:
    with opened(tmp_path / "other.robocle", "slda") as other:
        teach(other, "fan", 2, seed=44)
    with NatsServer(tmp_path) as server, robots(server.url, *states), opened(states[0]) as learner:
        learner.merge_files(tmp_path / "other.robocle")
        wait_until_all(states, lambda counts: "fan" in counts, "what was merged")
        learner.undo()
        wait_until_all(states, lambda counts: "fan" not in counts, "the merge undone")
        learner.redo()
        wait_until_all(states, lambda counts: "fan" in counts, "the merge redone")


def test_the_first_robot_of_a_fleet_needs_a_state(tmp_path: Path) -> None:
    new = tmp_path / "new.robocle"
    with NatsServer(tmp_path) as server:
        result = run("fleet", "join", new, server.url, "--fleet", FLEET, "--once")
    assert_refused(result, f"no state {new}", "no robots yet", f"teach {new} a first picture")
    assert not new.exists()


def test_a_second_program_cannot_join_with_the_same_state(
    states: list[Path], tmp_path: Path
) -> None:
    with NatsServer(tmp_path) as server, robots(server.url, states[0]):
        found = run("fleet", "join", states[0], server.url, "--fleet", FLEET, "--once")
        assert found.exit_code == 1
        assert f"`robocle fleet join` is running for {states[0]}" in found.stderr
        assert_refused(run("fleet", "leave", states[0]), found.stderr)
    with NatsServer(tmp_path) as server:
        member = RobotProcess(states[0], server.url, "--once")
        assert member.process.wait(60) == 0
        other = run("fleet", "join", states[0], server.url, "--fleet", "garden", "--once")
        assert "is in the fleet house" in other.stderr
        assert "has left house" in run("fleet", "leave", states[0]).stdout
        assert run("fleet", "status", server.url, "--fleet", FLEET).stdout.count("left") == 1
        again = run("fleet", "join", states[0], server.url, "--fleet", FLEET, "--once")
        assert again.exit_code == 0
    left = run("fleet", "leave", states[0])
    assert left.exit_code == 0
    assert "keeps what it knows; the server does not know it (" in left.stdout
    assert "cannot be reached" in left.stdout
    assert left.stdout.endswith(") and forgets it after 90 days\n")


def test_robots_behind_a_leaf_node_and_a_backup_that_is_restored(
    states: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs/fleet.md").read_text("utf-8")
    section = page.partition("## Robots behind a router")[2]
    home, router = re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    port, folder = free_port(), tmp_path / "router"
    folder.mkdir()
    monkeypatch.setenv("LEAF", "sesame")
    monkeypatch.setenv("HOME_SERVER", f"nats://leaf:sesame@127.0.0.1:{port}")
    config = home.replace("7422", str(port)).replace("/var/lib/nats", str(tmp_path / "nats"))
    with NatsServer(tmp_path, config) as server, NatsServer(folder, router) as leaf:
        with robots(server.url, states[0]), robots(leaf.url, *states[1:]):
            wait_until_all(states, lambda counts: len(counts) == 3, "three labels")
            server.process.terminate()
            server.process.wait()
            shutil.copytree(server.store, tmp_path / "backup")
            server.start()
            with opened(states[1]) as learner:
                teach(learner, "clock", 2, seed=60)
            wait_until_all(states, lambda counts: counts.get("clock") == 2, "what is newer")
            server.kill()
            shutil.rmtree(server.store)
            shutil.copytree(tmp_path / "backup", server.store)
            server.start()
            with opened(states[2]) as learner:
                teach(learner, "ball", 1, seed=61)
            wait_until_all(states, lambda counts: "ball" in counts, "the log restored")
        new = tmp_path / "new.robocle"
        assert run("fleet", "join", new, leaf.url, "--fleet", FLEET, "--once").exit_code == 0
        require_equal([*states, new])


def status(server: NatsServer) -> list[dict[str, Any]]:
    """Return what the command prints about the robots."""
    found = run("fleet", "status", server.url, "--fleet", FLEET, "--json").stdout
    return [json.loads(line) for line in found.splitlines()]


def test_the_lag_is_what_a_robot_has_not_taken_in(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        for state, lags in ((states[0], [0]), (states[1], [4, 0]), (states[0], [0, 0])):
            found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--once")
            assert found.exit_code == 0, found.stderr
            assert [each["lag"] for each in status(server)] == lags


def test_a_name_belongs_to_one_robot(states: list[Path], tmp_path: Path) -> None:
    options = ("--robot", "kitchen")
    with NatsServer(tmp_path) as server:
        joining = ("fleet", "join", states[1], server.url, "--fleet", FLEET, "--once", *options)
        with robots(server.url, states[0], options=options):
            assert_refused(run(*joining), "another robot is connected as kitchen: give another")
        assert run(*joining).exit_code == 0

        async def follow(log: Log) -> None:
            async def begin(who: str) -> AsyncIterator[object]:
                following = log.follow("*", "hall", 1, 0.1, who)
                await anext(following)
                return following

            old = await begin("token all")
            new = await begin("token testing")  # the connection from before still seems to be there
            with pytest.raises(FleetError, match="another robot is connected as hall"):
                await begin("other all")
            for each in (old, new):
                await each.aclose()  # type: ignore[attr-defined]

        server.with_log(follow)


def test_a_full_log_is_one_line(states: list[Path], tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server, robots(server.url, states[0]) as (member,):

        def complaints() -> int:
            return sum("trying again" in each for each in member.lines)

        async def fill(log: Log) -> None:
            from nats.js.api import StreamConfig

            config = StreamConfig(name=log.server.stream, discard="new", max_msgs=4)  # type: ignore[arg-type]
            await log._stream.update_stream(config, subjects=[log.server.subject("*")])

        server.with_log(fill)
        with opened(states[0]) as learner:
            teach(learner, "clock", seed=90)
        time.sleep(4)
        assert complaints() == 1
        assert "refuses a request (maximum messages exceeded)" in "".join(member.lines)
        assert sum("up to date" in each for each in member.lines) == 1


def test_a_state_that_stays_locked_is_waited_for(
    states: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server.parse(f"nats://127.0.0.1:{free_port()}", FLEET)
    member = Member(states[0], server)
    member.exchange.known["membership"] = member._membership  # it has joined before
    tried: list[float] = []

    async def locked(*_: object) -> None:
        tried.append(time.monotonic())
        if len(tried) < 4:
            raise StateLockedError(states[0])

    monkeypatch.setattr(member, "_take_part", locked)
    monkeypatch.setattr("robocle.fleet.member.connected", lambda *_: nullcontext())
    asyncio.run(member.run())
    member.close()
    assert len(tried) == 4
    assert tried[3] - tried[2] > 0.4 > tried[1] - tried[0]  # the pauses grow


def test_the_log_tells_what_was_before_and_when_it_was_decided(
    states: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "AT_ONCE", 2)  # several pages of earlier messages

    def log(*options: str) -> list[str]:
        return run("fleet", "log", server.url, "--fleet", FLEET, *options).stdout.splitlines()

    with NatsServer(tmp_path) as server:
        joining = ("fleet", "join", states[0], server.url, "--fleet", FLEET, "--once")
        assert run(*joining).exit_code == 0
        hour = 3600 * 10**6
        with opened(states[0]) as learner:
            ids = [sample.id for sample in learner.samples]
            learner.rename("mug", "cup")
        with State.open(states[0]).reading() as connection:
            connection.rollback()
            connection.execute("UPDATE samples SET decided = decided + ?", (hour,))
        assert run(*joining).exit_code == 0
        (line,) = log("--last", "1")
        assert 'relabelled 3 samples from "mug" to "cup" (' in line
        assert ", decided at 20" in line
        found = json.loads(log("--last", "1", "--json")[0])
        assert found["label"] == "cup"
        assert sorted(each[: len(ids[0])] for each in found["ids"]) == sorted(ids)
        assert found["decided"] > found["time"]
        assert "decided at" not in log("--last", "3")[0]
        monkeypatch.setattr(operating, "LOOK_BACK", 0)
        assert 'relabelled 3 samples to "cup" (' in log("--last", "1")[0]


def test_status_shows_groups_and_pins(states: list[Path], tmp_path: Path) -> None:
    def pin(point: str, group: str) -> str:
        return run("fleet", "pin", f"{FLEET}@{point}", server.url, "--group", group).stdout

    with NatsServer(tmp_path) as server:
        for state, group in ((states[0], "testing"), (states[1], "all")):
            options = ("--fleet", FLEET, "--once", "--group", group, "--robot", state.stem)
            assert run("fleet", "join", state, server.url, *options).exit_code == 0
        assert pin("1", "all").endswith("follow to message 1 (2 robots)\n")
        assert pin("2", "testing").endswith("follow to message 2 (1 robot)\n")
        assert pin("3", "nobody").endswith("(0 robots): no robot of house is in this group yet\n")
        found = [(each["robot"], each["group"], each["pin"]) for each in status(server)]
        assert found == [
            ("kitchen", "testing", 2), ("office", "all", 1)
        ]  # fmt: skip
        assert pin("latest", "testing").endswith("follow to the end (1 robot)\n")
        table = run("fleet", "status", server.url, "--fleet", FLEET).stdout
        assert re.search(r"kitchen .* testing +latest\n", table)
        log = run("fleet", "log", server.url, "--fleet", FLEET).stdout
        assert "robots of group testing follow to 2, says " in log


def test_several_labels_are_several_options(states: list[Path]) -> None:
    for option in ("--labels", "--private"):
        options = ("nats://127.0.0.1:1", "--fleet", FLEET, option, "mug,pan")
        joining = ("fleet", "join", states[0], *options)
        assert_refused(run(*joining), "has no label 'mug,pan': give the option once per")
    new = states[0].with_name("new.robocle")
    assert_refused(run("fleet", "join", new, *options), f"{new} has no label")
    with opened(states[0]) as learner:
        learner.rename("mug", "mug,pan")
    assert_refused(run(*joining), "cannot be reached")
