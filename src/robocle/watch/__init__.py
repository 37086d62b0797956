"""Watching: what a camera sees, steadily, on stdout and over MQTT."""

from robocle.watch.observation import Observation
from robocle.watch.watching import observations

__all__ = ["Observation", "observations"]
