"""Publishing the objects that a camera sees to an MQTT broker.

A thread of the client talks to the broker, so a slow or dead broker never holds up the camera. Only
the newest observation counts: while there is no connection nothing is queued, and when there is one
again, everything that is retained is published anew. Therefore messages need no acknowledgement:
one that is sent again after a reconnection could replace a newer one.
"""

import io
import logging
import secrets
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from PIL import Image

from robocle._internal.wording import as_json
from robocle.errors import BrokerError
from robocle.types import Pixels
from robocle.watch.broker import Broker, client_of, refusal, unreachable
from robocle.watch.home_assistant import OFFLINE, ONLINE, Device
from robocle.watch.watching import Observation

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo

log = logging.getLogger("robocle")

KEEPALIVE = 15
"""Seconds without a message after which the broker publishes the last will."""
NOTICEABLE = 0.1
"""A change of the confidence that is published although the label stays."""
FAREWELL = 2.0
"""Seconds to wait until the last message has been sent."""
ANSWER = 10.0
"""Seconds to wait for the answer of a broker whose messages are to be removed."""
SHOWN = ("state", "nothing", "online", "seen")
"""What of an observation is published when it changes."""
SHOWN_SIDE = 640
"""The longer side of the frame that is published, at most."""


class Publisher:
    """Publishes observations to a broker, with Home Assistant discovery, as retained messages.

    Args:
        broker: The broker. It need not be there yet.
        device: The camera.

    Raises:
        MissingExtraError: The MQTT client is not installed.
        BrokerError: The certificate cannot be used.
    """

    def __init__(self, broker: Broker, device: Device) -> None:
        self._broker = broker
        self._device = device
        self._guard = threading.Lock()
        self._newest: Observation | None = None
        self._published: Observation | None = None
        self._labels: tuple[str, ...] = ()
        self._seen: tuple[str, ...] = ()
        self._described: dict[str, str] | None = None
        self._complaint = ""
        self._me = secrets.token_hex(8).encode()
        self._watchers = {self._me}  # all programs that publish under this name
        self._client = client_of(broker)
        self._client.will_set(device.topic("availability"), OFFLINE, 1, retain=True)
        self._client.on_message = self._found
        self._client.message_callback_add(device.topic("watcher"), self._met)
        self._client.on_connect = self._connected
        self._client.on_connect_fail = self._unreachable
        self._client.on_disconnect = self._disconnected
        self._client.connect_async(broker.host, broker.port, KEEPALIVE)
        self._client.loop_start()

    def publish(self, seen: Observation, labels: tuple[str, ...]) -> None:
        """Publish an observation if it differs from the one published before. Never waits.

        Args:
            seen: The observation.
            labels: The labels taught. Home Assistant is informed if they have changed.
        """
        with self._guard:
            before = self._seen
            if seen.online:  # otherwise it is not known whether an object is gone
                self._seen = seen.seen
            self._newest, self._labels = seen, labels
            if self._client.is_connected():
                self._describe()
                if _differs(seen, self._published):
                    self._send_state(seen)
                self._send_events("gone", before, self._seen)
                self._send_events("seen", self._seen, before)

    def close(self) -> None:
        """Say that the camera is no longer watched, and disconnect."""
        if self._client.is_connected():
            farewell = self._send("availability", OFFLINE, 1)
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

    def _describe(self) -> None:
        """Publish the discovery messages that have changed, and remove those of other labels."""
        before, self._described = self._described, self._device.discovery(self._labels)
        if before is None:
            self._client.subscribe(self._device.description())
            before = {}
        for topic in before.keys() - self._described.keys():
            self._client.publish(topic, None, retain=True)
        for topic, description in self._described.items():
            if before.get(topic) != description:
                self._client.publish(topic, description, retain=True)

    def _found(self, _client: "Client", _data: object, message: "MQTTMessage") -> None:
        """Remove a discovery message of an earlier run that holds no longer."""
        with self._guard:
            known = self._described is None or message.topic in self._described
            if message.retain and not known:
                self._client.publish(message.topic, None, retain=True)

    def _met(self, _client: "Client", _data: object, message: "MQTTMessage") -> None:
        """Warn of another program that publishes under this name, and answer it."""
        other = bytes(message.payload)
        if other not in self._watchers:
            self._watchers.add(other)
            self._send("watcher", self._me, retain=False)
            log.warning("another program publishes as %r to %s: each replaces what the other "
                        "publishes; give each a name with --name", self._device.name,
                        self._broker)  # fmt: skip

    def _send(
        self, kind: str, message: str | bytes, qos: int = 0, retain: bool = True
    ) -> "MQTTMessageInfo":
        return self._client.publish(self._device.topic(kind), message, qos, retain)

    def _send_state(self, seen: Observation) -> None:
        if self._device.image and seen.online and seen.frame is not None:
            self._send("image", _jpeg(seen.frame.pixels))
        self._send("state", as_json(seen.as_values()))
        self._send("camera", ONLINE if seen.online else OFFLINE)
        self._published = seen

    def _send_events(self, event: str, labels: tuple[str, ...], others: tuple[str, ...]) -> None:
        """Publish that objects are seen that were not, or are gone."""
        for label in labels:
            if label not in others:
                self._send("event", as_json({"event": event, "label": label}), retain=False)

    def _connected(self, client: "Client", _data: object, _flags: object, reason: Any,
                   _properties: object) -> None:  # fmt: skip
        if reason.is_failure:
            return self._complain(refusal(self._broker, reason))
        self._complaint = ""
        log.info("connected to the broker %s", self._broker)
        client.subscribe(self._device.topic("watcher"))
        self._send("watcher", self._me, retain=False)
        with self._guard:
            if self._newest is not None:
                self._describe()
                self._send_state(self._newest)
            else:
                self._send("camera", OFFLINE)
            self._send("availability", ONLINE, 1)

    def _disconnected(self, _client: "Client", _data: object, _flags: object, reason: Any,
                      _properties: object) -> None:  # fmt: skip
        with self._guard:
            self._published = self._described = None
        if reason.is_failure and not self._complaint:
            self._complain(f"the broker {self._broker} is gone ({reason}): trying again")

    def _unreachable(self, _client: "Client", _data: object) -> None:
        self._complain(unreachable(self._broker, sys.exception()))

    def _complain(self, message: str) -> None:
        """Log a message, once until there is a connection or another message."""
        if message != self._complaint:
            self._complaint = message
            log.warning("%s", message)


def forget(broker: Broker, device: Device) -> int:
    """Remove everything that a broker retains of a camera, and return how many messages it was.

    Raises:
        MissingExtraError: The MQTT client is not installed.
        BrokerError: The broker cannot be reached, refuses or does not answer.
    """
    client, retained, answered = client_of(broker), set[str](), threading.Event()
    refusals: list[str] = []
    marker = device.topic("forgetting")

    def connected(_client: object, _data: object, _flags: object, reason: Any,
                  _properties: object) -> None:  # fmt: skip
        if reason.is_failure:
            refusals.append(refusal(broker, reason))
            return answered.set()
        client.subscribe([(device.description(), 1), (device.topic("+"), 1)])
        client.publish(marker, "", 1)  # it comes back after all that is retained

    def received(_client: object, _data: object, message: "MQTTMessage") -> None:
        if message.retain:
            retained.add(message.topic)
        elif message.topic == marker:
            answered.set()

    client.on_connect, client.on_message = connected, received
    try:
        client.connect(broker.host, broker.port, KEEPALIVE)
    except OSError as error:
        raise BrokerError(unreachable(broker, error)) from error
    client.loop_start()
    try:
        if not answered.wait(ANSWER):
            raise BrokerError(f"the broker {broker} does not answer: try again")
        if refusals:
            raise BrokerError(refusals[0])
        for sent in [client.publish(topic, None, 1, retain=True) for topic in retained]:
            sent.wait_for_publish(FAREWELL)
    finally:
        client.disconnect()
        client.loop_stop()
    return len(retained)


def _differs(seen: Observation, before: Observation | None) -> bool:
    if before is None:
        return True
    if any(getattr(seen, name) != getattr(before, name) for name in SHOWN):
        return True
    return abs(seen.confidence - before.confidence) >= NOTICEABLE


def _jpeg(pixels: Pixels) -> bytes:
    image, buffer = Image.fromarray(pixels), io.BytesIO()
    image.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
