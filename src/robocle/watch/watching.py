"""From the frames of a camera to one stable observation per second, as printed and published."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from robocle._internal.wording import in_words
from robocle.cameras import Camera, Frame
from robocle.errors import CameraError
from robocle.recognition.temporal_filter import Announced, Announcement, TemporalFilter
from robocle.types import Prediction

STALE = 3.0
"""Seconds without a frame after which the camera shows nothing."""
NO_FRAME = "the camera sends no picture"
TOP = 3
"""How many of the best labels are listed with their confidences."""
UNKNOWN = "unknown object"
"""How a smart home shows an unknown object. Home Assistant uses "unknown" for a missing value."""
RESERVED = (UNKNOWN, "unknown", "nothing", "undecided", "none", "unavailable")
"""What `state` cannot be for a label: it has another meaning here or in Home Assistant."""

Recognise = Callable[[Frame], Prediction]


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
    online: bool = True
    """Whether the camera sends pictures."""
    frame: Frame | None = field(default=None, repr=False, compare=False)
    """The last frame."""

    @classmethod
    def of(
        cls, announcement: Announcement, when: float, frame: Frame | None = None
    ) -> "Observation":
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
            frame=frame,
        )

    @property
    def state(self) -> str:
        """The label as `state_of` has it, or "unknown object", "nothing" or "undecided"."""
        if self.label is not None:
            return state_of(self.label)
        return UNKNOWN if self.verdict == "unknown" else self.verdict

    @property
    def seen(self) -> tuple[str, ...]:
        """The labels of the objects that are seen."""
        return () if self.label is None else (self.label,)

    def as_values(self) -> dict[str, Any]:
        """Return the observation as values for JSON, with rounded confidences."""
        return {
            "time": _written(self.time),
            "camera": "online" if self.online else "offline",
            "state": self.state,
            "verdict": self.verdict,
            "label": self.label,
            "seen": self.seen,
            "sure": self.sure,
            "nothing": self.nothing,
            "confidence": round(self.confidence, 3),
            "confidences": {key: round(value, 3) for key, value in self.confidences.items()},
            "unknown_probability": round(self.unknown_probability, 3),
        }

    def as_line(self) -> str:
        """Return the observation as one line: the time, what is seen and its probability."""
        seen = in_words(self.label, self.verdict, self.nothing)
        return f"{_written(self.time)}\t{seen}\t{self.confidence:.2f}"


def state_of(label: str) -> str:
    """Return the label, with " (object)" after it if it could be read as something else.

    >>> state_of("mug"), state_of("None"), state_of("None (object)")
    ('mug', 'None (object)', 'None (object) (object)')
    """
    plain = re.sub(r"( \(object\))+$", "", label)
    return f"{label} (object)" if plain.casefold() in RESERVED else label


def _written(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))


def observations(
    camera: Camera,
    recognise: Recognise,
    steady: TemporalFilter,
    every: float = 1.0,
) -> Iterator[Observation]:
    """Yield what a camera sees, at regular intervals, until a video ends.

    Every frame that there is time for is recognised, always the newest; the filter makes one
    announcement of them.

    Args:
        camera: The camera.
        recognise: What returns the prediction for a frame.
        steady: The temporal filter.
        every: Seconds between two observations.

    Raises:
        CameraError: The camera failed.
        ImageError: A frame cannot be used.
    """
    eye = _Eye(camera, recognise, steady)
    try:
        while True:
            until = time.monotonic() + every
            while (left := until - time.monotonic()) > 0:
                eye.look(left)
            yield eye.observation()
    except CameraError as error:
        if not error.ended:
            raise
        yield eye.observation()


class _Eye:
    """What was announced for the frames so far."""

    def __init__(self, camera: Camera, recognise: Recognise, steady: TemporalFilter) -> None:
        self._camera, self._recognise, self._steady = camera, recognise, steady
        self._frame: Frame | None = None
        self._seen = time.monotonic()
        self._announcement: Announcement | None = None

    def look(self, timeout: float) -> None:
        """Recognise the next frame, if there is one in time."""
        frame = self._camera.newest(self._frame.number if self._frame else -1, timeout)
        if frame is not None:
            self._frame, self._seen = frame, time.monotonic()
            self._announcement = self._steady.update(self._recognise(frame))
        elif time.monotonic() - self._seen > STALE:
            self._steady.reset()
            self._announcement = None

    def observation(self) -> Observation:
        """Return what is announced now."""
        if self._announcement is None:
            return Observation(time.time(), "nothing", None, nothing=NO_FRAME, online=False)
        return Observation.of(self._announcement, time.time(), self._frame)
