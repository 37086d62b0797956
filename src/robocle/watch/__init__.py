"""Watching: a stable view of the objects that a camera sees, on stdout and over MQTT."""

from robocle.watch.watching import Observation, observations

__all__ = ["Observation", "observations"]
