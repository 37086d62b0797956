"""From the frames of a camera to one stable observation per second, as printed and published."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from robocle._internal.wording import in_words
from robocle.cameras import Camera, Frame
from robocle.errors import CameraError
from robocle.learner.finding import Find
from robocle.learner.tracking import Track, Tracker
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
FindIn = Callable[[Frame], Sequence[Find]]


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
    objects: tuple[Track, ...] | None = None
    """The objects that were found in the last frame; None without a finder."""

    @classmethod
    def of(
        cls,
        announcement: Announcement,
        when: float,
        frame: Frame | None = None,
        objects: tuple[Track, ...] | None = None,
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
            objects=objects,
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
        found = (each.announcement.label for each in self.objects or ())
        return tuple(dict.fromkeys(label for label in (self.label, *found) if label is not None))

    def as_values(self) -> dict[str, Any]:
        """Return the observation as values for JSON, with rounded confidences."""
        values: dict[str, Any] = {
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
        if self.objects is not None:
            values["objects"] = [each.as_values() for each in self.objects]
        return values

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
    find: FindIn | None = None,
) -> Iterator[Observation]:
    """Yield what a camera sees, at regular intervals, until a video ends.

    Every frame that there is time for is recognised, always the newest; the filter makes one
    announcement of them.

    Args:
        camera: The camera.
        recognise: What returns the prediction for a frame.
        steady: The temporal filter.
        every: Seconds between two observations.
        find: What returns the objects found in a frame, the best one first, in place of
            `recognise`.

    Raises:
        CameraError: The camera failed.
        ImageError: A frame cannot be used.
        FinderError: The finder failed.
    """
    eye = _Eye(camera, recognise, steady, find)
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

    def __init__(
        self, camera: Camera, recognise: Recognise, steady: TemporalFilter, find: FindIn | None
    ) -> None:
        self._camera, self._recognise, self._steady = camera, recognise, steady
        self._find, self._tracker = find, Tracker(steady.frames, steady.sure)
        self._objects: tuple[Track, ...] | None = None
        self._frame: Frame | None = None
        self._seen = time.monotonic()
        self._announcement: Announcement | None = None

    def look(self, timeout: float) -> None:
        """Recognise the next frame, if there is one in time."""
        frame = self._camera.newest(self._frame.number if self._frame else -1, timeout)
        if frame is not None:
            self._frame, self._seen = frame, time.monotonic()
            self._announcement = self._steady.update(self._prediction(frame))
        elif time.monotonic() - self._seen > STALE:
            self._steady.reset()
            self._tracker.reset()
            self._announcement = None

    def _prediction(self, frame: Frame) -> Prediction:
        """Return what a frame shows: with a finder, the best of the objects that are found."""
        if self._find is None:
            return self._recognise(frame)
        finds = self._find(frame)
        tracks = self._tracker.update(finds)
        # An object that was missed is somewhere, but not known to be where it was.
        self._objects = tuple(each for each in tracks if not each.missed)
        return finds[0].prediction

    def observation(self) -> Observation:
        """Return what is announced now."""
        if self._announcement is None:
            return Observation(time.time(), "nothing", None, nothing=NO_FRAME, online=False)
        return Observation.of(self._announcement, time.time(), self._frame, self._objects)
