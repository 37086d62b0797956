"""A real MQTT broker, mosquitto, on a free port of this machine, and what it retains."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from server_process import ServerProcess, free_port, program

MOSQUITTO = program("mosquitto")
requires_mosquitto = pytest.mark.skipif(
    MOSQUITTO is None, reason="needs the broker mosquitto: apt-get install mosquitto"
)
USER, PASSWORD = "watcher", "open sesame"


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


class Mosquitto(ServerProcess):
    """A broker that can be killed and started again on the same port.

    Args:
        folder: Where its files are written.
        tls: Whether it speaks TLS and asks for a user and a password.
    """

    def __init__(self, folder: Path, tls: bool = False) -> None:
        assert MOSQUITTO
        port = free_port()
        self.certificate = certificate(folder) if tls else None
        lines = [f"listener {port} 127.0.0.1", "persistence false", "user root"]
        if tls:
            passwords = folder / "passwords"
            tool = MOSQUITTO.replace("sbin", "bin") + "_passwd"
            subprocess.run([tool, "-b", "-c", passwords, USER, PASSWORD], check=True)
            passwords.chmod(0o600)
            lines += [f"password_file {passwords}", f"certfile {self.certificate}",
                      f"keyfile {folder / 'broker.key'}"]  # fmt: skip
        else:
            lines += ["allow_anonymous true"]
        config = folder / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n")
        super().__init__([MOSQUITTO, "-c", config], port, folder)


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
