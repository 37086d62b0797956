"""What a camera sees at one instant, as it is printed and published."""

import time
from dataclasses import dataclass, field
from typing import Any

from robocle.recognition.temporal_filter import Announcement

TOP = 3
"""How many of the best labels are listed with their confidences."""
UNKNOWN, NOTHING = "unknown object", "nothing"
"""How a smart home shows what is not a label. Home Assistant uses "unknown" for a missing value."""


@dataclass(frozen=True)
class Observation:
    """What a camera sees at one instant.

    Example:
        >>> seen = Observation(0.0, "mug", "", {"mug": 0.9, "pan": 0.08}, 0.02)
        >>> seen.state, seen.confidence
        ('mug', 0.9)
        >>> Observation(0.0, None, "the picture is black", {}, 1.0).state
        'nothing'
    """

    time: float
    """Seconds since 1970."""
    label: str | None
    """The label; None if the object is unknown or there is nothing to see."""
    nothing: str
    """Why there is nothing to see; empty otherwise."""
    confidences: dict[str, float] = field(default_factory=dict)
    """The best labels with their confidences, the best first."""
    unknown_probability: float = 1.0
    """The probability of an unknown object, or of nothing to see."""
    sure: bool = False
    """Whether the label can be relied on."""

    @classmethod
    def of(cls, announcement: Announcement, when: float) -> "Observation":
        """Return what an announcement says, with its best labels only."""
        best = dict(announcement.top(TOP))
        found = announcement.label, announcement.nothing, best, announcement.unknown_probability
        return cls(when, *found, announcement.sure)

    @property
    def state(self) -> str:
        """The label, or "unknown object" or "nothing"."""
        if self.label is not None:
            return self.label
        return NOTHING if self.nothing else UNKNOWN

    @property
    def confidence(self) -> float:
        """The probability of what `state` says."""
        return (
            self.unknown_probability
            if self.label is None
            else self.confidences.get(self.label, 0.0)
        )

    def as_values(self) -> dict[str, Any]:
        """Return the observation as values for JSON, with rounded confidences."""
        return {
            "time": _written(self.time),
            "state": self.state,
            "label": self.label,
            "sure": self.sure,
            "nothing": self.nothing,
            "confidence": round(self.confidence, 3),
            "confidences": {key: round(value, 3) for key, value in self.confidences.items()},
            "unknown_probability": round(self.unknown_probability, 3),
        }

    def as_line(self) -> str:
        """Return the observation as one line: the time, what is seen and its probability."""
        seen = f"nothing: {self.nothing}" if self.nothing else self.label or "unknown"
        return f"{_written(self.time)}\t{seen}\t{self.confidence:.2f}"


def _written(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
