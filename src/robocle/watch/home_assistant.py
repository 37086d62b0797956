"""A camera as a device of Home Assistant: topics and discovery messages.

Home Assistant listens to `homeassistant/<kind>/<device>/<entity>/config`. A retained message there
describes an entity: the topic of its state and how to read it. Nothing has to be set up by hand.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import robocle
from robocle._internal.wording import as_json
from robocle.errors import BrokerError
from robocle.watch.watching import UNKNOWN, state_of

ONLINE, OFFLINE = "online", "offline"
Entities = dict[str, dict[str, Any]]
"""What is described, by `<kind>/<entity>`."""


def identifier(name: str) -> str:
    """Return a name as it may occur in topics: letters, digits, - and _.

    >>> identifier("kitchen"), identifier("Küche / 1")
    ('kitchen', 'K_che_1-5d2b1a1b737c')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Device:
    """A camera as a device of Home Assistant: its topics, and the entities that it has."""

    name: str
    """The name of the camera, such as "kitchen"."""
    prefix: str = "robocle"
    """What the topics of all cameras begin with."""
    discovery_prefix: str = "homeassistant"
    """What the topics begin with that Home Assistant listens to."""
    label_sensors: bool = False
    """Whether there is a binary sensor per label: whether that object is seen."""
    image: bool = False
    """Whether the frame is published whenever what is seen changes."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise BrokerError("the name of the camera is empty: give one with --name")
        for prefix in (self.prefix, self.discovery_prefix):
            if not re.fullmatch(r"[^$/#+\s\0][^#+\s\0]*(?<!/)", prefix) or "//" in prefix:
                raise BrokerError(
                    f"{prefix!r} cannot begin a topic: use names with / between them, without +, #,"
                    " spaces, and $ or / at the start"
                )

    @property
    def identity(self) -> str:
        """The name as it occurs in topics."""
        return identifier(self.name)

    def topic(self, kind: str) -> str:
        """Return the topic of one kind of message; "+" is the filter of all of them.

        Args:
            kind: "state", what the camera sees, as JSON; "event", what comes into view and leaves
                it, as JSON; "image", the frame, as JPEG; "camera", whether it sends pictures, and
                "availability", whether the program runs, online or offline; "watcher", the program
                that connects.
        """
        return f"{self.prefix}/{self.identity}/{kind}"

    def description(self, place: str = "+/+") -> str:
        """Return the topic of the discovery message of `<kind>/<entity>`, or the filter of all."""
        kind, entity = place.split("/")
        return f"{self.discovery_prefix}/{kind}/robocle_{self.identity}/{entity}/config"

    def discovery(self, labels: Iterable[str]) -> dict[str, str]:
        """Return the discovery messages by topic.

        Args:
            labels: The labels taught.
        """
        labels = list(labels)
        described = self._entities(labels) | self._triggers(labels)
        origin = {"name": "robocle", "sw_version": robocle.__version__}
        device = {
            "identifiers": [f"robocle_{self.identity}"],
            "name": self.name,
            "manufacturer": "robocle",
            "model": "robocle watch",
            "sw_version": robocle.__version__,
        }
        return {
            self.description(place): as_json({**each, "device": device, "origin": origin})
            for place, each in described.items()
        }

    def _entities(self, labels: list[str]) -> Entities:
        states = [*map(state_of, labels), UNKNOWN, "nothing", "undecided"]
        entities: Entities = {
            "sensor/object": {
                "name": "Object", "icon": "mdi:eye", "json_attributes_topic": self.topic("state"),
                "device_class": "enum", "options": states, **self._read("{{ value_json.state }}"),
            },
            "sensor/confidence": {
                "name": "Confidence", "icon": "mdi:percent", "entity_category": "diagnostic",
                "unit_of_measurement": "%", "state_class": "measurement",
                **self._read("{{ (value_json.confidence * 100) | round(0) }}"),
            },
            "binary_sensor/camera": {
                "name": "Camera", "state_topic": self.topic("camera"),
                "device_class": "connectivity", "entity_category": "diagnostic",
                "availability_topic": self.topic("availability"),
                "payload_on": ONLINE, "payload_off": OFFLINE,
            },
        }  # fmt: skip
        if self.image:
            picture = {"name": "Image", "image_topic": self.topic("image")}
            entities["image/image"] = picture | {"content_type": "image/jpeg"} | self._while_there()
        for label in labels if self.label_sensors else ():
            seen = f"{{{{ 'ON' if {as_json(label)} in value_json.seen else 'OFF' }}}}"
            entities[f"binary_sensor/sees_{identifier(label)}"] = {
                "name": label, "device_class": "occupancy", **self._read(seen),
                "payload_on": "ON", "payload_off": "OFF",
            }  # fmt: skip
        for place, entity in entities.items():
            entity["unique_id"] = f"robocle_{self.identity}_{place.split('/')[1]}"
        return entities

    def _triggers(self, labels: list[str]) -> Entities:
        return {
            f"device_automation/{event}_{identifier(label)}": {
                "automation_type": "trigger",
                "type": event,
                "subtype": label,
                "topic": self.topic("event"),
                "value_template": "{{ value_json.event }} {{ value_json.label }}",
                "payload": f"{event} {label}",
            }
            for label in labels
            for event in ("seen", "gone")
        }

    def _read(self, template: str) -> dict[str, Any]:
        """Return how a value is read from the state."""
        topic = self.topic("state")
        return {"state_topic": topic, "value_template": template, **self._while_there()}

    def _while_there(self) -> dict[str, Any]:
        """Return that an entity is available while the program and its camera are."""
        topics = [{"topic": self.topic(kind)} for kind in ("availability", "camera")]
        return {"availability": topics, "availability_mode": "all"}
