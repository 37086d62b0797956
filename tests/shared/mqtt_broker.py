"""A real MQTT broker, mosquitto, on a free port of this machine, and what it retains."""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from waiting import wait_for

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
requires_mosquitto = pytest.mark.skipif(
    MOSQUITTO is None, reason="needs the broker mosquitto: apt-get install mosquitto"
)
USER, PASSWORD = "watcher", "open sesame"


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def certificate(folder: Path) -> Path:
    """Write a key and a certificate for 127.0.0.1 that is its own authority."""
    key, pem = folder / "broker.key", folder / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", pem],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o644)
    return pem


class Mosquitto:
    """A broker that can be killed and started again on the same port.

    Args:
        folder: Where its files are written.
        tls: Whether it speaks TLS and asks for a user and a password.
    """

    def __init__(self, folder: Path, tls: bool = False) -> None:
        self.port = free_port()
        self.certificate = certificate(folder) if tls else None
        lines = [f"listener {self.port} 127.0.0.1", "persistence false", "user root"]
        if tls:
            passwords = folder / "passwords"
            program = str(MOSQUITTO).replace("sbin", "bin") + "_passwd"
            subprocess.run([program, "-b", "-c", passwords, USER, PASSWORD], check=True)
            passwords.chmod(0o600)
            lines += [f"password_file {passwords}", f"certfile {self.certificate}",
                      f"keyfile {folder / 'broker.key'}"]  # fmt: skip
        else:
            lines += ["allow_anonymous true"]
        self.config = folder / "mosquitto.conf"
        self.config.write_text("\n".join(lines) + "\n")
        self.start()

    def start(self) -> None:
        """Start the broker and wait until it listens."""
        assert MOSQUITTO
        self.process = subprocess.Popen(
            [MOSQUITTO, "-c", self.config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self._listens, "the broker listens")

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """End the broker at once, with all that it retained."""
        self.process.kill()
        self.process.wait()


class Subscriber:
    """Collects every message that a broker sends."""

    def __init__(self, broker: Mosquitto) -> None:
        self.messages: list[tuple[str, str, bool]] = []
        self.retained: dict[str, bytes] = {}
        self._guard = threading.Lock()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        if broker.certificate:
            self._client.tls_set(str(broker.certificate))
            self._client.username_pw_set(USER, PASSWORD)
        self._client.on_connect = lambda client, *_: client.subscribe("#", 1)
        self._client.on_message = self._received
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def _received(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        with self._guard:
            text = message.payload.decode(errors="replace")
            self.messages.append((message.topic, text, message.retain))
            self.retained[message.topic] = bytes(message.payload)
            if not message.payload:
                del self.retained[message.topic]

    def of(self, ending: str) -> list[str]:
        """Return the messages of the topics that end like this, in order."""
        with self._guard:
            return [text for topic, text, _ in self.messages if topic.endswith(ending)]

    def described(self) -> dict[str, dict[str, Any]]:
        """Return what Home Assistant knows now, by topic."""
        with self._guard:
            found = [each for each in self.retained.items() if each[0].endswith("/config")]
        return {topic: json.loads(text) for topic, text in found}

    def labels(self) -> list[str]:
        """Return what the camera saw, in order."""
        return [json.loads(text)["state"] for text in self.of("/state")]

    def close(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def subscriber(broker: Mosquitto) -> Iterator[Subscriber]:
    """Listen to a broker until the context ends."""
    found = Subscriber(broker)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def mosquitto(folder: Path, tls: bool = False) -> Iterator[Mosquitto]:
    """Run a broker until the context ends."""
    broker = Mosquitto(folder, tls)
    try:
        yield broker
    finally:
        broker.kill()
