"""Publishing what a camera sees to an MQTT broker.

A thread of the client talks to the broker, so a slow or dead broker never holds up the camera. Only
the newest observation counts: while there is no connection nothing is queued, and when there is one
again, everything that is retained is published anew.
"""

import json
import logging
import re
import ssl
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from robocle.errors import BrokerError, MissingExtraError
from robocle.watch.home_assistant import OFFLINE, ONLINE, Topics
from robocle.watch.watching import Observation

if TYPE_CHECKING:
    from paho.mqtt.client import Client

log = logging.getLogger("robocle")

PASSWORD_VARIABLE = "ROBOCLE_MQTT_PASSWORD"
PORTS = {"mqtt": 1883, "mqtts": 8883}
KEEPALIVE = 15
"""Seconds without a message after which the broker publishes the last will."""
NOTICEABLE = 0.1
"""A change of the confidence that is published although the label stays."""
LONGEST_PAUSE = 30
"""Seconds between two attempts to connect, at most."""
FAREWELL = 2.0
"""Seconds to wait until the last message has been sent."""


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
            f"the password does not belong in the address of the broker, where other programs see"
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


class Publisher:
    """Publishes observations to a broker, with Home Assistant discovery, as retained messages.

    Args:
        broker: The broker. It need not be there yet.
        name: The name of the camera.

    Raises:
        MissingExtraError: The MQTT client is not installed.
        BrokerError: The name or the certificate cannot be used.
    """

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._topics = Topics(name)
        self._guard = threading.Lock()
        self._newest: Observation | None = None
        self._published: Observation | None = None
        self._complaint = ""
        self._client = _client(broker, self._topics)
        self._client.on_connect = self._connected
        self._client.on_connect_fail = self._unreachable
        self._client.on_disconnect = self._disconnected
        self._client.connect_async(broker.host, broker.port, KEEPALIVE)
        self._client.loop_start()

    def publish(self, seen: Observation) -> None:
        """Publish an observation if it differs from the one published before. Never waits."""
        with self._guard:
            self._newest = seen
            if self._client.is_connected() and _differs(seen, self._published):
                self._send_state(seen)

    def close(self) -> None:
        """Say that the camera is no longer watched, and disconnect."""
        if self._client.is_connected():
            farewell = self._client.publish(self._topics.availability, OFFLINE, 1, retain=True)
            try:
                farewell.wait_for_publish(FAREWELL)
            except (RuntimeError, ValueError):
                log.info("%s is gone: its last will says that the camera is offline", self._broker)
        self._client.disconnect()
        self._client.loop_stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send_state(self, seen: Observation) -> None:
        self._client.publish(self._topics.state, _json(seen.as_values()), 0, retain=True)
        self._published = seen

    def _connected(self, client: "Client", _data: object, _flags: object, reason: Any,
                   _properties: object) -> None:  # fmt: skip
        if reason.is_failure:
            user = f" the user {self._broker.user!r}" if self._broker.user else " without a user"
            self._complain(
                f"the broker {self._broker} refuses{user} ({reason}): check the name, and the "
                f"password in {PASSWORD_VARIABLE}"
            )
            return
        self._complaint = ""
        log.info("connected to the broker %s", self._broker)
        with self._guard:
            for topic, entity in self._topics.discovery().items():
                client.publish(topic, _json(entity), 1, retain=True)
            if self._newest is not None:
                self._send_state(self._newest)
            client.publish(self._topics.availability, ONLINE, 1, retain=True)

    def _disconnected(self, _client: "Client", _data: object, _flags: object, reason: Any,
                      _properties: object) -> None:  # fmt: skip
        with self._guard:
            self._published = None
        if reason.is_failure and not self._complaint:
            self._complain(f"the broker {self._broker} is gone ({reason}): trying again")

    def _unreachable(self, _client: "Client", _data: object) -> None:
        error = sys.exception()
        advice = "check the address and that it runs"
        if isinstance(error, ssl.SSLError):
            advice = "check its certificate, or give that of its authority"
        self._complain(f"cannot connect to the broker {self._broker} ({error}): {advice}")

    def _complain(self, message: str) -> None:
        """Log a message, once until there is a connection or another message."""
        if message != self._complaint:
            self._complaint = message
            log.warning("%s", message)


def _client(broker: Broker, topics: Topics) -> "Client":
    paho = _paho()
    client: Client = paho.Client(paho.CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(1, LONGEST_PAUSE)
    client.will_set(topics.availability, OFFLINE, 1, retain=True)
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


def _differs(seen: Observation, before: Observation | None) -> bool:
    if before is None:
        return True
    same = (seen.state, seen.nothing) == (before.state, before.nothing)
    return not same or abs(seen.confidence - before.confidence) >= NOTICEABLE


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
