"""What a camera sees at one instant, as it is printed and published."""

import time
from dataclasses import dataclass, field
from typing import Any

from robocle.recognition.temporal_filter import Announced, Announcement

TOP = 3
"""How many of the best labels are listed with their confidences."""
UNKNOWN = "unknown object"
"""How a smart home shows an unknown object. Home Assistant uses "unknown" for a missing value."""


@dataclass(frozen=True)
class Observation:
    """What a camera sees at one instant.

    Example:
        >>> seen = Observation(0.0, "known", "mug", 0.9, confidences={"mug": 0.9, "pan": 0.08})
        >>> seen.state, seen.confidence
        ('mug', 0.9)
        >>> Observation(0.0, "nothing", None, nothing="the picture is black").state
        'nothing'
    """

    time: float
    """Seconds since 1970."""
    verdict: Announced
    """"known", "unknown", "nothing", or "undecided" while the evidence does not suffice."""
    label: str | None
    """The label; None unless the object is known."""
    confidence: float = 1.0
    """The probability of the label, of an unknown object, or of nothing to see; that of the nearest
    label while it is undecided."""
    nothing: str = ""
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
        unknown = announcement.unknown_probability
        is_unknown = announcement.verdict in ("unknown", "nothing")
        return cls(
            when,
            announcement.verdict,
            announcement.label,
            unknown if is_unknown else announcement.confidence,
            announcement.nothing,
            dict(announcement.top(TOP)),
            unknown,
            announcement.sure,
        )

    @property
    def state(self) -> str:
        """The label, or "unknown object", "nothing" or "undecided"."""
        return self.label or (UNKNOWN if self.verdict == "unknown" else self.verdict)

    def as_values(self) -> dict[str, Any]:
        """Return the observation as values for JSON, with rounded confidences."""
        return {
            "time": _written(self.time),
            "state": self.state,
            "verdict": self.verdict,
            "label": self.label,
            "sure": self.sure,
            "nothing": self.nothing,
            "confidence": round(self.confidence, 3),
            "confidences": {key: round(value, 3) for key, value in self.confidences.items()},
            "unknown_probability": round(self.unknown_probability, 3),
        }

    def as_line(self) -> str:
        """Return the observation as one line: the time, what is seen and its probability."""
        seen = f"nothing: {self.nothing}" if self.nothing else self.label or self.verdict
        return f"{_written(self.time)}\t{seen}\t{self.confidence:.2f}"


def _written(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
