"""Security: which requests are answered at all, and the headers of every answer.

- Host: only names of this server. A site that points its own name to this address (DNS rebinding)
  is refused.
- Origin: a page of another site can neither send requests nor open the WebSocket.
- Token: needed for the API if the server can be reached from other machines.
- Rate: each address may send so many requests per second, and few wrong tokens.
"""

import hashlib
import hmac
import ipaddress
import json
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from robocle.web.limits import (
    BURST,
    FAILURE_BURST,
    FAILURES_PER_SECOND,
    REQUESTS_PER_SECOND,
    RateLimit,
    RequestError,
)
from robocle.web.metrics import Metrics

COOKIE = "robocle"
OPEN = ("/api/health", "/api/openapi.json")
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
        return name in self._names or (self._any_address and _is_address(name))


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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.responses[message["status"]] += 1
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._require_allowed(scope)
        except RequestError as error:
            await _refuse(scope, receive, send_with_headers, error)
        else:
            await self._app(scope, receive, send_with_headers)

    def _require_allowed(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self._hosts:
            raise RequestError(
                421, "this is not a name of this server: use its address, or --allow-host NAME"
            )
        path: str = scope["path"]
        if path.startswith("/api/") or path == "/metrics" or scope["type"] == "websocket":
            _require_same_site(headers)
            address = scope["client"][0] if scope.get("client") else ""
            if not self._requests.allows(address):
                raise RequestError(429, "too many requests: wait a second")
            if self._token and path not in OPEN:
                self._require_token(headers, address)

    def _require_token(self, headers: Headers, address: str) -> None:
        if self._failures.is_exhausted(address):
            raise RequestError(429, "too many wrong tokens: wait a minute")
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _equal(given.strip(), self._token):
            return
        cookie = _cookie(headers)
        if cookie and _equal(cookie, cookie_of(self._token)):
            return
        if given or cookie:
            self._failures.allows(address)
        raise RequestError(
            401, "the token is missing or wrong: use the link that `robocle serve` printed"
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def cookie_of(token: str) -> str:
    """Return what a browser keeps in place of the token: the token cannot be computed from it."""
    return hmac.new(token.encode(), b"robocle teach page", hashlib.sha256).hexdigest()


def _require_same_site(headers: Headers) -> None:
    origin = headers.get("origin")
    if origin is not None and _host_and_port(origin) != headers.get("host", "").lower():
        raise RequestError(403, "requests from pages of other sites are refused")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
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


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


async def _refuse(scope: Scope, receive: Receive, send: Send, error: RequestError) -> None:
    if scope["type"] == "websocket":
        await receive()  # the request to connect
        await send({"type": "websocket.close", "code": 1008, "reason": str(error)[:120]})
        return
    body = json.dumps({"error": str(error)}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
