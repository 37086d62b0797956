"""The address of an MQTT broker, as a user writes it."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from robocle.errors import BrokerError

PASSWORD_VARIABLE = "ROBOCLE_MQTT_PASSWORD"
PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Broker:
    """Where an MQTT broker is and how to log in."""

    host: str
    port: int = 1883
    user: str = ""
    tls: bool = False
    password: str = ""
    certificates: Path | None = None
    """The file with the certificate of the authority that signed the broker's; None uses those of
    the system."""

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"<Broker {self}>"  # without the password

    @classmethod
    def parse(cls, address: str, password: str = "", certificates: Path | None = None) -> "Broker":
        """Return the broker of an address.

        Args:
            address: HOST, HOST:PORT, or a URL mqtt[s]://[USER@]HOST[:PORT].
            password: The password of the user.
            certificates: The file with the certificate of the broker's authority; TLS is used.

        Raises:
            BrokerError: The address cannot be understood or has a password in it.

        Example:
            >>> Broker.parse("mqtts://watcher@broker.local")
            <Broker mqtts://broker.local:8883>
        """
        url = address if "://" in address else f"mqtt://{address}"
        host, port, user, scheme = _pieces(url, address)
        tls = scheme == "mqtts" or certificates is not None
        if certificates is not None and not certificates.is_file():
            raise BrokerError(f"there is no certificate file {certificates}")
        default = PORTS["mqtts" if tls else "mqtt"]
        return cls(host, port or default, user, tls, password, certificates)


def _pieces(url: str, address: str) -> tuple[str, int | None, str, str]:
    """Return the host, the port, the user and the scheme of a URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BrokerError(f"{_hidden(address)} is not the address of a broker: {error}") from error
    if parts.password is not None:
        raise BrokerError(
            f"the password does not belong into the address of the broker, where other programs see"
            f" it: set the variable {PASSWORD_VARIABLE}"
        )
    if not host or parts.scheme not in PORTS or parts.path.strip("/") or re.search(r"\s", host):
        raise BrokerError(
            f"{_hidden(address)!r} is not the address of a broker: give HOST, HOST:PORT or "
            "mqtts://USER@HOST:PORT"
        )
    return host, port, unquote(parts.username or ""), parts.scheme


def _hidden(address: str) -> str:
    return re.sub(r":[^:@/]*@", ":...@", address)
