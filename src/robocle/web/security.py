"""Security: which requests are answered at all, and the headers of every answer.

- Host: only names of this server. A site that points its own name to this address (DNS rebinding)
  is refused.
- Origin: a page of another site can neither send requests nor open the WebSocket.
- Token: needed for the API if the server can be reached from other machines.
- Rate: each address may send so many requests per second, and few wrong tokens. The right token
  and the cookie are always accepted.

A client that is still sending when it is refused gets to send the rest, within limits: if the
connection were closed at once, its system would throw the answer away.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from robocle.web.requests import RequestError
from robocle.web.service import Metrics

REQUESTS_PER_SECOND, BURST = 200.0, 400.0
"""Requests and messages that one address may send. The page sends one frame at a time."""
FAILURES_PER_SECOND, FAILURE_BURST = 0.2, 10.0
"""Wrong tokens that one address may send without delay."""
GUESS_SECONDS, MOST_GUESSES = 1.0, 2
"""How long the answer to a further one takes, and how many of them are considered meanwhile."""
DRAIN_SECONDS, DRAIN_BYTES, MOST_DRAINS = 5.0, 250_000_000, 32
"""How long and how much a refused client may go on sending, and how many of them at a time."""
REMEMBERED_ADDRESSES = 4096
OPEN = ("/api/v1/health", "/api/v1/openapi.json")
"""What needs no token, like the files of the page itself."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
REFUSED_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}


class RateLimit:
    """A token bucket per address.

    It is written by hand because only the event loop uses it, so it needs no lock, no task that
    cleans up and no store: the addresses that were not seen for longest are forgotten.

    Args:
        rate: How many requests per second are allowed in the long run.
        burst: How many are allowed at once.
        clock: Returns the time in seconds.

    Example:
        >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
        >>> [limit.allows("10.0.0.7") for _ in range(3)]
        [True, True, False]
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Count a request, and return whether it is within the limit."""
        left = self._left(address)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left), self._clock()
        self._buckets.move_to_end(address)
        while len(self._buckets) > REMEMBERED_ADDRESSES:
            self._buckets.popitem(last=False)
        return allowed

    def _left(self, address: str) -> float:
        left, then = self._buckets.get(address, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - then) * self._rate)


class AllowedHosts:
    """The names under which a server may be asked for.

    Args:
        host: The address that the server listens on.
        others: Further names, such as that of a proxy.

    Example:
        >>> allowed = AllowedHosts("127.0.0.1")
        >>> "localhost:8000" in allowed, "attacker.example:8000" in allowed
        (True, False)
    """

    def __init__(self, host: str, others: tuple[str, ...] = ()) -> None:
        names = [*LOOPBACK, host, *others]
        self._any_address = not is_loopback(host)
        if self._any_address:
            own = socket.gethostname()
            names += [own, own.split(".")[0], f"{own.split('.')[0]}.local"]
        self._names = {name.lower().rstrip(".") for name in names}

    def __contains__(self, host: object) -> bool:
        name = _host_name(str(host))
        if name is None:
            return False
        # An address cannot be rebound: only names can lead somewhere else later.
        return name in self._names or (self._any_address and _address(name) is not None)


class Security:
    """Refuses requests that must not reach the application.

    Args:
        app: The application.
        hosts: The names of this server.
        token: What clients must know; empty for none.
        metrics: Counts the responses.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts, token: str, metrics: Metrics) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token
        self._metrics = metrics
        self._requests = RateLimit(REQUESTS_PER_SECOND, BURST)
        self._failures = RateLimit(FAILURES_PER_SECOND, FAILURE_BURST)
        self._guesses: Counter[str] = Counter()
        self._drains = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        is_sending = scope["type"] == "http"

        async def receive_body() -> Message:
            nonlocal is_sending
            message = await receive()
            is_sending = is_sending and bool(message.get("more_body"))
            return message

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                if is_sending and message["status"] >= 400:
                    await self._drain(scope, receive)
                self._metrics.responses.labels(message["status"]).inc()
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self._require_allowed(scope)
        except RequestError as error:
            await _refusal(scope, error)(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive_body, send_with_headers)

    async def _drain(self, scope: Scope, receive: Receive) -> None:
        """Read the rest of a body, and throw it away."""
        headers = Headers(scope=scope)
        waits = headers.get("expect", "").lower() == "100-continue"
        if waits or not {"content-length", "transfer-encoding"}.intersection(headers):
            return
        if self._drains >= MOST_DRAINS:
            return
        self._drains += 1
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                left = DRAIN_BYTES
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body"):
                        return
        except TimeoutError:
            pass
        finally:
            self._drains -= 1

    async def _require_allowed(self, scope: Scope) -> None:
        connection = HTTPConnection(scope)
        headers = connection.headers
        if headers.get("host", "") not in self._hosts:
            raise RequestError(
                421, "this is not a name of this server: use its address, --allow-host or --proxy"
            )
        path: str = scope["path"]
        if path.startswith("/api/") or path == "/metrics" or scope["type"] == "websocket":
            _require_same_site(headers)
            address = connection.client.host if connection.client else ""
            if not self._requests.allows(address):
                raise RequestError(429, "too many requests: wait a second")
            if self._token and path not in OPEN:
                await self._require_token(connection, address)

    async def _require_token(self, connection: HTTPConnection, address: str) -> None:
        cookie = connection.cookies.get(cookie_name(connection), "")
        if cookie and _equal(cookie, cookie_of(self._token)):
            return
        if self._guesses[address] >= MOST_GUESSES:
            raise RequestError(429, "too many wrong tokens: wait a minute")
        kind, _, given = connection.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _equal(given.strip(), self._token):
            return
        if (given or cookie) and not self._failures.allows(address):
            self._guesses[address] += 1
            try:
                await asyncio.sleep(GUESS_SECONDS)
            finally:
                self._guesses[address] -= 1
                self._guesses += Counter()  # forgets those without guesses
            raise RequestError(429, "too many wrong tokens: wait a minute")
        raise RequestError(
            401, "the token is missing or wrong: use the link that `robocle serve` printed"
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on a host."""
    address = _address(host)
    return address.is_loopback if address else host.lower() == "localhost"


def cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie. Browsers send cookies to all ports of a host."""
    _, port = connection.scope.get("server") or ("", 0)
    return f"robocle-{port}"


def cookie_of(token: str) -> str:
    """Return what a browser keeps in place of the token: the token cannot be computed from it."""
    return hmac.new(token.encode(), b"robocle teach page", hashlib.sha256).hexdigest()


def _require_same_site(headers: Headers) -> None:
    origin = headers.get("origin")
    is_ours = origin is None or _host_and_port(origin) == headers.get("host", "").lower()
    if not is_ours or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise RequestError(403, "requests from pages of other sites are refused")


def _host_and_port(origin: str) -> str | None:
    """Return the host and port of an origin; None if it has none, like "null"."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None


def _host_name(host: str) -> str | None:
    """Return the name in a Host header, without its port."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises ValueError for a port that is no number
    except ValueError:
        return None
    if not parts.hostname or parts.netloc != host or "@" in host:
        return None
    return parts.hostname.rstrip(".")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(name)
    return None


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _refusal(scope: Scope, error: RequestError) -> ASGIApp:
    if scope["type"] == "websocket":
        return WebSocketClose(1008, str(error)[:120])
    headers = REFUSED_HEADERS.get(error.status)
    return JSONResponse({"error": str(error)}, error.status, headers)
