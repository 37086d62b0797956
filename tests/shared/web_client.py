"""A server of the teach page for tests, and a plain client of its HTTP API."""

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from websockets.sync.client import ClientConnection, connect

from robocle.backbones import Backbone
from robocle.learner import Learner
from robocle.web.app import create_app
from robocle.web.robot_camera import RobotCamera
from robocle.web.security import AllowedHosts
from robocle.web.server import _listening, _options, _Server
from robocle.web.service import Service
from robocle.web.shared_learner import SharedLearner

START_SECONDS = 60
PictureOf = Callable[..., bytes]


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Api:
    """Sends requests to a server, as a program of a user does."""

    port: int
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named.setdefault("Authorization", f"Bearer {self.token}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {**self.headers, **named})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, None, **headers)

    def post(self, path: str, body: bytes = b"", **headers: str) -> Answer:
        return self.request("POST", path, body, **headers)

    def post_json(self, path: str, **values: Any) -> Answer:
        return self.post(path, json.dumps(values).encode(), Content_Type="application/json")

    def teach(self, label: str, picture: bytes, **query: Any) -> Answer:
        return self.post(f"/api/v1/teach?{urlencode({'label': label, **query})}", picture)


@contextmanager
def served(
    path: Path,
    network: Backbone,
    *,
    token: str = "",
    host: str = "127.0.0.1",
    camera: str = "",
    finder: str = "",
    send_buffer: int = 0,
) -> Iterator[Api]:
    """Serve a state in a thread of this process, until the context ends."""
    with (
        _listening("127.0.0.1", 0) as listener,
        Learner.open(path, network) as learner,
    ):
        if send_buffer:  # connections inherit it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        learner.finder = finder or None
        robot = RobotCamera(camera) if camera else None
        service = Service(SharedLearner(learner, path, 0.05), robot)
        app = create_app(service, AllowedHosts(host), token)
        server = _Server(uvicorn.Config(app, **_options()))
        started = threading.Event()
        server.when_started, server.when_stopped = started.set, service.stop
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert started.wait(START_SECONDS)
            yield Api(listener.getsockname()[1], token)
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


class ServeProcess:
    """`robocle serve` in a process of its own.

    Args:
        state: The state file.
        options: Further options of the command.
    """

    def __init__(self, state: Path, *options: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "robocle", "serve", str(state), "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert " at http" in line, line + self.process.communicate(timeout=30)[1]
        self.address = line.split(" at ")[1].strip()
        self.port = port or int(self.address.split("/")[2].rpartition(":")[2])
        self.api = Api(self.port, self.address.partition("#token=")[2])

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal; return the exit code and what was printed."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def kill(self) -> None:
        """End it without a chance to finish anything."""
        self.process.kill()
        self.process.communicate(timeout=30)


class Listener:
    """A client that sends frames and reads events."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, header: Any, picture: bytes = b"") -> None:
        line = header if isinstance(header, bytes) else json.dumps(header).encode()
        self.connection.send(line + b"\n" + picture)

    def event(self, *kinds: str) -> dict[str, Any]:
        """Return the next event of one of these kinds."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            found: dict[str, Any] = json.loads(self.connection.recv(timeout=30))
            if found["event"] in kinds:
                return found
        raise AssertionError(f"no event {kinds}")


@contextmanager
def listening(api: Api) -> Iterator[Listener]:
    """Open a WebSocket until the context ends."""
    with connect(f"ws://127.0.0.1:{api.port}/api/v1/live", max_size=None) as connection:
        yield Listener(connection)


@contextmanager
def stalled(api: Api, picture: bytes) -> Iterator[tuple[socket.socket, Callable[[], None]]]:
    """A WebSocket that reads nothing, with a small buffer, and a function that sends a frame."""
    content = b'{"id": 1}\n' + picture
    frame = b"\x82\xfe" + len(content).to_bytes(2, "big") + bytes(4) + content  # with an empty mask
    assert len(content) < 65536
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", api.port))
        raw.sendall(
            f"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )

        def send() -> None:
            with suppress(OSError):  # the server had enough of it
                raw.sendall(frame)

        yield raw, send


def is_cut_off(connection: socket.socket) -> bool:
    """Return whether the other side has ended a connection from which nothing is read."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))
