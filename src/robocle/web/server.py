"""The server: listens, opens the state, and stops without losing anything.

Ctrl-C or SIGTERM ends it: it answers what it has begun and closes the state.
"""

import asyncio
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote, urlsplit

import uvicorn

from robocle._internal.files import file_identity, is_writable
from robocle.errors import RobocleError, StateError
from robocle.learner import Learner
from robocle.profiles import DEFAULT_PROFILE, ProfileName, profile
from robocle.recognition import DEFAULT_RATE
from robocle.web.app import create_app
from robocle.web.certificate import certificate, own_address
from robocle.web.connections import REQUEST_SECONDS, Messages, Requests, allow_connections
from robocle.web.requests import MAX_FRAME_BYTES
from robocle.web.robot_camera import RobotCamera
from robocle.web.security import LOOPBACK, AllowedHosts, is_loopback
from robocle.web.service import Service
from robocle.web.shared_learner import SharedLearner

GRACE_SECONDS = 5
PING_SECONDS, PONG_SECONDS = 5.0, 10.0
"""How often a WebSocket is asked whether its client reads, and how long it has to answer."""
MAX_CONNECTIONS = 512
SHORTEST_TOKEN = 8


@dataclass(frozen=True)
class Settings:
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 for any free port."""
    https: bool = False
    token: str = ""
    """What clients must know. If other machines can reach the server and there is none, one is
    made up."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names of this server."""
    proxy: str = ""
    """The address under which a proxy on this machine offers the page; empty for none. Then the
    proxy says who sends a request."""
    camera: str = ""
    """The robot's camera; empty for none."""
    finder: str = ""
    """The spec of what suggests boxes around objects; empty for none."""
    false_accept: float = DEFAULT_RATE
    profile: ProfileName = DEFAULT_PROFILE
    opens_browser: bool = False


def serve(path: Path, settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve the teach page of a state until the program is stopped.

    Args:
        path: The state file. It is created if it does not exist.
        settings: How to serve.
        tell: Prints a line.

    Raises:
        RobocleError: The port is in use, or the state or the camera cannot be opened.
    """
    token = require_token(settings.token)
    names = (*settings.allowed_hosts, *_proxy_name(settings.proxy))
    if not token and (settings.proxy or not is_loopback(settings.host)):
        token = secrets.token_urlsafe(16)
    with ExitStack() as stack:
        listener = stack.enter_context(_listening(settings.host, settings.port))
        pem = certificate(settings.host) if settings.https else None
        learner = stack.enter_context(Learner.open(path, profile=settings.profile))
        if settings.profile != DEFAULT_PROFILE:
            _require_profile(learner, path, settings.profile)
        learner.finder = settings.finder or None
        opened = file_identity(path)
        camera = RobotCamera(settings.camera) if settings.camera else None
        if camera:
            stack.callback(camera.close)
        shared = SharedLearner(learner, path, settings.false_accept)
        hosts = AllowedHosts(settings.host, names)
        service = Service(shared, camera)
        app = create_app(service, hosts, token)
        server = _Server(uvicorn.Config(app, ssl_certfile=pem, **_options(settings.proxy)))
        address = _address(settings, listener.getsockname()[1], token)
        server.when_stopped = service.stop
        server.when_started = lambda: _started(address, path, settings, tell)
        allow_connections()
        server.run([listener])
    tell("stopped; everything that was taught is saved" if file_identity(path) == opened else
         f"stopped; {path} was deleted or replaced meanwhile, so what was taught before is not in "
         "it")  # fmt: skip


def _require_profile(learner: Learner, path: Path, name: ProfileName) -> None:
    """Require that a state has the parts of a profile that was asked for."""
    wanted, has = profile(name), learner.parts
    for part in ("backbone", "prediction_views"):
        if getattr(wanted, part) != getattr(has, part):
            raise StateError(
                f"{path} exists and keeps its parts, which are not those of the profile {name}: "
                "leave out --profile, or start a new state"
            )


def require_token(token: str) -> str:
    """Return a token that headers and addresses can hold; an empty one stands for none.

    Raises:
        RobocleError: It is too short or has other characters.
    """
    if token and not (len(token) >= SHORTEST_TOKEN and token.isascii() and token.isprintable()):
        raise RobocleError(
            f"the token must have at least {SHORTEST_TOKEN} characters, all of them ASCII: leave "
            "out --token for a random one"
        )
    return token


def _proxy_name(address: str) -> tuple[str, ...]:
    """Return the name of the server in the address of a proxy, if there is one.

    Raises:
        RobocleError: It is no address.
    """
    parts = urlsplit(address)
    if not address:
        return ()
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise RobocleError(
            f"--proxy {address} is not the address of a page: give one such as "
            "https://home.example/robocle/"
        )
    return (parts.hostname,)


def _options(proxy: str = "") -> dict[str, Any]:
    return {
        "http": Requests,
        "ws": Messages,
        "ws_ping_interval": PING_SECONDS,
        "ws_ping_timeout": PONG_SECONDS,
        "ws_max_size": MAX_FRAME_BYTES,
        "ws_per_message_deflate": False,  # pictures do not get smaller
        "log_config": None,
        "access_log": False,
        "lifespan": "on",
        "limit_concurrency": MAX_CONNECTIONS,
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "server_header": False,
        "proxy_headers": bool(proxy),
        "forwarded_allow_ips": list(LOOPBACK),
    }


class _Server(uvicorn.Server):
    """A server that ends quietly when it is asked to stop."""

    when_started: Callable[[], None] = staticmethod(lambda: None)
    when_stopped: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop: Any = asyncio.get_running_loop()
        if self.config.ssl is not None:  # who never encrypts may not wait for a minute
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=REQUEST_SECONDS)
        await super().startup(sockets)
        if self.started:
            self.when_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.when_stopped()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal. Unlike uvicorn, do not raise the signal again afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen, before anything slow is done, and stop at the end."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only if the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # there it would let two programs listen on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(1024)
        except OSError as error:
            reason = error.strerror or error
            raise RobocleError(
                f"cannot listen on {host}, port {port} ({reason}): choose another with --port or "
                "--host"
            ) from error
        yield listener
    finally:
        listener.close()


def _address(settings: Settings, port: int, token: str) -> str:
    """Return the address to open. The token is after #: browsers do not send that part."""
    secret = f"#token={quote(token)}" if token else ""
    if settings.proxy:
        return f"{settings.proxy.rstrip('/')}/{secret}"
    host = settings.host
    if host in ("0.0.0.0", "::"):
        host = own_address() or "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.https else "http"
    return f"{scheme}://{host}:{port}/{secret}"


def _started(address: str, path: Path, settings: Settings, tell: Callable[[str], None]) -> None:
    tell(f"teach {path.name} at {address}")
    if not is_writable(path):
        tell(f"{path.name} is read-only: it recognises, and cannot be taught")
    if settings.https:
        tell("the browser warns once, because the certificate is this machine's own: go on")
    elif not (settings.proxy or is_loopback(settings.host)):
        tell("browsers on other devices use their camera only over https: add --https")
    tell("Ctrl-C stops it")
    if settings.opens_browser and _has_screen():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
