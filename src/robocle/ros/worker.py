"""One thread that does the slow work, always with the newest image.

The thread that talks to ROS only hands over work, so it stays responsive. An image that has not
been taken yet is replaced by the next one: nothing can queue up. Jobs, such as lessons, go first.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from robocle.errors import ImageError, RobocleError
from robocle.images.boxes import Box
from robocle.images.drawing import drawn, upright_image
from robocle.ros.encodings import RosPicture, picture_of
from robocle.ros.messages import (
    Publishers,
    Shown,
    boxes_of,
    detections_message,
    labelled,
    words_of,
)
from robocle.ros.recogniser import Health, Recogniser

log = logging.getLogger("robocle")

Item = TypeVar("Item")
Work = tuple[Any, Any]
"""An image, and the boxes in it, or None for the whole."""
WARNING_SECONDS = 5.0
"""Images that cannot be used are reported this often in the log, at most."""


class Worker(Generic[Item]):
    """A thread that handles the newest item, and jobs before it.

    Args:
        handle: What to do with an item. An exception is logged, and the thread goes on.
    """

    def __init__(self, handle: Callable[[Item], None]) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._newest: list[Item] = []
        self._jobs: deque[Callable[[], None]] = deque()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="robocle", daemon=True)
        self._thread.start()

    def show(self, item: Item) -> None:
        """Hand over an item. One that has not been taken yet is dropped."""
        with self._changed:
            self._newest = [item]
            self._changed.notify()

    def do(self, job: Callable[[], None]) -> None:
        """Hand over a job."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def stop(self) -> None:
        """Finish the jobs, drop the item, and end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                log.exception("an unexpected error; going on with the next image")

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._newest or self._stopped)
            if self._jobs:
                return self._jobs.popleft()
            if self._stopped:
                return None
            item = self._newest.pop()
            return lambda: self._handle(item)


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
