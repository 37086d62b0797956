"""The work of the node on pictures (recognising, labelling boxes, learning), and its reports."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from robocle.errors import ImageError, RobocleError
from robocle.images.boxes import Box, region_of
from robocle.images.drawing import drawn, upright_image
from robocle.images.square import MIN_SIDE
from robocle.learner import Learner
from robocle.learner.tracking import Track, Tracker
from robocle.recognition.temporal_filter import Announcement, TemporalFilter
from robocle.ros.encodings import RosPicture, decoded, picture_of
from robocle.ros.messages import (
    Level,
    Publishers,
    Shown,
    boxes_of,
    detections_message,
    labelled,
    words_of,
)
from robocle.ros.settings import Settings
from robocle.types import Pixels, Prediction

log = logging.getLogger("robocle")

Work = tuple[Any, Any]
"""An image, and the boxes in it, or None for the whole."""
SILENCE = 5.0
"""Seconds without an image after which an active node warns."""
WARNING_SECONDS = 5.0
"""Images that cannot be used are reported this often in the log, at most."""


@dataclass
class Recogniser:
    """A learner and its settings, used by the callbacks of a node, each in its own thread."""

    learner: Learner
    settings: Settings
    learner_seconds: float = 0.0
    """CPU time spent in the learner, to recognise images."""
    _steady: TemporalFilter | None = field(default=None, init=False)
    _tracker: Tracker | None = field(default=None, init=False)
    _versions: tuple[int, int] = field(default=(0, 0), init=False)  # the file's, and ours
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.apply(self.settings)

    def apply(self, settings: Settings) -> None:
        """Use other settings from now on. The filter starts anew if its options change."""
        with self._guard:
            self.settings, steady = settings, settings.steady()
            if steady != self._steady:
                self._steady = steady
                self._tracker = Tracker(steady.frames, steady.sure) if steady else None

    @property
    def version(self) -> int:
        """The version of what was taught. It grows with every change, by whichever program.

        That of the file goes back if an older copy replaces it. This one does not.
        """
        with self._guard:
            before, ours = self._versions
            now = self.learner.version
            if now != before:
                ours = max(ours + 1, now)
                self._versions = now, ours
            return ours

    def see(self, picture: RosPicture) -> Announcement:
        """Recognise an image, or the region of interest in it.

        Raises:
            ImageError: The image cannot be used.
        """
        settings = self.settings
        if not self.learner.labels:
            return Announcement("unknown", None, 0.0, "", {}, 1.0)
        with self._timed():
            found = self.learner.predict(
                picture, false_accept=settings.false_accept, box=settings.roi
            )
        with self._guard:
            return self._steady.update(found) if self._steady else Announcement.of(found)

    def find(self, picture: RosPicture) -> list[Track]:
        """Find the objects in an image, and follow them from image to image.

        Raises:
            ImageError: The image cannot be used.
            FinderError: The finder fails.
        """
        if not self.learner.labels:
            return []
        with self._timed():
            found = self.learner.find(picture, false_accept=self.settings.false_accept)
        with self._guard:
            if self._tracker is None:
                return [Track(0, box, Announcement.of(each)) for box, each in found]
            # An object that was missed is somewhere, but not known to be where it was.
            return [each for each in self._tracker.update(found) if not each.missed]

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.thread_time()
        yield
        self.learner_seconds += time.thread_time() - start

    def see_boxes(
        self, picture: RosPicture, boxes: Sequence[Box]
    ) -> list[Prediction | ImageError | None]:
        """Recognise what each box of a picture shows.

        Returns:
            For each box its prediction, or the error if it lies outside the picture; None if
            nothing has been taught yet.

        Raises:
            ImageError: The picture cannot be used.
        """
        pixels = decoded(picture)
        errors = [_box_error(box, pixels) for box in boxes]
        usable = [box for box, error in zip(boxes, errors, strict=True) if error is None]
        predictions: Sequence[Prediction | None] = [None] * len(usable)
        if self.learner.labels and usable:
            with self._timed():
                predictions = self.learner.predict_many(
                    [pixels] * len(usable), false_accept=self.settings.false_accept, boxes=usable
                )
        rest = iter(predictions)
        return [next(rest) if error is None else error for error in errors]

    def teach(
        self, pictures: Sequence[RosPicture], label: str, box: Box | None
    ) -> tuple[int, list[str]]:
        """Learn pictures of one object as one step; return how many, and what is wrong with them.

        Raises:
            RobocleError: As in `Learner.teach`; nothing was taught.
        """
        boxes = [box or self.settings.roi] * len(pictures)
        found = self.learner.teach_many(
            pictures, [label] * len(pictures), poor=self.settings.poor, boxes=boxes
        )
        skipped = sum(map(bool, found)) if self.settings.poor == "skip" else 0
        return len(found) - skipped, [str(each) for complaints in found for each in complaints]


def _box_error(box: Box, pixels: Pixels) -> ImageError | None:
    try:
        region_of(box, (pixels.shape[1], pixels.shape[0]), smallest=MIN_SIDE, name="the image")
    except ImageError as error:
        return error
    return None


@dataclass
class Health:
    """Counts what happened to the images since the node was configured."""

    received: int = 0
    recognised: int = 0
    refused: int = 0
    refusal: str = ""
    """Why the last image was refused."""
    _unmatched: int = 0
    _last: float = field(default_factory=time.monotonic)
    _reported: tuple[float, int, int] = field(default_factory=lambda: (time.monotonic(), 0, 0))

    def image(self) -> None:
        """Count an image."""
        self.received += 1
        self._last = time.monotonic()

    def refuse(self, error: object) -> None:
        """Count an image or a box that cannot be used."""
        self.refused += 1
        self.refusal = str(error)

    def resume(self) -> None:
        """Start to wait for images now."""
        self._last = time.monotonic()

    def report(
        self, active: bool, recogniser: Recogniser, unmatched: int = 0
    ) -> tuple[Level, str, dict[str, str]]:
        """Return the level, a message and values, over the time since the last report.

        Args:
            active: Whether images are recognised.
            recogniser: The learner and what it took.
            unmatched: How many boxes came without their image, so far.
        """
        now = time.monotonic()
        before, recognised, refused = self._reported
        self._reported = (now, self.recognised, self.refused)
        rate = (self.recognised - recognised) / max(now - before, 1e-6)
        level, message = self._judged(active, now, self.refused > refused, unmatched)
        counts = recogniser.learner.counts
        values = {
            "images received": self.received,
            "images recognised": self.recognised,
            "images or boxes refused": self.refused,
            "boxes without image": unmatched,
            "images per second": f"{rate:.1f}",
            "learner CPU seconds": f"{recogniser.learner_seconds:.3f}",
            "process CPU seconds": f"{time.process_time():.3f}",
            "labels": len(counts),
            "pictures taught": sum(counts.values()),
            "version": recogniser.version,
        }
        return level, message, {key: str(value) for key, value in values.items()}

    def _judged(self, active: bool, now: float, refused: bool, unmatched: int) -> tuple[Level, str]:
        lost, self._unmatched = unmatched - self._unmatched, unmatched
        if not active:
            return "ok", "not active"
        if refused:
            return "warn", self.refusal
        if now - self._last > SILENCE:
            return "warn", f"no image for {now - self._last:.0f} s: check the topic and its QoS"
        if lost > 0:
            return "warn", f"{lost} boxes came without their image: check the stamps"
        return "ok", "recognising"


class ImageWork:
    """Recognises images and publishes what they show.

    Args:
        recogniser: The learner and its settings.
        health: Where images are counted.
        publish: The publishers.
    """

    def __init__(self, recogniser: Recogniser, health: Health, publish: Publishers) -> None:
        self._recogniser, self._health, self._publish = recogniser, health, publish
        self._due = 0.0
        self._warned = 0.0
        self._last: tuple[str, str | None, str] | None = None

    def __call__(self, work: Work) -> None:
        """Recognise an image, find objects in it, or label the boxes in it."""
        message, detections = work
        try:
            if not self._is_due(self._recogniser.settings.max_rate):
                return
            if detections is not None:
                self._label(message, detections)
            elif self._recogniser.learner.finder is not None:
                self._find(message)
            else:
                self._recognise(message)
            self._health.recognised += 1
        except RobocleError as error:
            self.refuse(error)

    def refuse(self, error: RobocleError) -> None:
        """Count an image or a box that cannot be used, and log it now and then."""
        self._health.refuse(error)
        if time.monotonic() - self._warned > WARNING_SECONDS:
            self._warned = time.monotonic()
            log.warning("an image was not used: %s", error)

    def _recognise(self, message: Any) -> None:
        picture = picture_of(message)
        said = self._recogniser.see(picture)
        before, self._last = self._last, (said.verdict, said.label, said.nothing)
        changed = self._last != before
        self._publish.prediction(message.header, said, changed, self._recogniser.version)
        self._draw(message, picture, [(None, said)])

    def _find(self, message: Any) -> None:
        picture = picture_of(message)
        tracks = self._recogniser.find(picture)
        self._publish.detections(detections_message(message.header, tracks))
        self._draw(message, picture, [(each.box, each.announcement) for each in tracks])

    def _label(self, message: Any, detections: Any) -> None:
        picture, boxes = picture_of(message), boxes_of(detections)
        found = self._recogniser.see_boxes(picture, boxes)
        for each in found:
            if isinstance(each, ImageError):
                self.refuse(each)
        self._publish.detections(labelled(detections, found))
        self._draw(message, picture, list(zip(boxes, found, strict=True)))

    def _draw(
        self, message: Any, picture: RosPicture, shown: Sequence[tuple[Box | None, Shown]]
    ) -> None:
        """Publish the image with what it shows, if anybody listens."""
        if self._publish.draws:
            texts = [(box, words_of(each)) for box, each in shown]
            self._publish.debug_image(message.header, drawn(upright_image(picture), texts))

    def _is_due(self, rate: float) -> bool:
        now = time.monotonic()
        if rate and now < self._due:
            return False
        self._due = max(now, self._due + 1 / rate) if rate else 0.0
        return True
