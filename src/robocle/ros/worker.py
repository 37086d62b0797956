"""One thread that does the slow work, always with the newest image.

The thread that talks to ROS only hands over work, so it stays responsive. An image that has not
been taken yet is replaced by the next one: nothing can queue up. Jobs, such as lessons, go first.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from robocle.errors import ImageError, RobocleError
from robocle.ros.encodings import picture_of
from robocle.ros.messages import Publishers, boxes_of
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

    def __call__(self, work: Work) -> None:
        """Recognise an image, or label the boxes in it."""
        message, detections = work
        try:
            if not self._is_due(self._recogniser.settings.max_rate):
                return
            if detections is None:
                self._recognise(message)
            else:
                self._label(message, detections)
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
        seen = self._recogniser.see(picture_of(message))
        self._publish.prediction(message.header, seen, self._recogniser.version)

    def _label(self, message: Any, detections: Any) -> None:
        found = self._recogniser.see_boxes(picture_of(message), boxes_of(detections))
        for each in found:
            if isinstance(each, ImageError):
                self.refuse(each)
        self._publish.detections(detections, found)

    def _is_due(self, rate: float) -> bool:
        now = time.monotonic()
        if rate and now < self._due:
            return False
        self._due = max(now, self._due + 1 / rate) if rate else 0.0
        return True
