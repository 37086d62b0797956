"""Tracks: the objects in a video, from what `Learner.find` finds in each frame.

A find continues the track that its box overlaps most, where that track is expected after its last
movement. A track with the same label counts for more, so objects that cross keep their numbers.
Each track has a temporal filter of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from robocle.finders.boxes import PixelBox, area, overlap
from robocle.learner.finding import Find, described, shows_same
from robocle.recognition.temporal_filter import Announcement, TemporalFilter
from robocle.spec import require_whole

OVERLAP = 0.2
"""How much the box of a find and that of its track overlap, at least."""
OTHER_LABEL = 0.5
"""What an overlap counts for if the find has another label than the track."""
MOST_TRACKS = 64
"""How many tracks there are at once, at most: those that were missed longest are ended."""

Movement = tuple[float, float]


@dataclass(frozen=True)
class Track:
    """An object in a video, as long as it is in view.

    Example:
        >>> from robocle import Announcement
        >>> seen = Announcement("known", "cup", 0.75, "cup", {"cup": 0.75}, 0.25)
        >>> Track(1, (10, 20, 30, 40), seen).as_values()["box"]
        [10, 20, 30, 40]
    """

    number: int
    """A number that no other track of its tracker has, counted from 1."""
    box: PixelBox
    """Where it was found last: (x, y, width, height) in pixels of the upright picture."""
    announcement: Announcement
    """What it is, according to all frames in which it was found."""
    missed: int = 0
    """In how many frames it was not found since; 0 if it was found in the last one."""

    def as_values(self, top: int = 3) -> dict[str, Any]:
        """Return the track as values for JSON: as of `Find.as_values`, with `number` and `missed`.

        Args:
            top: How many of the best labels to list with their confidences.
        """
        values = described(self.box, self.announcement, top)
        return {"number": self.number, "missed": self.missed, **values}


@dataclass
class Tracker:
    """Follows objects from frame to frame, so that labels do not flicker.

    Args:
        frames: How many frames count as much as one independent picture; see `TemporalFilter`.
        sure: The posterior probability that a new announcement needs; see `TemporalFilter`.
        patience: In how many successive frames an object may be missed before its track ends, from
            0 to 1000.

    Raises:
        SpecError: A number is out of range.

    Example:
        >>> from robocle import Find, Prediction
        >>> mug = Prediction("mug", 0.9, {"mug": 1.0}, "mug", 0.9, {"mug": 0.9})
        >>> unknown = Prediction(None, 0.2, {"mug": 0.1}, "mug", 0.2, {"mug": 0.2})
        >>> frames = [[Find((10, 10, 50, 50), mug)], [Find((14, 10, 50, 50), unknown)], []]
        >>> tracker = Tracker()
        >>> for finds in frames:
        ...     for track in tracker.update(finds):
        ...         print(track.number, track.box, track.announcement.label)
        1 (10, 10, 50, 50) mug
        1 (14, 10, 50, 50) mug
        1 (14, 10, 50, 50) mug
    """

    frames: float = 1.0
    sure: float = 0.7
    patience: int = 3
    _followed: "list[_Followed]" = field(default_factory=list, init=False, repr=False)
    _last: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        TemporalFilter(self.frames, self.sure)
        require_whole("patience", self.patience, 0, 1000)

    def reset(self) -> None:
        """End all tracks, such as after a cut or a pause of the camera. No number is used again."""
        self._followed = []

    def update(self, finds: Iterable[Find]) -> list[Track]:
        """Add one frame.

        Args:
            finds: What `Learner.find` returned for the frame, or boxes that were predicted.

        Returns:
            The objects in view: known ones first, each in the order in which they came into view.
            An object that was missed for a few frames is listed where it was found last. Tracks
            that show the same object are listed once.
        """
        finds = list(finds)
        continued = _continued(self._followed, finds)
        begun = [each for number, each in enumerate(finds) if number not in continued.values()]
        followed = [
            each.found(finds[continued[row]]) if row in continued else each.unseen()
            for row, each in enumerate(self._followed)
        ]
        for find in begun:
            self._last += 1
            steady = TemporalFilter(self.frames, self.sure)
            followed.append(_Followed.begun(self._last, find, steady))
        followed = [each for each in followed if each.track.missed <= self.patience]
        self._followed = sorted(followed, key=lambda each: each.track.missed)[:MOST_TRACKS]
        return [each.track for each in _listed(self._followed)]


@dataclass(frozen=True)
class _Followed:
    """A track, its filter, and how its box moves per frame."""

    track: Track
    steady: TemporalFilter
    agrees: bool
    """Whether it was found in the last frame, as what is announced."""
    movement: Movement = (0.0, 0.0)

    @classmethod
    def begun(cls, number: int, find: Find, steady: TemporalFilter) -> Self:
        return cls(Track(number, find.box, steady.update(find.prediction)), steady, True)

    @property
    def label(self) -> str | None:
        return self.track.announcement.label

    @property
    def is_known(self) -> bool:
        return self.label is not None

    @property
    def expected(self) -> PixelBox:
        """Where the box is in the next frame if it goes on moving."""
        (x, y, width, height), frames = self.track.box, self.track.missed + 1
        return x + frames * self.movement[0], y + frames * self.movement[1], width, height

    def found(self, find: Find) -> Self:
        """Return it after a frame in which it was found."""
        (x, y), frames = _middle(self.track.box), self.track.missed + 1
        to_x, to_y = _middle(find.box)
        moved = ((to_x - x) / frames, (to_y - y) / frames)
        movement = ((self.movement[0] + moved[0]) / 2, (self.movement[1] + moved[1]) / 2)
        said = self.steady.update(find.prediction)
        track, agrees = (
            Track(self.track.number, find.box, said),
            said.label == find.prediction.label,
        )
        return replace(self, track=track, agrees=agrees, movement=movement)

    def unseen(self) -> Self:
        """Return it after a frame in which it was not found."""
        said, missed = self.track.announcement, self.track.missed + 1
        if said.changed:
            said = replace(said, changed=False)
        track = replace(self.track, announcement=said, missed=missed)
        return replace(self, track=track, agrees=False)

    def likeness(self, find: Find) -> float:
        """Return how well a find continues the track: 0 if it does not."""
        shared = overlap(self.expected, find.box)
        if shared < OVERLAP:
            return 0.0
        return shared if find.prediction.label == self.label else OTHER_LABEL * shared

    def shows_same(self, other: Self) -> bool:
        """Return whether it shows the object of another track, which is known if either is."""
        if not other.is_known or not shows_same(self.track.box, other.track.box):
            return False
        # An unknown box beside a known one is listed if both were found so in this frame.
        return self.label == other.label or not (self.is_known or (self.agrees and other.agrees))


def _continued(followed: list[_Followed], finds: list[Find]) -> dict[int, int]:
    """Return which find continues which track, by their rows: the best pairs first."""
    pairs = [
        (likeness, row, number)
        for row, each in enumerate(followed)
        for number, find in enumerate(finds)
        if (likeness := each.likeness(find)) > 0
    ]
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, row, number in sorted(pairs, key=lambda pair: -pair[0]):
        if row not in found and number not in taken:
            found[row] = number
            taken.add(number)
    return found


def _listed(followed: "list[_Followed]") -> "list[_Followed]":
    """Return what to list: of tracks that show the same object, the smallest known one."""
    kept: list[_Followed] = []
    for each in sorted(followed, key=lambda each: (not each.is_known, area(each.track.box))):
        if not any(each.shows_same(other) for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda each: (not each.is_known, each.track.number))


def _middle(box: PixelBox) -> Movement:
    return box[0] + box[2] / 2, box[1] + box[3] / 2
