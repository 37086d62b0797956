"""An MQTT broker: its address, the login, and the error if that fails."""

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from robocle._internal.wording import without_login
from robocle.errors import BrokerError, MissingExtraError

if TYPE_CHECKING:
    from paho.mqtt.client import Client

PASSWORD_VARIABLE = "ROBOCLE_MQTT_PASSWORD"
PORTS = {"mqtt": 1883, "mqtts": 8883}
LONGEST_PAUSE = 30
"""Seconds between two attempts to connect, at most."""


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
    advice = (
        f"{without_login(address)!r} is not the address of a broker: give HOST, HOST:PORT or "
        "mqtts://USER@HOST:PORT"
    )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BrokerError(advice) from None  # the cause quotes what may be part of a password
    if parts.password is not None:
        raise BrokerError(
            f"the password does not belong in the address of the broker, where other programs see"
            f" it: set the variable {PASSWORD_VARIABLE}"
        )
    further = f"{parts.path}{parts.query}{parts.fragment}".strip("/")
    if not host or parts.scheme not in PORTS or further or re.search(r"\s", host):
        raise BrokerError(advice)
    return host, port, unquote(parts.username or ""), parts.scheme


def refusal(broker: Broker, reason: object) -> str:
    """Return what to do about a broker that refuses the user."""
    user = f" the user {broker.user!r}" if broker.user else " without a user"
    return (
        f"the broker {broker} refuses{user} ({reason}): check the name, and the password in "
        f"{PASSWORD_VARIABLE}"
    )


def unreachable(broker: Broker, error: BaseException | None) -> str:
    """Return what to do about a broker that cannot be reached."""
    advice = "check the address and that it runs"
    if isinstance(error, ssl.SSLError):
        advice = "check its certificate, or give that of its authority"
    return f"cannot connect to the broker {broker} ({error}): {advice}"


def client_of(broker: Broker) -> "Client":
    """Return a client of a broker that is not connected yet.

    Raises:
        MissingExtraError: The MQTT client is not installed.
        BrokerError: The certificate cannot be used.
    """
    paho = _paho()
    client: Client = paho.Client(paho.CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(1, LONGEST_PAUSE)
    if broker.user:
        client.username_pw_set(broker.user, broker.password or None)
    if broker.tls:
        try:
            client.tls_set_context(ssl.create_default_context(cafile=broker.certificates))
        except OSError as error:
            raise BrokerError(
                f"{broker.certificates} is not a certificate ({error}): give a PEM file"
            ) from error
    return client


def _paho() -> ModuleType:
    try:
        import paho.mqtt.client as paho
    except ImportError as error:
        raise MissingExtraError("mqtt", "publishing to a broker needs paho-mqtt") from error
    return paho
