"""Where the server of a fleet is, how to log in, and why it may not be of use."""

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from robocle._internal.wording import without_login
from robocle.errors import FleetError
from robocle.fleet.messages import require_subject_name

PASSWORD_VARIABLE = "ROBOCLE_FLEET_PASSWORD"
NO_JETSTREAM, NO_JETSTREAM_FOR_ACCOUNT = 10076, 10039


@dataclass(frozen=True)
class Server:
    """Where the server of a fleet is, and how to log in."""

    url: str
    fleet: str
    user: str = ""
    password: str = ""
    creds: Path | None = None
    """The file with the credentials that the operator of the server has made for this robot."""
    tls_ca: Path | None = None
    """The certificate of the authority that signed the server's; None uses those of the system."""

    def __repr__(self) -> str:
        return f"<Server {self.fleet} at {self.url}>"  # without the password

    @classmethod
    def parse(
        cls, address: str, fleet: str, password: str = "", creds: Path | None = None,
        tls_ca: Path | None = None,
    ) -> "Server":  # fmt: skip
        """Return the server of an address.

        Args:
            address: nats://[USER@]HOST[:PORT], or tls:// for an encrypted connection.
            fleet: The name of the fleet.
            password: The password of the user.
            creds: The file with credentials.
            tls_ca: The file with the certificate of the server's authority.

        Raises:
            FleetError: The address or the name cannot be used, or there is no such file.

        >>> Server.parse("nats://home.local", "house")
        <Server house at nats://home.local:4222>
        """
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port or 4222
        except ValueError:
            host, port = None, 0
        if not host or parts.scheme not in ("nats", "tls") or re.search(r"\s", host):
            shown = without_login(address)
            raise FleetError(f"{shown!r} is not the address of a server: give nats://HOST[:PORT]")
        if parts.password is not None:
            raise FleetError(
                "the password does not belong in the address of the server, where other programs "
                f"see it: set the variable {PASSWORD_VARIABLE}"
            )
        for file in (creds, tls_ca):
            if file is not None and not file.is_file():
                raise FleetError(f"there is no file {file}")
        name = f"[{host}]" if ":" in host else host
        url = f"{parts.scheme}://{name}:{port}"
        user = unquote(parts.username or "")
        return cls(url, require_subject_name("fleet", fleet), user, password, creds, tls_ca)

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return f"robocle-{self.fleet}"

    def subject(self, kind: str, *, parts: str = "*", robot: str = "*") -> str:
        """Return the subject of messages."""
        return f"robocle.{self.fleet}.{parts}.{kind}.{robot}"


class RefusedError(FleetError):
    """The server does not accept the user."""


class UnreachableError(FleetError):
    """The server is not there, or the connection ended."""


def explained(
    server: Server, error: Exception, what: str = "the connection ended"
) -> RefusedError | UnreachableError:
    """Return the error that stands for one of the connection, or for an answer of the server."""
    from nats.js.errors import APIError, ServiceUnavailableError

    text = str(error) or type(error).__name__
    if re.search("authorization|authentication|permissions|credential|nkey|jwt", text.lower()):
        user = (
            f"the user {server.user!r}" if server.user else server.creds or "a login without a user"
        )
        return RefusedError(
            f"{server.url} refuses {user} ({text}): check --creds, or the user and the variable "
            f"{PASSWORD_VARIABLE}"
        )
    if isinstance(error, ssl.SSLError):
        return RefusedError(
            f"{server.url} has a certificate that is not trusted ({text}): give --tls-ca"
        )
    if isinstance(error, APIError) and error.err_code == NO_JETSTREAM_FOR_ACCOUNT:
        return RefusedError(f"{server.url} has no JetStream for the account of this user")
    if isinstance(error, ServiceUnavailableError) and error.err_code in (None, NO_JETSTREAM):
        return RefusedError(
            f"{server.url} has no JetStream: start nats-server with -js, or check the connection "
            "of the leaf node"
        )
    if isinstance(error, APIError):
        return UnreachableError(f"{server.url} refuses a request ({error.description})")
    return UnreachableError(f"{server.url}: {what} ({text})")
