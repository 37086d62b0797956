"""Home Assistant's own code accepts every discovery message, and reads what is meant."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robocle._internal.wording import as_json
from robocle.watch import Observation
from robocle.watch.home_assistant import Device

PYTHON = os.environ.get("HOME_ASSISTANT")
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(PYTHON is None, reason="needs Home Assistant"),
]
LABELS = [
    "mug",
    "nothing",
    "None",
    "Küche",
    "茶杯",
    "mug ☕",
    "a \"b\" \\n 'c'",
    "{{ 1 }} {% x %} }}",
]


def test_home_assistant_accepts_every_message_and_reads_what_is_meant() -> None:
    device = Device("Küche / 1", "home/cameras", label_sensors=True, image=True)
    seen = [Observation(0.0, "known", label, 0.93) for label in LABELS]
    seen += [Observation(0.0, verdict, None) for verdict in ("unknown", "nothing", "undecided")]
    events = [(event, label) for label in LABELS for event in ("seen", "gone")]
    samples = {
        device.topic("state"): [as_json(each.as_values()) for each in seen],
        device.topic("camera"): ["online", "offline"],
        device.topic("event"): [
            as_json({"event": event, "label": label}) for event, label in events
        ],
    }
    messages = device.discovery(LABELS)
    shown = read_by_home_assistant(messages, samples)
    assert shown.keys() == messages.keys()
    for topic, payload in messages.items():
        entity = json.loads(payload)
        if "options" in entity:
            assert shown[topic] == [each.state for each in seen]
            assert len({*shown[topic]}) == len(seen) == len(entity["options"])
            assert {*shown[topic]} == {*entity["options"]}
        elif entity.get("device_class") == "occupancy":
            wanted = ["ON" if each.label == entity["name"] else "OFF" for each in seen]
            assert shown[topic] == wanted
        elif "automation_type" in entity:
            event = entity["type"], entity["subtype"]
            assert [entity["payload"] == each for each in shown[topic]] == [
                each == event for each in events
            ]
        elif entity.get("unit_of_measurement") == "%":
            assert shown[topic][0] in ("93", "93.0")


def read_by_home_assistant(
    messages: dict[str, str], samples: dict[str, list[str]]
) -> dict[str, list[str]]:
    program = Path(__file__).with_name("home_assistant_schemas.py")
    given = json.dumps({"messages": messages, "samples": samples})
    done = subprocess.run(
        [str(PYTHON), program], input=given, capture_output=True, check=False, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
