"""Watching: a stable view of what a camera sees, on stdout and over MQTT."""

from robocle.watch.watching import Observation, observations

__all__ = ["Observation", "observations"]
