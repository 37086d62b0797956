"""What Home Assistant itself makes of discovery messages: run with the Python that has it.

    python home_assistant_schemas.py < MESSAGES

Reads {"messages": {topic: payload}, "samples": {topic: [payload]}} and prints, by the topic of the
message, what is shown for each sample of the topic that it names. A message that Home Assistant
would refuse, or of which it would leave anything out, ends the program with an error.
"""

import asyncio
import json
import sys
import tempfile

from homeassistant.components.mqtt import binary_sensor, device_trigger, image, sensor
from homeassistant.components.mqtt.discovery import TOPIC_MATCHER
from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template

SCHEMAS = {
    "sensor": sensor.DISCOVERY_SCHEMA,
    "binary_sensor": binary_sensor.DISCOVERY_SCHEMA,
    "image": image.DISCOVERY_SCHEMA,
    "device_automation": device_trigger.TRIGGER_DISCOVERY_SCHEMA,
}


async def checked(messages: dict[str, str], samples: dict[str, list[str]]) -> dict[str, list[str]]:
    """Check messages, and return what is read from the samples of their topics."""
    shown = {}
    with tempfile.TemporaryDirectory() as folder:
        home = HomeAssistant(folder)
        for topic, payload in messages.items():
            found = TOPIC_MATCHER.match(topic.partition("/")[2])
            if not found:
                raise ValueError(f"{topic} is not a topic of discovery")
            given = json.loads(payload)
            accepted = SCHEMAS[found.group("component")](given)
            # Home Assistant reads the origin of any message before it checks the rest.
            if lost := given.keys() - accepted.keys() - {"origin"}:
                raise ValueError(f"{topic}: Home Assistant does not know {lost}")
            where = given.get("state_topic") or given.get("topic") or given["image_topic"]
            template = Template(given.get("value_template", "{{ value }}"), home)
            read = template.async_render_with_possible_json_value
            shown[topic] = [str(read(sample)) for sample in samples.get(where, [])]
        await home.async_stop(force=True)
    return shown


if __name__ == "__main__":
    print(json.dumps(asyncio.run(checked(**json.load(sys.stdin)))))
