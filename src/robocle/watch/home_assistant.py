"""How a camera shows up in Home Assistant: topics and discovery messages.

Home Assistant listens to `homeassistant/<kind>/<device>/<entity>/config`. A retained message there
describes an entity: the topic of its state and how to read it. Nothing has to be set up by hand.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import robocle
from robocle.errors import BrokerError

ONLINE, OFFLINE = "online", "offline"
DISCOVERY = "homeassistant"


@dataclass(frozen=True)
class Topics:
    """The topics of one camera."""

    name: str
    """The name of the camera, such as "kitchen"."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise BrokerError("the name of the camera is empty: give one with --name")

    @property
    def identity(self) -> str:
        """The name as it may occur in topics: letters, digits, - and _.

        >>> Topics("kitchen").identity, Topics("Küche / 1").identity
        ('kitchen', 'K_che_1-5d2b')
        """
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", self.name)
        if plain == self.name:
            return plain
        return f"{plain}-{hashlib.sha256(self.name.encode()).hexdigest()[:4]}"

    @property
    def state(self) -> str:
        """What the camera sees, as JSON."""
        return f"robocle/{self.identity}/state"

    @property
    def availability(self) -> str:
        """Whether the camera is watched: online or offline."""
        return f"robocle/{self.identity}/availability"

    def discovery(self) -> dict[str, dict[str, Any]]:
        """Return the discovery messages by topic."""
        folder = f"{DISCOVERY}/sensor/robocle_{self.identity}"
        return {
            f"{folder}/object/config": self._entity("object", "Object", "{{ value_json.state }}")
            | {"icon": "mdi:eye", "json_attributes_topic": self.state},
            f"{folder}/confidence/config": self._entity(
                "confidence", "Confidence", "{{ (value_json.confidence * 100) | round(0) }}"
            )
            | {
                "icon": "mdi:percent",
                "unit_of_measurement": "%",
                "state_class": "measurement",
                "entity_category": "diagnostic",
            },
        }

    def _entity(self, key: str, name: str, template: str) -> dict[str, Any]:
        return {
            "name": name,
            "unique_id": f"robocle_{self.identity}_{key}",
            "state_topic": self.state,
            "value_template": template,
            "availability_topic": self.availability,
            "device": {
                "identifiers": [f"robocle_{self.identity}"],
                "name": self.name,
                "manufacturer": "robocle",
                "model": "robocle watch",
                "sw_version": robocle.__version__,
            },
            "origin": {"name": "robocle", "sw_version": robocle.__version__},
        }
